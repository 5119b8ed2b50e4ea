"""What a set of rollouts is worth: a success rate with its interval, and a few means beside it.

Scores add, like the counts they are made of: ten thousand rollouts can be scored a batch at a time,
and forgotten. The means are of distances that one episode has as one number each. The first state
is given, not generated, so every error counts the steps t = 2 … T; an episode that ended early is
compared over the steps it has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, Self, TypeVar

import numpy as np

from kodex.demonstrations.checks import expect_trajectories
from kodex.errors import InputError
from kodex.evaluation.episodes import Episodes, by_start, episodes_of, partners_in
from kodex.evaluation.intervals import wilson_interval
from kodex.trajectory import Array, Trajectory

Criterion = Callable[[Trajectory], bool]
Addable = TypeVar("Addable", "Mean", "Rate")
Joints = Literal["mean", "sum"]


@dataclass(frozen=True)
class Mean:
    """A sum and a count, which add; their ratio is what is of interest."""

    total: float
    count: int

    def __add__(self, other: Self) -> Self:
        return type(self)(total=self.total + other.total, count=self.count + other.count)

    @property
    def value(self) -> float:
        """The mean."""
        return self.total / self.count


@dataclass(frozen=True)
class Rate:
    """How many of how many episodes; with the Wilson 95 % interval of their rate."""

    successes: int
    instances: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            successes=self.successes + other.successes, instances=self.instances + other.instances
        )

    @property
    def rate(self) -> float:
        """The share that was seen."""
        return self.successes / self.instances

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return wilson_interval(self.successes, self.instances)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return wilson_interval(self.successes, self.instances)[1]

    def __str__(self) -> str:
        return f"{self.rate:.3g} [{self.low:.3f}, {self.high:.3f}] of {self.instances}"


@dataclass(frozen=True)
class Score:
    """The success of rollouts of one task, and what else was measured along them."""

    task: str | None  # as their starts name it
    success: Rate
    failures: int  # episodes that ended early; they count as not succeeded
    means: Mapping[str, Mean] = field(default_factory=dict)  # such as "imitation_error"
    rates: Mapping[str, Rate] = field(default_factory=dict)  # by further criteria, "thrown_out"
    episodes: Episodes | None = None  # one by one; None: not known, or of several draws

    @property
    def rate(self) -> float:
        """The success rate."""
        return self.success.rate

    @property
    def low(self) -> float:
        """The lower end of its Wilson 95 % interval."""
        return self.success.low

    @property
    def high(self) -> float:
        """The upper end of its Wilson 95 % interval."""
        return self.success.high

    @property
    def instances(self) -> int:
        """The number of rollouts."""
        return self.success.instances

    def mean(self, name: str) -> float | None:
        """Return a mean by name; None if it was not measured."""
        found = self.means.get(name)
        return None if found is None else found.value

    def __add__(self, other: Self) -> Self:
        if self.task != other.task:
            raise InputError(f"scores add within one task; found {self.task} and {other.task}")
        return type(self)(
            task=self.task,
            success=self.success + other.success,
            failures=self.failures + other.failures,
            means=_joined(self.means, other.means),
            rates=_joined(self.rates, other.rates),
            episodes=_joined_episodes(self.episodes, other.episodes),
        )

    def __str__(self) -> str:
        return f"success {self.success}"


def score(
    rollouts: Sequence[Trajectory],
    *,
    expert: Sequence[Trajectory] | None = None,
    criteria: Mapping[str, Criterion] | None = None,
) -> Score:
    """Return the score of `rollouts`.

    With the `expert`'s rollouts from the same starts (more do not hurt), the imitation error is
    measured; `criteria` are further success criteria (or others, such as {"thrown_out": ...}). A
    signal "thrown_out", one number per step that is not 0 when it is so, counts at the last step;
    a signal "novelty", of a monitor, is an "alarm" if it is ever above 1.
    """
    if len(rollouts) == 0:
        raise InputError("there is nothing to score: no rollouts")
    expect_trajectories(rollouts, called="rollout")
    further = dict(criteria or {})
    if "thrown_out" not in further and all("thrown_out" in each.signals for each in rollouts):
        further["thrown_out"] = _thrown_out
    if all("novelty" in each.signals for each in rollouts):
        further["alarm"] = _alarmed
    succeeded = tuple(map(has_succeeded, rollouts))
    outcomes = {
        name: tuple(bool(criterion(each)) for each in rollouts)
        for name, criterion in further.items()
    }
    return Score(
        task=_task_of(rollouts),
        success=_rate(succeeded),
        failures=sum(each.failure is not None for each in rollouts),
        means=_means(rollouts, expert),
        rates={name: _rate(these) for name, these in outcomes.items()},
        episodes=episodes_of(rollouts, succeeded, outcomes),
    )


def has_succeeded(rollout: Trajectory) -> bool:
    """Return whether `rollout` succeeded; one that ended early did not."""
    if rollout.failure is not None:
        return False
    if rollout.succeeded is None:
        raise InputError(
            "an episode does not say whether it succeeded; roll it out with its task first"
        )
    return bool(rollout.succeeded)


def _means(rollouts: Sequence[Trajectory], expert: Sequence[Trajectory] | None) -> dict[str, Mean]:
    measured: dict[str, Iterable[float | None]] = {}
    if expert is not None:
        pairs = list(zip(rollouts, partners_in(by_start(expert), rollouts), strict=True))
        measured["imitation_error"] = [imitation_error(*pair) for pair in pairs]
        measured["imitation_error_sum"] = [imitation_error(*pair, joints="sum") for pair in pairs]
        measured["generated_error"] = [generated_error(*pair) for pair in pairs]
    measured["tracking_error"] = map(tracking_error, rollouts)
    measured["action_change"] = map(action_change, rollouts)
    measured["action_saturation"] = map(action_saturation, rollouts)
    present = {
        # A reference that exploded has no finite distance: a mean's count says how many had one.
        name: [value for value in values if value is not None and isfinite(value)]
        for name, values in measured.items()
    }
    return {name: Mean(sum(values), len(values)) for name, values in present.items() if values}


def _thrown_out(trajectory: Trajectory) -> bool:
    return bool(trajectory.signals["thrown_out"][-1])


def _alarmed(trajectory: Trajectory) -> bool:
    return bool((trajectory.signals["novelty"] > 1.0).any())


def _rate(outcomes: Sequence[bool]) -> Rate:
    return Rate(sum(outcomes), instances=len(outcomes))


def _task_of(rollouts: Sequence[Trajectory]) -> str | None:
    tasks = {each.start.task for each in rollouts if each.start is not None}
    if len(tasks) > 1:
        raise InputError(f"rollouts of one task are scored together; found {sorted(tasks)}")
    return next(iter(tasks), None)


def _joined(first: Mapping[str, Addable], second: Mapping[str, Addable]) -> dict[str, Addable]:
    joined = dict(first)
    for name, value in second.items():
        joined[name] = joined[name] + value if name in joined else value
    return joined


def _joined_episodes(first: Episodes | None, second: Episodes | None) -> Episodes | None:
    if first is None or second is None or not first.shares_draw(second):
        return None
    return first + second


def imitation_error(rollout: Trajectory, expert: Trajectory, *, joints: Joints = "mean") -> float:
    """Return the L1 distance of the rollout's joints to the expert's from the same start.

    It is the mean over the steps t = 2 … T of |q̂ - q|, and the mean (or the sum) over the joints.
    """
    if rollout.layout.robot != expert.layout.robot:
        raise InputError("imitation can be measured only between episodes of one robot")
    return _distance(rollout.robot, expert.robot, joints)


def generated_error(
    rollout: Trajectory, expert: Trajectory, *, joints: Joints = "mean"
) -> float | None:
    """Return the L1 distance of the reference's joints to the expert's, as the paper measures it.

    Its text says "generated joint trajectories": what the dynamics generate, not what the hand
    did. None if no reference was recorded.
    """
    reference = _reference_of(rollout)
    return None if reference is None else _distance(reference, expert.robot, joints)


def tracking_error(rollout: Trajectory, *, joints: Joints = "mean") -> float | None:
    """Return the L1 distance of the joints to their reference; None if none was recorded."""
    reference = _reference_of(rollout)
    return None if reference is None else _distance(rollout.robot, reference, joints)


def _reference_of(rollout: Trajectory) -> Array | None:
    """Return the joints of the signal "reference", which is (T, n) or (T, n_robot)."""
    reference = rollout.signals.get("reference")
    if reference is None:
        return None
    robot_size = len(rollout.layout.robot)
    if reference.ndim != 2 or reference.shape[1] not in (robot_size, rollout.layout.size):
        raise InputError(
            f"the signal reference must have {robot_size} or {rollout.layout.size} columns; "
            f"found shape {reference.shape}"
        )
    return reference[:, :robot_size]


def action_change(rollout: Trajectory) -> float | None:
    """Return the mean |a(t + 1) - a(t)| over steps and actuators; None without two actions."""
    if rollout.actions is None or len(rollout.actions) < 2:
        return None
    return float(np.abs(np.diff(rollout.actions, axis=0)).mean())


def action_saturation(rollout: Trajectory) -> float | None:
    """Return the share of action components at a limit, -1 or 1; None without two actions."""
    if rollout.actions is None or len(rollout.actions) < 2:
        return None
    return float(np.mean(np.abs(rollout.actions) >= 1.0))


def _distance(found: Array, wanted: Array, joints: Joints) -> float:
    steps = min(len(found), len(wanted))
    if steps < 2:
        return 0.0  # only the given first state: nothing was generated that could be wrong
    distances = np.abs(found[1:steps] - wanted[1:steps]).mean(axis=0)
    return float(distances.sum() if joints == "sum" else distances.mean())
