"""A product's name, read as an expression, has the observable's value."""

import re

import numpy as np
import pytest

from kodex.lifting import (
    DelayLearner,
    MonomialsLearner,
    PaperPolynomialLearner,
    StackedLearner,
    StandardisedLearner,
    windows,
)
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("thumb_0", "thumb_1"), object=("x", "y", "z"))
STATES = np.random.default_rng(5).normal(size=(30, 5)) + 0.5
NOW = 20

LEARNERS = {
    **{f"set{number}": PaperPolynomialLearner(number) for number in (1, 2, 3, 4)},
    "monomials": MonomialsLearner(4, constant=True),
    "apart": MonomialsLearner(3, cross_terms=False),
    "delay": DelayLearner(3, PaperPolynomialLearner(3)),
    "standardised": StandardisedLearner(PaperPolynomialLearner(4)),
    "stacked": StackedLearner((PaperPolynomialLearner(3), MonomialsLearner(3, constant=True))),
    "both": StandardisedLearner(DelayLearner(2, MonomialsLearner(2))),
}


def value(name):
    """Return what `name` says at step NOW: `standard(x)[t-1] * y^2` and the like."""
    product = 1.0
    for factor in name.split(" * "):
        match = re.fullmatch(r"(standard\()?([a-z_0-9]+?)\)?(?:\[t-(\d)\])?(?:\^(\d))?", factor)
        standard, component, age, power = match.groups()
        if component == "1":
            continue
        column = STATES[:, LAYOUT.names.index(component)]
        if standard:
            column = (column - column.mean()) / column.std()
        product *= column[NOW - int(age or 0)] ** int(power or 1)
    return product


@pytest.mark.parametrize("name", LEARNERS)
def test_every_name_is_a_true_expression(name):
    lifting = LEARNERS[name].fit(LAYOUT, STATES)
    lifted = lifting.lift(windows(STATES, lifting.window))[NOW]
    expected = [value(each) for each in lifting.names]
    np.testing.assert_allclose(lifted, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_long_table_and_a_short_one_agree_to_the_bit(name):
    lifting = LEARNERS[name].fit(LAYOUT, STATES)
    many = windows(np.tile(STATES, (20, 1)), lifting.window)
    np.testing.assert_array_equal(lifting.lift(many)[:50], lifting.lift(many[:50]))
