"""Validation demonstrations: a seeded draw that nothing is learned from."""

from collections.abc import Sequence

from kodex.demonstrations.spreading import selected
from kodex.errors import InputError
from kodex.seeding import generator
from kodex.trajectory import Trajectory


def hold_out(
    demonstrations: Sequence[Trajectory], share: float, seed: int, *, purpose: str
) -> tuple[Sequence[Trajectory], Sequence[Trajectory]]:
    """Return (training, validation): a seeded draw of whole demonstrations.

    Steps of one demonstration are alike, so validating on single steps would flatter. Two
    demonstrations or more leave at least one on each side; a single one has to do both. Draws for
    different purposes are independent.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"the held-out share must be between 0 and 1; found {share}")
    count = len(demonstrations)
    if count == 1:
        return demonstrations, demonstrations
    size = min(max(1, round(share * count)), count - 1)
    held = set(generator(seed, purpose, "held out").permutation(count)[:size].tolist())
    training = [index for index in range(count) if index not in held]
    return selected(demonstrations, training), selected(demonstrations, sorted(held))
