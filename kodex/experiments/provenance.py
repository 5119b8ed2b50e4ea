"""What one must know to get a result again: the command, the versions, the seeds."""

import platform
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("kodex", "numpy", "scipy", "mujoco", "gymnasium-robotics")


def provenance(seeds: Mapping[str, int]) -> dict[str, Any]:
    """Return how this process was called, with which versions and `seeds`; no date, no host."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    return {
        "command": shlex.join(words),
        "versions": {"python": platform.python_version()}
        | {library: version(library) for library in LIBRARIES},
        "seeds": dict(seeds),
    }
