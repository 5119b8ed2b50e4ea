"""Success as others define it: pure functions of what was recorded.

The definitions differ in how strict a state is and in how many states must be good:
`paper` is Appendix C; `gymnasium` is the `success` that the gymnasium-robotics environment reports
after the last action; `dapg` counts, after each action, the steps at which that holds (it was made
for episodes of 200 steps: few doors that open within 70 stay open for more than 25). An episode
that ended early has failed by any of them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.trajectory import Array, Trajectory

Judge = Callable[[Trajectory], bool]
StateJudge = Callable[[Trajectory], NDArray[np.bool_]]  # one answer a state, (T,)


def progress_of(trajectory: Trajectory) -> Array:
    """Return the recorded progress, (T,)."""
    if trajectory.progress is None:
        raise InputError("this trajectory has no progress to judge; roll it out or replay it")
    return trajectory.progress


def by_progress(succeeded: Callable[[Array], NDArray[np.bool_]]) -> Judge:
    """Return the judge that looks at the progress of an episode that did not end early."""
    return lambda episode: bool(succeeded(progress_of(episode))) and episode.failure is None


def from_progress(achieved: Callable[[Array], NDArray[np.bool_]]) -> StateJudge:
    """Return the judge of single states that looks at their progress."""
    return lambda episode: achieved(progress_of(episode))


def achieved_at_the_end(achieved: StateJudge) -> Judge:
    """Return the judge that asks for the goal at the last state."""
    return lambda episode: bool(achieved(episode)[-1]) and episode.failure is None


def achieved_often(achieved: StateJudge, *, more_than: int) -> Judge:
    """Return the judge that counts the states after an action that achieve the goal."""
    return lambda episode: (
        int(np.sum(achieved(episode)[1:])) > more_than and episode.failure is None
    )
