"""Rollouts are compared start by start: the same start, faced by two policies, is one pair."""

from collections.abc import Hashable, Iterable, Sequence

from kodex.errors import InputError
from kodex.trajectory import Start, Trajectory


def by_start(trajectories: Iterable[Trajectory]) -> dict[Hashable, Trajectory]:
    """Return `trajectories` by what their starts are; refuse starts that are missing or doubled."""
    found: dict[Hashable, Trajectory] = {}
    for place, trajectory in enumerate(trajectories):
        if trajectory.start is None:
            raise InputError(f"episode {place} does not know its start, so it has no partner")
        key = _identity(trajectory.start)
        if key in found:
            raise InputError(f"two episodes begin at {_said(trajectory.start)}; expected one each")
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
    others: dict[Hashable, Trajectory], trajectories: Iterable[Trajectory]
) -> list[Trajectory]:
    """Return for each of `trajectories` the one of `others` (from `by_start`) with its start."""
    partners = []
    for place, trajectory in enumerate(trajectories):
        if trajectory.start is None:
            raise InputError(f"episode {place} does not know its start, so it has no partner")
        partner = others.get(_identity(trajectory.start))
        if partner is None:
            raise InputError(
                f"matched starts are needed; nothing else begins at {_said(trajectory.start)}: "
                "use the same distribution, seed and number of starts"
            )
        partners.append(partner)
    return partners


def _identity(start: Start) -> Hashable:
    values = tuple(sorted(start.values.items()))
    return (start.task, start.distribution, start.seed, start.index, values)


def _said(start: Start) -> str:
    return f"start {start.index} of {start.task} {start.distribution!r}, seed {start.seed}"
