"""Reading a run folder: what `kodex run` wrote, checked, and nothing of it changed."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kodex.demonstrations import stream
from kodex.errors import InputError
from kodex.evaluation import Results, read_results
from kodex.evaluation.analysis import Analysis, read_analysis
from kodex.reports.outcomes import Outcomes

RESULTS, ROLLOUTS, EXPERT = "results.json", "rollouts.h5", "expert.h5"
ANALYSIS, VIDEO = "analysis", "video.mp4"
EXPERT_EPISODES = 200  # for the median of its progress; more would not change the picture


@dataclass(frozen=True, eq=False)
class Run:
    """One run, as far as a report needs it."""

    folder: Path
    results: Results
    outcomes: Outcomes
    expert: Outcomes | None = None  # None: the expert was not rolled out
    analysis: Analysis | None = None  # None: written before analyses were stored
    video: Path | None = None


def read_run(folder: str | Path) -> Run:
    """Return what is in the run folder; refuse it in one sentence if it is not whole."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; kodex run TASK --out {folder} makes one")
    missing = [name for name in (RESULTS, ROLLOUTS) if not (folder / name).exists()]
    if missing:
        raise InputError(
            f"{folder} is not a whole run: it lacks {', '.join(missing)}; run kodex run again"
        )
    results = read_results(folder / RESULTS)
    outcomes = Outcomes.of(stream(folder / ROLLOUTS))
    if len(outcomes) == 0:
        raise InputError(f"{folder / ROLLOUTS} holds no episodes: there is nothing to report on")
    expert, analysis, video = (folder / name for name in (EXPERT, ANALYSIS, VIDEO))
    return Run(
        folder=folder,
        results=results,
        outcomes=outcomes,
        expert=Outcomes.of(islice(stream(expert), EXPERT_EPISODES)) if expert.is_file() else None,
        analysis=read_analysis(analysis) if analysis.exists() else None,
        video=video if video.is_file() and not video.is_symlink() else None,
    )
