"""Demonstrations by the shipped experts."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.experts import collect, expert, shipped_expert, tried
from kodex.experts.collection import BATCH
from kodex.experts.dapg.settings import pairs_of
from kodex.rollout import roll_out
from kodex.tasks import TASKS, task

BARS = {"tool": 0.99, "door": 0.97, "relocation": 0.99, "reorientation": 0.95}


@pytest.fixture(scope="module")
def doors():
    return collect(task("door"), 12, seed=4, record=("observations",))


def test_the_same_seed_gives_the_same_demonstrations(doors):
    again = collect(task("door"), 12, seed=4, threads=1)
    for one, two in zip(doors, again, strict=True):
        assert np.array_equal(one.states, two.states)
        assert np.array_equal(one.actions, two.actions)


def test_fewer_demonstrations_are_the_first_of_more(doors):
    few = collect(task("door"), 3, seed=4)
    for one, two in zip(few, doors, strict=False):
        assert np.array_equal(one.states, two.states)


def test_kept_demonstrations_succeed_and_count_their_tries(doors):
    assert all(demonstration.succeeded for demonstration in doors)
    assert len(doors) == 12 <= tried(doors) <= BATCH


def test_failures_are_kept_on_request_and_noise_makes_some():
    episodes = collect(task("door"), 12, seed=4, keep="all", noise=0.5)
    assert len(episodes) == tried(episodes) == 12
    assert not all(episode.succeeded for episode in episodes)
    assert np.abs(episodes[0].actions).max() <= 1.0


def test_a_variation_gives_other_demonstrations(doors):
    first = doors[0]
    heavy = collect(task("door", "heavy-object"), first.start.index + 1, seed=4, keep="all")[-1]
    assert heavy.start == first.start
    assert np.array_equal(heavy.states[0], first.states[0])
    assert not np.array_equal(heavy.states[-1], first.states[-1])


def test_hopeless_collecting_ends_with_a_sentence():
    with pytest.raises(InputError, match="0 of 25 tries succeeded, 1 were wanted"):
        collect(task("door"), 1, noise=50.0)


def test_pairs_found_by_replaying_equal_those_that_were_recorded(doors):
    recorded = pairs_of(doors[:2], task("door"))
    bare = collect(task("door"), 2, seed=4)
    replayed = pairs_of(bare, task("door"))
    assert np.array_equal(replayed.observations, recorded.observations)
    assert np.array_equal(replayed.actions, recorded.actions)


@pytest.mark.parametrize("name", TASKS)
def test_a_shipped_expert_reaches_the_bar_where_it_was_measured(name):
    provenance = shipped_expert(name).provenance
    inside = provenance["measured"]["in"]
    assert inside["episodes"] >= 1000
    assert inside["success"] >= BARS[name]
    assert provenance["origin"] and provenance["commands"]


@pytest.mark.parametrize("name", TASKS)
def test_a_shipped_expert_succeeds_on_fresh_starts(name):
    world = task(name)
    rollouts = roll_out(world, expert(name), world.starts("in", count=24, seed=2024))
    # An expert at its bar of 95 % or more fails 7 or more of 24 about once in 8,000 times.
    assert sum(bool(rollout.succeeded) for rollout in rollouts) >= 18
    for rollout in rollouts:
        assert np.abs(rollout.actions).max() <= 1.0


def test_an_unknown_expert_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean door"):
        expert("dor")


def test_disturbed_demonstrations_hold_what_was_intended_and_what_was_executed():
    world = task("door")
    executed = collect(world, 3, seed=5, noise=0.1, keep="all", record=["observations"])
    intended = collect(world, 3, seed=5, noise=0.1, keep="all", labels="intended")
    for one, other in zip(executed, intended, strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(other.signals["executed"][:-1], one.actions)
        wanted = expert("door").act(one.signals["observations"][:-1])
        np.testing.assert_allclose(other.actions, np.clip(wanted, -1.0, 1.0), atol=1e-12)
        assert np.std(one.actions - other.actions) > 0.05
