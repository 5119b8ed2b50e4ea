"""Recorded successes for the tests of this room."""

from pathlib import Path

import numpy as np
import pytest

from kodex.tasks import task

SUCCESSES = Path(__file__).parent / "fixtures" / "successes.npz"  # says its origin


@pytest.fixture(scope="session")
def recorded():
    """Return a function: a task's name -> three starts, and actions that succeed from them."""
    with np.load(SUCCESSES) as archive:
        arrays = dict(archive)

    def of(name):
        starts = task(name).starts("in", count=24, seed=2023)[arrays[f"{name}_starts"]]
        return starts, arrays[f"{name}_actions"].astype(np.float64)

    return of
