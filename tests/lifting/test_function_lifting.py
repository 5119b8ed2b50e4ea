"""A user's own function as a lifting, and what a file may hold of it."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import FunctionLearner, StandardisedLearner, known_functions, restore_lifting
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=("x",))
SAMPLE = np.random.default_rng(8).normal(size=(20, 3))


def gap(states):
    """Return the distance between the robot's two components."""
    return np.abs(states[:, :1] - states[:, 1:2])


def test_its_values_stand_behind_the_state():
    lifting = FunctionLearner(gap, labels=("gap of a and b",), constant=True).fit(LAYOUT, SAMPLE)
    assert lifting.names == ("a", "b", "x", "1", "gap of a and b")
    np.testing.assert_array_equal(lifting.lift(np.array([[5.0, 2.0, 7.0]])), [[5, 2, 7, 1, 3]])


def test_reading_it_back_needs_the_function_and_says_so():
    stored = FunctionLearner(gap).fit(LAYOUT, SAMPLE).stored()
    with pytest.raises(InputError, match=r"'gap', which a file cannot hold.*known_functions\(gap="):
        restore_lifting(stored)
    with known_functions(gap=gap):
        again = restore_lifting(stored)
    assert again.function is gap
    with pytest.raises(InputError, match="cannot hold"):
        restore_lifting(stored)  # the block is over


def test_it_is_found_inside_other_liftings_too():
    fitted = StandardisedLearner(FunctionLearner(gap)).fit(LAYOUT, SAMPLE)
    with known_functions(gap=gap):
        again = restore_lifting(fitted.stored())
    np.testing.assert_array_equal(again.lift(SAMPLE), fitted.lift(SAMPLE))


def test_a_function_that_has_changed_since_is_noticed():
    stored = FunctionLearner(gap).fit(LAYOUT, SAMPLE).stored()
    with (
        known_functions(gap=lambda states: 1.01 * gap(states)),
        pytest.raises(InputError, match="gives other values than when the model was fitted"),
    ):
        restore_lifting(stored)


def test_a_function_cannot_write_into_the_states():
    def overwrite(states):
        states[:] = 0.0
        return states

    with pytest.raises(ValueError, match="read-only"):
        FunctionLearner(overwrite).fit(LAYOUT, SAMPLE)


def test_values_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"must return \(8, features\) values .* shape \(8,\)"):
        FunctionLearner(lambda states: states[:, 0], name="first").fit(LAYOUT, SAMPLE)
    with pytest.raises(InputError, match="has 1 values; found 2 names"):
        FunctionLearner(gap, labels=("one", "two")).fit(LAYOUT, SAMPLE)


def test_labels_that_are_names_of_the_state_are_refused():
    with pytest.raises(InputError, match=r"names that differ .* the state's; found x"):
        FunctionLearner(gap, labels=("x",)).fit(LAYOUT, SAMPLE)


def test_a_function_without_a_name_is_refused():
    with pytest.raises(InputError, match="needs a name to be stored by; found '<lambda>'"):
        FunctionLearner(lambda states: states).fit(LAYOUT, SAMPLE)
