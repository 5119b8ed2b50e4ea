"""A run as its report needs it: what `kodex run` wrote, checked, and how its episodes ended.

Ten thousand rollouts hold gigabytes of states; where they began, whether they succeeded and how
the progress went are a few megabytes, so rollouts are streamed and only outcomes are kept.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations import stream
from kodex.errors import InputError
from kodex.evaluation import Results, read_results
from kodex.evaluation.analysis import Analysis, read_analysis
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcome of each of N episodes."""

    succeeded: NDArray[np.bool_]  # (N,)
    indices: NDArray[np.int64]  # (N,) in the draw of starts
    failures: tuple[str | None, ...]  # (N,) why an episode broke off
    start_names: tuple[str, ...]  # empty if starts were not recorded
    starts: Array  # (N, names)
    progress: Array  # (N, T), NaN after the end of an episode; T = 0 if it was not recorded
    novelty: Array = field(default_factory=lambda: np.empty((0, 0)))  # (N, T) by a monitor
    time_step: float | None = None  # seconds from one state to the next
    units: Mapping[str, str] = field(default_factory=dict)  # by component, as far as data say

    @classmethod
    def of(cls, rollouts: Iterable[Trajectory]) -> Self:
        """Return the outcomes of `rollouts`, in one pass."""
        succeeded, indices, failures, starts, progress, novelty = [], [], [], [], [], []
        names: tuple[str, ...] | None = None
        time_step: float | None = None
        units: dict[str, str] = {}
        for index, rollout in enumerate(rollouts):
            values = {} if rollout.start is None else dict(rollout.start.values)
            if names is None:
                names = tuple(values)
            succeeded.append(bool(rollout.succeeded))
            indices.append(index if rollout.start is None else rollout.start.index)
            failures.append(rollout.failure)
            starts.append([values.get(name, np.nan) for name in names])
            progress.append(np.empty(0) if rollout.progress is None else rollout.progress)
            novelty.append(_novelty(rollout))
            time_step = rollout.time_step
            units |= rollout.units
        return cls(
            succeeded=np.array(succeeded, dtype=bool),
            indices=np.array(indices, dtype=np.int64),
            failures=tuple(failures),
            start_names=names or (),
            starts=np.array(starts, dtype=float).reshape(len(starts), len(names or ())),
            progress=_padded(progress),
            novelty=_padded(novelty),
            time_step=time_step,
            units=units,
        )

    def __len__(self) -> int:
        return len(self.succeeded)

    @property
    def final_progress(self) -> Array:
        """The last number of each episode's progress, (N,); NaN where there is none."""
        known = np.isfinite(self.progress)
        if not known.any():
            return np.full(len(self), np.nan)
        last = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
        final: Array = self.progress[np.arange(len(self)), last]
        return final

    @property
    def more_is_better(self) -> bool:
        """Whether progress grows on the way to success (an angle) or shrinks (a distance).

        The data say so: successes end with more, or with less, than they began with.
        """
        chosen = self.succeeded if self.succeeded.any() else np.ones(len(self), dtype=bool)
        first = self.progress[chosen, :1].ravel()
        change = self.final_progress[chosen][: len(first)] - first
        change = change[np.isfinite(change)]
        return not len(change) or float(np.median(change)) >= 0.0

    def worst(self, count: int) -> NDArray[np.intp]:
        """Return the indices of up to `count` failures: first what broke off, then by progress."""
        failed = np.flatnonzero(~self.succeeded)
        final = self.final_progress[failed]
        badness = -final if self.more_is_better else final
        badness = np.where(np.isfinite(badness), badness, np.inf)
        broke_off = np.array([self.failures[index] is not None for index in failed], dtype=bool)
        # By the draw's index at last, so that the order never depends on how files were written.
        return failed[np.lexsort((self.indices[failed], -badness, ~broke_off))][:count]

    def telling_dimensions(self, count: int) -> tuple[int, ...]:
        """Return up to `count` start dimensions, in order, in which failures differ most."""
        varied = [column for column in range(self.starts.shape[1]) if self._varies(column)]
        if len(varied) <= count or self.succeeded.all() or not self.succeeded.any():
            return tuple(varied[:count])
        difference = {column: self._difference(column) for column in varied}
        chosen = sorted(varied, key=lambda column: -difference[column])[:count]
        return tuple(sorted(chosen))

    def _varies(self, column: int) -> bool:
        values = self.starts[np.isfinite(self.starts[:, column]), column]
        return len(values) > 0 and bool(np.ptp(values) > 0.0)

    def _difference(self, column: int) -> float:
        """Return how far apart failed and successful starts lie, in standard deviations."""
        values = self.starts[:, column]
        centre = np.abs(values - np.nanmedian(values))  # failures often lie at the rim
        return float(
            sum(
                abs(np.nanmean(v[self.succeeded]) - np.nanmean(v[~self.succeeded])) / np.nanstd(v)
                for v in (values, centre)
                if np.nanstd(v) > 0.0
            )
        )


def _novelty(rollout: Trajectory) -> Array:
    """Return what a monitor said, one number per state or step; none if nothing of the kind."""
    found = np.ravel(rollout.signals.get("novelty", np.empty(0)))
    return found if len(found) <= len(rollout) else np.empty(0)


def _padded(rows: list[Array]) -> Array:
    width = max(map(len, rows), default=0)
    padded = np.full((len(rows), width), np.nan)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


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
