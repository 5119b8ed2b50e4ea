"""Demonstrations to judge by: a seeded draw that nothing is learned from."""

from collections.abc import Sequence

from kodex.errors import InputError
from kodex.seeding import generator
from kodex.trajectory import Trajectory


def hold_out(
    demonstrations: Sequence[Trajectory], share: float, seed: int, *, purpose: str
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Return (to learn from, to judge by): a seeded draw of whole demonstrations.

    Moments of one demonstration are alike, so judging by single ones would flatter. Two
    demonstrations or more leave at least one on each side; a single one has to do both. Draws for
    different purposes are independent.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"the held-out share must be between 0 and 1; found {share}")
    count = len(demonstrations)
    if count == 1:
        return list(demonstrations), list(demonstrations)
    judged = min(max(1, round(share * count)), count - 1)
    held = set(generator(seed, purpose, "held out").permutation(count)[:judged].tolist())
    learned_from = [demo for place, demo in enumerate(demonstrations) if place not in held]
    return learned_from, [demo for place, demo in enumerate(demonstrations) if place in held]
