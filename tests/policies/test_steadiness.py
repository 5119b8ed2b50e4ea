"""A policy whose actions a small displacement changes by much is exchanged for a steadier one."""

import numpy as np

from kodex.least_squares import Ridge
from kodex.lifting import MonomialsLearner
from kodex.policies.selection import Selected, Tried
from kodex.policies.steadiness import BESIDE, FRAGILE, changed, steadied
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=())
LINEAR = MonomialsLearner(degree=1, constant=True).fit(LAYOUT, np.zeros((1, 2)))
RIDGES = (Ridge(1e-3), Ridge(1e-1))
SAMPLE = np.random.default_rng(0).normal(size=(20_000, 2))
VARIANCE = np.ones(1)


def outputs(*slopes):
    """Return D of actions a(x) = slope · x₁, (ridges, 1, observables)."""
    at = LINEAR.names.index("a")
    found = np.zeros((len(slopes), 1, len(LINEAR.names)))
    found[:, 0, at] = slopes
    return found


def tried(errors, slopes, taken=0):
    selected = Selected(LINEAR, RIDGES[taken], min(errors))
    return Tried(selected, np.array(errors), outputs(*slopes))


def chosen(*candidates):
    return steadied(candidates[0].selected, candidates, RIDGES, SAMPLE, VARIANCE)


def test_a_linear_policy_changes_by_its_slope_times_the_displacement():
    random = np.random.default_rng(1)
    beside = SAMPLE + BESIDE * random.standard_normal(SAMPLE.shape)
    found = changed(LINEAR, outputs(2.0, 8.0), SAMPLE, beside, VARIANCE)
    np.testing.assert_allclose(found, [(2.0 * BESIDE) ** 2, (8.0 * BESIDE) ** 2], rtol=0.05)


def test_an_action_that_never_changes_does_not_count():
    beside = SAMPLE + BESIDE
    twice = np.concatenate([outputs(2.0, 8.0)] * 2, axis=1)
    np.testing.assert_allclose(
        changed(LINEAR, twice, SAMPLE, beside, np.array([1.0, 0.0])),
        changed(LINEAR, outputs(2.0, 8.0), SAMPLE, beside, VARIANCE),
    )


def test_what_changes_little_stays_as_it_was_selected():
    slope = 0.9 * np.sqrt(FRAGILE) / BESIDE
    calm = tried([0.06, 0.07], [slope, 0.0])
    assert chosen(calm) is calm.selected


def test_what_is_fragile_gives_way_to_the_least_sum_of_error_and_change():
    slope = 1.2 * np.sqrt(FRAGILE) / BESIDE
    fragile = tried([0.06, 0.09], [slope, slope / 3.0])
    found = chosen(fragile)
    assert found.ridge is RIDGES[1]
    assert found.error == 0.09
    worse = tried([0.06, 0.9], [slope, 0.0])  # steady, and wrong
    assert chosen(worse).ridge is RIDGES[0]


def test_another_lifting_is_taken_if_it_errs_least_beside():
    slope = 1.2 * np.sqrt(FRAGILE) / BESIDE
    other = MonomialsLearner(degree=1, constant=True).fit(LAYOUT, np.zeros((1, 2)))
    fragile = tried([0.06, 0.3], [slope, slope])
    smoother = Tried(Selected(other, RIDGES[0], 0.08), np.array([0.08, 0.2]), outputs(1.0, 0.5))
    assert chosen(fragile, smoother).lifting is other
