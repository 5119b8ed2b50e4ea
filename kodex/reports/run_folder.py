"""Reading a run folder: what `kodex run` wrote, checked, and nothing of it changed."""

from collections import deque
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kodex.demonstrations import TrajectorySet, stream
from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.policies import load
from kodex.reports.outcomes import Outcomes
from kodex.reports.results import Results, read_results

RESULTS, DEMONSTRATIONS, ROLLOUTS = "results.json", "demonstrations.h5", "rollouts.h5"
POLICY, EXPERT, VIDEO = "policy", "expert.h5", "video.mp4"
EXPERT_EPISODES = 200  # for the median of its progress; more would not change the picture
VALIDATION = 50  # demonstrations looked at, if the results do not say how many were held out


@dataclass(frozen=True, eq=False)
class Run:
    """One run, as far as a report needs it."""

    folder: Path
    results: Results
    validation: TrajectorySet  # demonstrations that were not learned from
    policy: Policy
    outcomes: Outcomes
    expert: Outcomes | None  # None: the expert was not rolled out
    video: Path | None


def read_run(folder: str | Path) -> Run:
    """Return what is in the run folder; refuse it in one sentence if it is not whole."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; kodex run TASK --out {folder} makes one")
    needed = (RESULTS, DEMONSTRATIONS, ROLLOUTS, POLICY)
    missing = [name for name in needed if not (folder / name).exists()]
    if missing:
        raise InputError(
            f"{folder} is not a whole run: it lacks {', '.join(missing)}; run kodex run again"
        )
    results = read_results(folder / RESULTS)
    outcomes = Outcomes.of(stream(folder / ROLLOUTS))
    if len(outcomes) == 0:
        raise InputError(f"{folder / ROLLOUTS} holds no episodes: there is nothing to report on")
    expert = folder / EXPERT
    video = folder / VIDEO
    return Run(
        folder=folder,
        results=results,
        validation=_last(folder / DEMONSTRATIONS, results.validation or VALIDATION),
        policy=load(folder / POLICY),
        outcomes=outcomes,
        expert=Outcomes.of(islice(stream(expert), EXPERT_EPISODES)) if expert.is_file() else None,
        video=video if video.is_file() else None,
    )


def _last(path: Path, count: int) -> TrajectorySet:
    """Return the last `count` trajectories of a file without holding the others."""
    kept = deque(stream(path), maxlen=count)
    if not kept:
        raise InputError(f"{path} holds no demonstrations")
    return TrajectorySet(kept)
