"""Every lifting keeps the same promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.lifting import (
    LEARNERS,
    LIFTINGS,
    DelayLearner,
    FourierLearner,
    FunctionLearner,
    MonomialsLearner,
    PaperPolynomialLearner,
    RadialLearner,
    ReluLearner,
    StackedLearner,
    StandardisedLearner,
    known_functions,
    lifting_learner,
    restore_lifting,
)
from kodex.storage import Stored, read_model, write_model
from kodex.testing import check_lifting
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("thumb_0", "thumb_1", "index_0"), object=("x", "y"))
SAMPLE = np.random.default_rng(1).normal(size=(400, 5)) * [1.0, 0.1, 3.0, 0.01, 1.0] + [
    *(0.0, 2.0, -1.0, 0.5, 0.0)
]


def sines(states):
    return np.sin(states[:, :2])


CASES = {
    **LEARNERS,
    "monomials-cubic": MonomialsLearner(degree=3, cross_terms=False, constant=True),
    "fourier-few": FourierLearner(count=20, constant=False, seed=3),
    "radial-random": RadialLearner(count=10, centres="random", constant=False, seed=1),
    "relu-random": ReluLearner(count=12, kinks="random", constant=False),
    "delay-set3": DelayLearner(window=2, inner=PaperPolynomialLearner(3)),
    "delay-of-standardised": DelayLearner(3, StandardisedLearner(FourierLearner(count=9))),
    "standardised-delay": StandardisedLearner(DelayLearner(3, RadialLearner(count=5)), clip=8.0),
    "standardised-set2": StandardisedLearner(PaperPolynomialLearner(2)),
    "stacked": StackedLearner(
        (
            *(PaperPolynomialLearner(1), MonomialsLearner(2, constant=True)),
            *(FourierLearner(count=4), FourierLearner(count=3, seed=1), DelayLearner(2)),
        )
    ),
    "standardised-stack": StandardisedLearner(
        StackedLearner((ReluLearner(count=4), RadialLearner(count=4)))
    ),
    "function": FunctionLearner(sines, constant=True),
}
FITTED = {name: learner.fit(LAYOUT, SAMPLE) for name, learner in CASES.items()}
every_lifting = pytest.mark.parametrize("lifting", FITTED.values(), ids=FITTED)


def inputs(lifting, *leading, seed=0):
    """States like the sample's, repeatable, (*leading, window · n)."""
    rows = np.random.default_rng(seed).integers(len(SAMPLE), size=(*leading, lifting.window))
    return SAMPLE[rows].reshape(*leading, lifting.window * LAYOUT.size)


def test_every_type_of_lifting_is_tried_here():
    def types(stored):
        yield stored.type
        for part in stored.parts.values():
            yield from types(part)

    tried = {name for lifting in FITTED.values() for name in types(lifting.stored())}
    assert tried == set(LIFTINGS)


@every_lifting
def test_it_keeps_the_public_contract(lifting):
    with known_functions(sines=sines):
        check_lifting(lifting, SAMPLE[:40])
    assert lifting.layout == LAYOUT
    assert lifting.window >= 1


@every_lifting
def test_every_observable_has_its_own_name(lifting):
    assert len(set(lifting.names)) == len(lifting.names)
    assert lifting.lift(inputs(lifting)).shape == (len(lifting.names),)


@every_lifting
@settings(deadline=None, max_examples=15)
@given(leading=st.lists(st.integers(0, 4), max_size=3))
def test_it_lifts_over_any_leading_axes(lifting, leading):
    lifted = lifting.lift(inputs(lifting, *leading))
    assert lifted.shape == (*leading, len(lifting.names))
    assert lifted.dtype == np.float64


@every_lifting
@pytest.mark.parametrize("shape", [(7,), (3, 2), (11, 30)])
def test_lifting_rows_one_by_one_equals_lifting_them_at_once(lifting, shape):
    states = inputs(lifting, *shape)
    at_once = lifting.lift(states)
    for index in itertools.product(*map(range, shape)):
        alone = lifting.lift(states[index])
        np.testing.assert_allclose(alone, at_once[index], rtol=1e-12, atol=1e-12)


@every_lifting
def test_integers_and_views_lift_as_their_values_do(lifting):
    whole = np.arange(3 * lifting.window * LAYOUT.size).reshape(3, -1) % 5
    backwards = whole[:, ::-1]
    np.testing.assert_array_equal(lifting.lift(whole), lifting.lift(whole.astype(float)))
    np.testing.assert_allclose(
        lifting.lift(backwards), lifting.lift(backwards.astype(float).copy()), rtol=1e-12
    )


@every_lifting
def test_the_input_is_left_as_it_was_and_the_output_is_a_copy(lifting):
    states = inputs(lifting, 200)
    before = states.copy()
    lifting.lift(states)[:] = np.nan
    np.testing.assert_array_equal(states, before)


@every_lifting
def test_recovery_gives_back_the_newest_state(lifting):
    states = inputs(lifting, 6, 50)
    recovered = lifting.lift(states) @ lifting.recovery.T + lifting.offset
    assert lifting.recovery.shape == (LAYOUT.size, len(lifting.names))
    assert lifting.offset.shape == (LAYOUT.size,)
    np.testing.assert_allclose(recovered, states[..., -LAYOUT.size :], rtol=1e-13, atol=1e-13)


@every_lifting
def test_it_reads_back_from_disk_bit_for_bit(lifting, tmp_path):
    write_model(lifting.stored(), tmp_path / "lifting")
    with known_functions(sines=sines):
        again = restore_lifting(read_model(tmp_path / "lifting"))
    assert type(again) is type(lifting)
    assert again.layout == lifting.layout
    assert again.names == lifting.names
    states = inputs(lifting, 150)
    np.testing.assert_array_equal(again.lift(states), lifting.lift(states))
    np.testing.assert_array_equal(again.recovery, lifting.recovery)
    np.testing.assert_array_equal(again.offset, lifting.offset)


@every_lifting
def test_a_last_axis_of_another_size_is_refused_with_both_sizes(lifting):
    expected = lifting.window * LAYOUT.size
    for wrong in (expected - 1, expected + 1, 2 * expected):
        with pytest.raises(InputError, match=rf"must hold {expected} numbers .*\(3, {wrong}\)"):
            lifting.lift(np.zeros((3, wrong)))
    with pytest.raises(InputError, match="must hold"):
        lifting.lift(np.float64(1.0))


@pytest.mark.parametrize("name", CASES)
def test_fitting_twice_gives_the_same_lifting(name):
    again = CASES[name].fit(LAYOUT, SAMPLE)
    states = inputs(again, 20)
    np.testing.assert_array_equal(again.lift(states), FITTED[name].lift(states))


@pytest.mark.parametrize("learner", [FourierLearner, RadialLearner, ReluLearner])
def test_another_seed_gives_other_features(learner):
    first, second = (learner(count=8, seed=seed).fit(LAYOUT, SAMPLE) for seed in (0, 1))
    features = slice(LAYOUT.size + 1, None)
    assert not np.isclose(first.lift(SAMPLE)[:, features], second.lift(SAMPLE)[:, features]).all()


@pytest.mark.parametrize("name", CASES)
def test_a_sample_of_another_layout_is_refused(name):
    with pytest.raises(InputError, match="last axis"):
        CASES[name].fit(LAYOUT, np.zeros((4, 3)))


@pytest.mark.parametrize("name", ["fourier", "radial", "relu", "standardised", "function"])
def test_a_sample_that_is_empty_or_not_finite_is_refused(name):
    with pytest.raises(InputError, match="at least one state"):
        CASES[name].fit(LAYOUT, np.zeros((0, 5)))
    with pytest.raises(InputError, match="NaN or infinity"):
        CASES[name].fit(LAYOUT, np.full((3, 5), np.nan))


@every_lifting
def test_damage_to_what_was_stored_is_refused_by_name(lifting):
    stored = lifting.stored()
    damaged = Stored(type=stored.type, config={}, arrays=stored.arrays, parts=stored.parts)
    with pytest.raises(InputError, match=f"stored {stored.type} lifting is damaged"):
        restore_lifting(damaged)


def test_an_unknown_type_is_refused_by_name():
    with pytest.raises(InputError, match="no lifting of type 'wavelet'"):
        restore_lifting(Stored(type="wavelet"))


def test_an_unknown_name_is_refused_with_the_nearest_known_one():
    assert lifting_learner("set3") == PaperPolynomialLearner(3)
    with pytest.raises(InputError, match=r"found 'fuorier'; did you mean fourier\?"):
        lifting_learner("fuorier")
