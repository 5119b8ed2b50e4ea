"""Work that ends its worker, and sums that know who added them."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counted:
    """How many demonstrations were counted, and by which processes the counts were added."""

    count: int
    adders: frozenset = frozenset()

    def __add__(self, other):
        adders = self.adders | other.adders | {os.getpid()}
        return Counted(self.count + other.count, adders)


def count_or_die(flag, deadly, part):
    """Return the number of demonstrations; the first worker that reads number `deadly` dies."""
    if part.first <= deadly < part.first + len(part.demonstrations):
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return Counted(len(part.demonstrations))
        Path(f"{flag}.died").write_text(str(os.getpid()))
        os._exit(9)
    return Counted(len(part.demonstrations))


def whether_aligned(words, arrays):
    """Return whether each of `arrays` lies in memory as this process would have put it."""
    return [bool(each.flags.aligned) for each in arrays]
