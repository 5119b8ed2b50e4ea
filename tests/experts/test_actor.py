"""Actors: what an expert is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.experts.actor import Actor, NoisyActor, load_actor
from kodex.interfaces import Policy
from kodex.storage import Stored, read_model, write_model


def small_actor(seed=0):
    random = np.random.default_rng(seed)
    return Actor.untrained(random.normal(size=(30, 4)), random.normal(size=(30, 3)), (6, 5), seed)


def noisy(horizon=7):
    return NoisyActor(small_actor(), np.array([0.1, 0.2, 0.3]), seed=5, horizon=horizon)


def test_actors_are_policies_that_see_the_observation():
    for policy in (small_actor(), noisy()):
        assert isinstance(policy, Policy)
        assert policy.spec.observes == "observation"


def test_an_actor_survives_the_disk_bit_for_bit(tmp_path):
    actor, seen = small_actor(), np.random.default_rng(1).normal(size=(8, 4))
    write_model(actor.stored(), tmp_path / "actor")
    again = Actor.restore(read_model(tmp_path / "actor"))
    assert np.array_equal(again.act(seen), actor.act(seen))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_acting_on_a_batch_is_acting_on_each(seed):
    actor, seen = small_actor(seed), np.random.default_rng(seed).normal(size=(2, 5, 4))
    each = [[actor.act(row) for row in rows] for rows in seen]
    np.testing.assert_allclose(actor.act(seen), each, atol=1e-12)


def test_an_untrained_actor_is_near_the_mean_action():
    random = np.random.default_rng(0)
    observations, actions = random.normal(size=(50, 4)), 3.0 + 0.5 * random.normal(size=(50, 2))
    actor = Actor.untrained(observations, actions, (8,), seed=0)
    np.testing.assert_allclose(actor.act(observations), 3.0, atol=0.25)


def test_the_wrong_observation_is_refused_with_both_sizes():
    with pytest.raises(InputError, match="observes 4 components; found 9"):
        small_actor().act(np.zeros((2, 9)))


def test_something_else_is_not_restored_as_an_actor():
    with pytest.raises(InputError, match="found 'something'"):
        Actor.restore(Stored(type="something"))


def test_noise_is_the_same_in_any_batch_and_order():
    first = np.random.default_rng(2).normal(size=(6, 4))
    whole = noisy().noise(first)
    assert np.array_equal(noisy().noise(first[::-1]), whole[::-1])
    assert np.array_equal(noisy().noise(first[2:3]), whole[2:3])


def test_noise_has_the_standard_deviation_it_is_given():
    policy = noisy(horizon=2001)
    drawn = policy.noise(np.zeros((1, 4)))[0]
    np.testing.assert_allclose(drawn.std(axis=0), policy.std, rtol=0.08)
    assert np.abs(drawn.mean(axis=0)).max() < 0.03


def test_a_noisy_actor_adds_the_noise_it_promises_step_by_step():
    policy, random = noisy(), np.random.default_rng(3)
    seen = random.normal(size=(6, 5, 4))
    memory = policy.begin(seen[0])
    for step in range(6):
        actions, memory = policy.step(memory, seen[step])[:2]
        expected = policy.actor.act(seen[step]) + policy.noise(seen[0])[:, step]
        assert np.array_equal(actions, expected)


def other(**changes):
    """Return a small actor as stored, with other arrays or settings; None takes one away."""
    stored = small_actor().stored()
    arrays = {**stored.arrays, **{k: v for k, v in changes.items() if k != "layers"}}
    config = {"layers": changes.get("layers", 3)}
    kept = {name: array for name, array in arrays.items() if array is not None}
    return Stored("actor", config={k: v for k, v in config.items() if v is not None}, arrays=kept)


ODD = {
    "no layers": other(layers=None),
    "many layers": other(layers=4),
    "endless layers": other(layers=10**9),
    "layers of text": other(layers="3"),
    "no weight": other(weight_1=None),
    "other shape": other(weight_1=np.zeros((2, 2))),
    "NaN": other(bias_0=np.full(6, np.nan)),
    "other outputs": other(output_shift=np.zeros(5), output_scale=np.ones(5)),
    "a single number": other(input_shift=np.array(1.0)),
    "another type": Stored("lifted"),
}


@pytest.mark.parametrize("stored", ODD.values(), ids=ODD)
def test_a_folder_that_is_no_whole_expert_is_refused_in_one_sentence(tmp_path, stored):
    write_model(stored, tmp_path / "expert")
    with pytest.raises(InputError, match="is not a whole expert"):
        load_actor(tmp_path / "expert")
