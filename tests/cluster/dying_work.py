"""Work that ends its worker."""

import os
from pathlib import Path


def count_or_die(flag, part):
    """Return the number of demonstrations; the first worker that reads number 8 dies of it."""
    if part.first <= 8 < part.first + len(part.demonstrations):
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return len(part.demonstrations)
        Path(f"{flag}.died").write_text(str(os.getpid()))
        os._exit(9)
    return len(part.demonstrations)
