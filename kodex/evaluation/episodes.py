"""Episodes are told apart by their starts: outcomes start by start, and partners between policies.

The same start, faced by two policies, is one pair; faced by the policies of several seeds, it is
one cluster. So results keep which starts succeeded, and not only how many.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from kodex.errors import InputError
from kodex.trajectory import Distribution, Start, Trajectory


@dataclass(frozen=True)
class Episodes:
    """What came of each episode of one draw of starts."""

    distribution: Distribution
    seed: int  # of the draw
    starts: tuple[int, ...]  # the index of each start in its draw
    succeeded: tuple[bool, ...]
    criteria: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)  # such as "thrown_out"

    def __post_init__(self) -> None:
        for name, outcomes in {"succeeded": self.succeeded, **self.criteria}.items():
            if len(outcomes) != len(self.starts):
                raise InputError(
                    f"{name} must have one outcome for each of {len(self.starts)} starts; "
                    f"found {len(outcomes)}"
                )

    def __len__(self) -> int:
        return len(self.starts)

    def __add__(self, other: Self) -> Self:
        if not self.shares_draw(other):
            raise InputError("episodes add within one draw of starts; found two draws")
        names = self.criteria.keys() & other.criteria.keys()
        return type(self)(
            distribution=self.distribution,
            seed=self.seed,
            starts=self.starts + other.starts,
            succeeded=self.succeeded + other.succeeded,
            criteria={
                name: self.criteria[name] + other.criteria[name]
                for name in self.criteria
                if name in names
            },
        )

    def shares_draw(self, other: "Episodes") -> bool:
        """Return whether an index means the same start in both."""
        return (self.distribution, self.seed) == (other.distribution, other.seed)

    def outcomes(self, criterion: str | None = None) -> tuple[bool, ...]:
        """Return which episodes met `criterion`; None is the task's own success criterion."""
        return self.succeeded if criterion is None else self.criteria[criterion]


def episodes_of(
    rollouts: Sequence[Trajectory],
    succeeded: tuple[bool, ...],
    criteria: Mapping[str, tuple[bool, ...]],
) -> Episodes | None:
    """Return the outcomes of `rollouts` by start; None if they do not share a draw of starts."""
    starts = [each.start for each in rollouts if each.start is not None]
    draws = {(start.task, start.distribution, start.seed) for start in starts}
    if len(starts) != len(rollouts) or len(draws) != 1:
        return None
    ((_, distribution, seed),) = draws
    indices = tuple(start.index for start in starts)
    return Episodes(distribution, seed, indices, succeeded, criteria)


def by_start(trajectories: Iterable[Trajectory]) -> dict[Hashable, Trajectory]:
    """Return `trajectories` by what their starts are; refuse starts that are missing or doubled."""
    found: dict[Hashable, Trajectory] = {}
    for index, trajectory in enumerate(trajectories):
        start = _start_of(trajectory, index)
        key = _identity(start)
        if key in found:
            raise InputError(f"two episodes begin at {_described(start)}; expected one each")
        found[key] = trajectory
    return found


def matched(
    first: Sequence[Trajectory], second: Sequence[Trajectory]
) -> list[tuple[Trajectory, Trajectory]]:
    """Return pairs with equal starts, in the order of `first`; refuse any that stays alone."""
    if len(first) != len(second):
        raise InputError(
            f"matched starts are needed; found {len(first)} episodes against {len(second)}"
        )
    partners = partners_in(by_start(second), by_start(first).values())
    return list(zip(first, partners, strict=True))


def partners_in(
    others: Mapping[Hashable, Trajectory], trajectories: Iterable[Trajectory]
) -> list[Trajectory]:
    """Return for each of `trajectories` the one of `others` (from `by_start`) with its start."""
    partners = []
    for index, trajectory in enumerate(trajectories):
        start = _start_of(trajectory, index)
        partner = others.get(_identity(start))
        if partner is None:
            raise InputError(
                f"matched starts are needed; nothing else begins at {_described(start)}: "
                "use the same distribution, seed and number of starts"
            )
        partners.append(partner)
    return partners


def _start_of(trajectory: Trajectory, index: int) -> Start:
    if trajectory.start is None:
        raise InputError(f"episode {index} does not know its start, so it has no partner")
    return trajectory.start


def _identity(start: Start) -> Hashable:
    values = tuple(sorted(start.values.items()))
    return (start.task, start.distribution, start.seed, start.index, values)


def _described(start: Start) -> str:
    return f"start {start.index} of {start.task} {start.distribution!r}, seed {start.seed}"
