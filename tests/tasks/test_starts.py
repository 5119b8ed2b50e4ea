"""Starts: drawn from a seed, the paper's ranges, in and out of distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.tasks import TASKS, task

# Appendix D: (low, high) of each start value
INSIDE = {
    "tool": [(0.1, 0.25)],
    "door": [(-0.3, 0.0), (0.2, 0.35), (0.252, 0.402)],
    "relocation": [(-0.25, 0.25), (-0.25, 0.25), (0.15, 0.35)],
    "reorientation": [(-1.0, 1.0), (-1.0, 1.0)],
}
AROUND = {
    "tool": [(0.05, 0.3)],
    "door": [(-0.3, 0.0), (0.15, 0.4), (0.252, 0.402)],
    "relocation": [(-0.25, 0.25), (-0.25, 0.25), (0.35, 0.40)],
    "reorientation": [(-1.2, 1.2), (-1.2, 1.2)],
}


def within(values, ranges):
    low, high = np.array(ranges).T
    return ((values >= low) & (values <= high)).all(axis=1)


@pytest.mark.parametrize("name", TASKS)
def test_starts_in_distribution_fill_the_papers_ranges(name):
    values = task(name).starts("in", count=4000, seed=0).values
    low, high = np.array(INSIDE[name]).T
    assert within(values, INSIDE[name]).all()
    np.testing.assert_allclose(values.min(axis=0), low, atol=0.01 * (high - low).max())
    np.testing.assert_allclose(values.max(axis=0), high, atol=0.01 * (high - low).max())
    np.testing.assert_allclose(
        values.mean(axis=0), (low + high) / 2, atol=0.03 * (high - low).max()
    )


@pytest.mark.parametrize("name", TASKS)
def test_starts_out_of_distribution_surround_those_inside_and_never_are_among_them(name):
    values = task(name).starts("out", count=4000, seed=0).values
    low, high = np.array(AROUND[name]).T
    assert within(values, AROUND[name]).all()
    assert not within(values, INSIDE[name]).any()
    np.testing.assert_allclose(values.min(axis=0), low, atol=0.01 * (high - low).max())
    np.testing.assert_allclose(values.max(axis=0), high, atol=0.01 * (high - low).max())


def test_reorientations_ring_is_filled_evenly():
    pitch, yaw = task("reorientation").starts("out", count=20_000, seed=3).values.T
    corners = (np.abs(pitch) > 1.0) & (np.abs(yaw) > 1.0)
    sides = np.histogram(np.arctan2(yaw, pitch), bins=[-np.pi, -np.pi / 2, 0, np.pi / 2, np.pi])[0]
    # Four corners of 0.2 by 0.2 in a ring of area 2.4² - 2²; five standard errors of a fraction.
    assert abs(corners.mean() - 0.16 / 1.76) < 5 * np.sqrt(0.083 / 20_000)
    assert np.all(np.abs(sides / 20_000 - 0.25) < 5 * np.sqrt(0.1875 / 20_000))


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(TASKS)),
    distribution=st.sampled_from(["in", "out"]),
    few=st.integers(0, 30),
    more=st.integers(0, 30),
    seed=st.integers(0, 2**32),
)
def test_more_starts_begin_with_the_same_ones(name, distribution, few, more, seed):
    a_task = task(name)
    short = a_task.starts(distribution, count=few, seed=seed)
    long = a_task.starts(distribution, count=few + more, seed=seed)
    np.testing.assert_array_equal(long.values[:few], short.values)
    np.testing.assert_array_equal(long.indices, np.arange(few + more))


def test_seeds_tasks_and_distributions_draw_independently():
    draws = [
        tuple(task(name).starts(distribution, count=1, seed=seed).values[0])
        for name in ("door", "relocation")
        for distribution in ("in", "out")
        for seed in (0, 1)
    ]
    assert len(set(draws)) == len(draws)


def test_a_variation_faces_the_same_starts():
    usual = task("door").starts("in", count=5, seed=0)
    heavy = task("door", "heavy-hand").starts("in", count=5, seed=0)
    np.testing.assert_array_equal(usual.values, heavy.values)


def test_an_unknown_distribution_is_refused():
    with pytest.raises(InputError, match="one of"):
        task("door").starts("unseen", count=5, seed=0)


def test_a_negative_count_is_refused():
    with pytest.raises(InputError, match="0 or more; found -1"):
        task("door").starts("in", count=-1, seed=0)


@pytest.mark.parametrize("name", TASKS)
def test_the_model_of_a_start_holds_it_and_the_simulation_too(name):
    a_task = task(name)
    starts = a_task.starts("out", count=3, seed=0)
    simulation = a_task.simulation(3)
    simulation.reset(starts)
    for episode, start in enumerate(starts):
        model, running = a_task.model_of(start), simulation.model_of(episode)
        for field in ("body_pos", "body_quat", "site_pos", "body_mass"):
            np.testing.assert_array_equal(getattr(model, field), getattr(running, field))


def test_a_start_of_another_task_is_refused():
    start = next(iter(task("door").starts("in", count=1, seed=0)))
    with pytest.raises(InputError, match="of door"):
        task("tool").model_of(start)
