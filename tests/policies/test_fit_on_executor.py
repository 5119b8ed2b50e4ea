"""Fits on an executor: the same policy to the last bit, whoever reads and sums the episodes."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from toy_skill import demonstration, demonstrations

import kodex
from kodex.controllers import RidgeControllerLearner
from kodex.demonstrations import TrajectorySet, spreading, write
from kodex.errors import InputError
from kodex.koopman import (
    CrossValidated,
    KoopmanLearner,
    LeaveOneOut,
    ObserverLearner,
    Rank,
    Ridge,
    sample_of,
    sample_states,
)
from kodex.lifting import (
    DelayLearner,
    FourierLearner,
    MonomialsLearner,
    RadialLearner,
    StandardisedLearner,
)
from kodex.policies import ConditionedLearner, LiftedLearner, TrackingLearner
from kodex.policies.koopman_learner import KoopmanPolicyLearner
from kodex.storage import Stored
from tests.made_executors import Travelling

DRAWN_BY_BLOCK = ("ridge controller",)  # so another size of blocks is another draw
# Eigenvectors, whose signs are free, and what is drawn by block.
NOT_COMPARED = ("/correction", "/controller")
COUNT = 23
SHOWN = demonstrations(COUNT)
FOURIER = StandardisedLearner(FourierLearner(count=12, scale=0.5), clip=6.0)
LEARNERS = {
    "default": ConditionedLearner(LiftedLearner(FOURIER, ridges=(1e-3, 1e-5))),
    "one ridge": ConditionedLearner(LiftedLearner(FOURIER, ridges=(1e-4,), resample=False)),
    "polynomial": KoopmanLearner(MonomialsLearner(2, constant=True), Ridge(1e-6)),
    "radial, rank": KoopmanLearner(RadialLearner(count=8, width=1.0), Rank(6)),
    "ridge controller": RidgeControllerLearner(),
    "observer": TrackingLearner(ObserverLearner(KoopmanLearner(FOURIER, Ridge(1e-4)))),
    "koopman": ConditionedLearner(KoopmanPolicyLearner(LiftedLearner(FOURIER))),
    "cross-validated": KoopmanLearner(FOURIER, CrossValidated((Ridge(1e-2), Ridge(1e-4)))),
    "leave one out": KoopmanLearner(FOURIER, LeaveOneOut((Ridge(1e-2), Ridge(1e-4)))),
    "pinv": KoopmanLearner(MonomialsLearner(1, constant=True)),
    "delays": KoopmanLearner(DelayLearner(window=2), Ridge(1e-6)),
}


def numbers_of(stored: Stored, place=""):
    """Yield every array of a model with its place in it."""
    for name, array in stored.arrays.items():
        yield f"{place}/{name}", np.asarray(array)
    for name, part in stored.parts.items():
        yield from numbers_of(part, f"{place}/{name}")


def assert_same(one, other, tolerance=None):
    ours, theirs = dict(numbers_of(one.stored())), dict(numbers_of(other.stored()))
    assert ours.keys() == theirs.keys()
    for place, array in ours.items():
        if tolerance is None:
            assert array.tobytes() == theirs[place].tobytes(), place
        elif not any(each in place for each in NOT_COMPARED):
            if place.endswith("one_step_error"):  # a root: of 0 it shows half of the digits
                array, theirs[place] = array**2, theirs[place] ** 2
            scale = max(1.0, np.abs(array).max(initial=0.0))
            np.testing.assert_allclose(theirs[place], array, atol=tolerance * scale, err_msg=place)


@pytest.fixture(scope="module")
def at_once():
    return {name: each.fit(SHOWN, SHOWN[:5]) for name, each in LEARNERS.items()}


@pytest.mark.parametrize("name", LEARNERS)
@settings(deadline=None, max_examples=4, phases=[Phase.generate])
@given(block=st.integers(1, 25), tasks=st.integers(1, 25))
def test_any_partition_gives_the_fit_of_everything_at_once(at_once, name, block, tasks):
    learner = LEARNERS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spreading, "BLOCK", block)
        patch.setattr(spreading, "MOST_TASKS", tasks)
        alone = learner.fit(SHOWN, SHOWN[:5])
        spread = [spreading.spread(part, Travelling()) for part in (SHOWN, SHOWN[:5])]
        assert_same(learner.fit(*spread), alone)
    if name not in DRAWN_BY_BLOCK:
        assert_same(alone, at_once[name], tolerance=1e-10)


@settings(deadline=None, max_examples=4, phases=[Phase.generate])
@given(block=st.integers(1, 25), tasks=st.integers(1, 25))
def test_what_a_controller_holds_out_is_the_same_whoever_reads_it(block, tasks):
    learner = RidgeControllerLearner(ridges=(1e-2, 1e-3), disturbance=0.0)
    at_once = learner.fit(SHOWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spreading, "BLOCK", block)
        patch.setattr(spreading, "MOST_TASKS", tasks)
        assert_same(learner.fit(spreading.spread(SHOWN, Travelling())), learner.fit(SHOWN))
        assert_same(learner.fit(SHOWN), at_once, tolerance=1e-10)


def test_workers_read_their_own_episodes_and_send_sums(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "BLOCK", 16)
    many = demonstrations(50)
    for first in range(0, len(many), 20):
        write(tmp_path / f"{first:04d}.h5", TrajectorySet(many[first : first + 20]))
    stream = kodex.stream(tmp_path)
    recipe = replace(kodex.policies.recipes.recipe("default"), learner=LEARNERS["default"])
    executor = Travelling()
    found = kodex.fit(stream, many[:3], recipe=recipe, executor=executor)
    assert_same(found, kodex.fit(many, many[:3], recipe=recipe))
    assert executor.pieces > 10
    assert executor.sent < executor.pieces * 0.1 * len(pickle.dumps(many))  # names and numbers


def test_a_pool_of_processes_gives_the_bits_of_this_one():
    many = [demonstration(seed) for seed in range(spreading.BLOCK + 20)]
    learner = LEARNERS["default"]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert_same(learner.fit(spreading.spread(many, pool)), learner.fit(many))


@given(limit=st.integers(1, 400), sampled=st.integers(1, 30))
@settings(deadline=None, max_examples=20)
def test_the_sample_of_states_is_one_of_evenly_spread_demonstrations(limit, sampled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kodex.koopman.moments.SAMPLED", sampled)
        found = sample_of(spreading.spread(SHOWN, Travelling()), COUNT, limit)
    step = max(1, COUNT // sampled)
    assert len(SHOWN[::step]) < max(COUNT + 1, 2 * sampled + 1)
    np.testing.assert_array_equal(
        found, sample_states((each.states for each in SHOWN[::step]), limit)
    )


def wrong(**changes):
    """Return demonstrations of which the one with number 15 is not like the others."""
    return [*SHOWN[:15], replace(SHOWN[15], **changes), *SHOWN[16:]]


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        (wrong(states=np.full_like(SHOWN[15].states, np.nan)), "demonstration 15 has states that"),
        (wrong(actions=None), "demonstration 15 has states but no actions"),
        (wrong(context={}), r"demonstration 15 has the context \[\]"),
        (wrong(start=replace(SHOWN[15].start, task="tool")), "demonstration 15 is of the task"),
        ([], "there is nothing to learn from"),
    ],
)
def test_a_worker_refuses_what_this_process_would_refuse(shown, sentence, monkeypatch):
    monkeypatch.setattr(spreading, "BLOCK", 4)
    for given_to in (shown, spreading.spread(shown, Travelling())):
        with pytest.raises(InputError, match=sentence):
            LEARNERS["default"].fit(given_to)


def test_what_only_later_parts_say_must_agree_between_them(monkeypatch):
    monkeypatch.setattr(spreading, "BLOCK", 4)
    shown = [replace(each, start=None) for each in SHOWN]
    shown[6], shown[20] = SHOWN[6], replace(SHOWN[20], start=replace(SHOWN[20].start, task="tool"))
    with pytest.raises(InputError, match="a demonstration from number 20 on is of the task 'tool'"):
        LEARNERS["default"].fit(spreading.spread(shown, Travelling()))


def test_something_without_a_length_cannot_be_spread():
    with pytest.raises(InputError, match=r"must have a length.*found map"):
        spreading.spread(map(demonstration, range(3)), Travelling())
