"""Success criteria: pure functions of what was recorded.

Criteria differ in how strict a state is and in how many states must be good:
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

SuccessCriterion = Callable[[Trajectory], bool]
StateCriterion = Callable[[Trajectory], NDArray[np.bool_]]  # one value per state, (T,)


def definitions(
    succeeded: Callable[[Array], NDArray[np.bool_]], achieved: StateCriterion, *, often: int
) -> dict[str, SuccessCriterion]:
    """Return the three definitions, for a goal `achieved` at a state; `often` is DAPG's."""
    return {
        "paper": by_progress(succeeded),
        "gymnasium": achieved_at_the_end(achieved),
        "dapg": achieved_often(achieved, more_than=often),
    }


def progress_of(trajectory: Trajectory) -> Array:
    """Return the recorded progress, (T,)."""
    if trajectory.progress is None:
        raise InputError("this trajectory has no recorded progress; roll it out or replay it")
    return trajectory.progress


def by_progress(succeeded: Callable[[Array], NDArray[np.bool_]]) -> SuccessCriterion:
    """Return the criterion that looks at the progress of an episode that did not end early."""
    return lambda episode: bool(succeeded(progress_of(episode))) and episode.failure is None


def from_progress(achieved: Callable[[Array], NDArray[np.bool_]]) -> StateCriterion:
    """Return the criterion for single states that looks at their progress."""
    return lambda episode: achieved(progress_of(episode))


def achieved_at_the_end(achieved: StateCriterion) -> SuccessCriterion:
    """Return the criterion that asks for the goal at the last state."""
    return lambda episode: bool(achieved(episode)[-1]) and episode.failure is None


def achieved_often(achieved: StateCriterion, *, more_than: int) -> SuccessCriterion:
    """Return the criterion that counts the states after an action that achieve the goal."""
    return lambda episode: (
        int(np.sum(achieved(episode)[1:])) > more_than and episode.failure is None
    )
