"""Fourier, radial and ReLU features: the laws behind them."""

import numpy as np
import pytest
from scipy import linalg

from kodex.errors import InputError
from kodex.lifting import FourierLearner, RadialLearner, ReluLearner
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=("x",))
UNITS = np.array([1.0, 100.0, 0.01])
CENTRE = np.array([0.0, 50.0, -3.0])
SAMPLE = np.random.default_rng(2).normal(size=(300, 3)) * UNITS + CENTRE
FEATURES = slice(4, None)  # after the state and the constant


def standard(states):
    return (states - SAMPLE.mean(axis=0)) / SAMPLE.std(axis=0)


@pytest.mark.parametrize("scale", [0.5, 1.5, 4.0])
def test_products_of_fourier_features_average_to_the_gaussian_kernel(scale):
    count = 20_000
    lifting = FourierLearner(count=count, scale=scale, seed=7).fit(LAYOUT, SAMPLE)
    waves = lifting.lift(SAMPLE[:30])[:, FEATURES]
    differences = standard(SAMPLE[:30])[:, None] - standard(SAMPLE[:30])
    kernel = np.exp(-(scale**2) * (differences**2).sum(axis=-1) / (2 * LAYOUT.size))
    # A product lies in [-2, 2] with variance at most 3/2: five standard errors of its mean.
    assert np.abs(waves @ waves.T / count - kernel).max() < 5 * np.sqrt(1.5 / count)


def test_the_features_do_not_care_for_units():
    in_other_units = SAMPLE * [10.0, 0.5, 3.0] + [1.0, 2.0, 3.0]
    for learner in (FourierLearner(count=50), RadialLearner(count=50), ReluLearner(count=50)):
        one = learner.fit(LAYOUT, SAMPLE).lift(SAMPLE)[:, FEATURES]
        other = learner.fit(LAYOUT, in_other_units).lift(in_other_units)[:, FEATURES]
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("centres", ["farthest", "random"])
def test_a_radial_feature_is_one_at_its_own_centre_and_less_elsewhere(centres):
    lifting = RadialLearner(count=20, centres=centres).fit(LAYOUT, SAMPLE)
    at_centres = lifting.lift(lifting.centres * lifting.scale + lifting.mean)[:, FEATURES]
    np.testing.assert_allclose(np.diag(at_centres), 1.0, atol=1e-12)
    assert at_centres[~np.eye(20, dtype=bool)].max() < 1.0


def test_a_radial_feature_falls_to_the_gaussian_one_width_away():
    lifting = RadialLearner(count=5, width=0.7).fit(LAYOUT, SAMPLE)
    away = lifting.centres[2] + [0.0, lifting.width, 0.0]
    feature = lifting.lift(away * lifting.scale + lifting.mean)[FEATURES][2]
    assert feature == pytest.approx(np.exp(-0.5), rel=1e-12)


@pytest.mark.parametrize("centres", ["farthest", "random"])
def test_radial_centres_are_different_states_that_were_seen(centres):
    repeated = np.repeat(SAMPLE[:20], 5, axis=0)
    lifting = RadialLearner(count=20, centres=centres).fit(LAYOUT, repeated)
    found = np.sort(lifting.centres * lifting.scale + lifting.mean, axis=0)
    np.testing.assert_allclose(found, np.sort(SAMPLE[:20], axis=0), rtol=1e-12, atol=1e-12)


def test_more_radial_centres_than_different_states_are_refused():
    with pytest.raises(InputError, match=r"21 radial features need .* found 20: lower the count"):
        RadialLearner(count=21).fit(LAYOUT, np.repeat(SAMPLE[:20], 5, axis=0))


def test_farthest_centres_leave_no_state_as_lonely_as_random_ones_do():
    # One far group of 3 among 300: a random choice of 10 mostly misses it, the farthest cannot.
    far = np.concatenate([SAMPLE, CENTRE + UNITS * [[30.0, 0, 0], [30.1, 0, 0], [30.2, 0, 0]]])
    lifting = RadialLearner(count=10, centres="farthest").fit(LAYOUT, far)
    centres = lifting.centres * lifting.scale + lifting.mean
    assert (centres[:, 0] > 29.0).any()


def test_relu_features_are_hinges():
    lifting = ReluLearner(count=40).fit(LAYOUT, SAMPLE)
    features = lifting.lift(SAMPLE)[:, FEATURES]
    np.testing.assert_allclose(
        features, np.maximum(0.0, SAMPLE @ lifting.weights.T + lifting.biases), atol=1e-12
    )
    # max(0, h) - max(0, -h) = h: together with its mirror image a hinge is linear.
    heights = SAMPLE @ lifting.weights.T + lifting.biases
    np.testing.assert_allclose(features - np.maximum(0.0, -heights), heights, atol=1e-12)


def test_hinges_placed_by_data_all_bend_within_it():
    lifting = ReluLearner(count=200, kinks="data").fit(LAYOUT, SAMPLE)
    heights = SAMPLE @ lifting.weights.T + lifting.biases
    np.testing.assert_allclose(np.abs(heights).min(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FourierLearner(count=0), "count of Fourier features must be at least 1; found 0"),
        (lambda: FourierLearner(scale=0.0), "scale of Fourier features must be positive"),
        (lambda: RadialLearner(count=1), "count of radial features must be at least 2"),
        (lambda: RadialLearner(width=np.inf), "width of radial features must be positive"),
        (lambda: RadialLearner(centres="kmeans"), "'farthest' or 'random'; found 'kmeans'"),
        (lambda: ReluLearner(count=-1), "count of ReLU features must be at least 1"),
        (lambda: ReluLearner(kinks="grid"), "'data' or 'random'; found 'grid'"),
    ],
)
def test_senseless_settings_are_refused_when_they_are_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_sensitivity_is_that_of_finite_differences():
    random = np.random.default_rng(3)
    layout = StateLayout(robot=("a", "b"), object=("c",))
    states = random.normal(size=(40, 3)) * [1.0, 0.1, 5.0]
    lifting = FourierLearner(count=25, seed=4).fit(layout, states)
    outputs = random.normal(size=(2, 3 + 1 + 25))
    step = 1e-6 * np.eye(3)
    slopes = np.stack(
        [
            (lifting.lift(states + each) - lifting.lift(states - each)) @ outputs.T / 2e-6
            for each in step
        ],
        axis=-1,
    )  # (samples, m, n)
    expected = np.einsum("smi,smj->ij", slopes, slopes) / len(states)
    np.testing.assert_allclose(lifting.sensitivity(outputs, states), expected, rtol=1e-6)


@pytest.mark.parametrize("units", [1.0, 1000.0])
def test_resampled_features_vary_along_the_one_direction_that_matters(units):
    random = np.random.default_rng(5)
    layout = StateLayout(robot=("a", "b"), object=("c", "d"))
    states = random.normal(size=(4000, 4)) * [1.0, 1.0, units, 1.0]
    along = np.array([0.5, -1.0, 0.25 / units, 0.0])
    learner = FourierLearner(count=300, scale=1.5, seed=6)
    lifting = learner.fit(layout, states)
    wanted = np.sin(states @ along)[:, None]
    outputs = np.linalg.lstsq(lifting.lift(states), wanted)[0].T
    (again,) = learner.resample(lifting, outputs, states)
    scale = states.std(axis=0)
    waves, unit = again.frequencies * scale, along * scale / np.linalg.norm(along * scale)
    share = np.sum((waves @ unit) ** 2) / np.sum(waves**2)
    assert share > 0.95
    np.testing.assert_allclose(np.sum(waves**2) / 300, 1.5**2, rtol=0.2)


@pytest.mark.parametrize("units", [1.0, 1000.0])
def test_features_of_a_position_and_the_one_before_ignore_the_small_velocity_between(units):
    random = np.random.default_rng(8)
    layout = StateLayout(robot=("now", "before"), object=("goal",))
    now, velocity = random.normal(size=4000), 0.03 * random.normal(size=4000)
    states = np.column_stack([now, now - velocity, random.normal(size=4000)]) * units
    # As steep along the velocity as ten times along the way to the goal, which is 33 times as far.
    along = np.array([[1.0, 0.0, -1.0], [10.0, -10.0, 0.0]]) / units
    shares = []
    for spread in (False, True):
        learner = FourierLearner(count=2000, scale=0.5, spread=spread, seed=9)
        lifting = learner.fit(layout, states)
        outputs = np.zeros((2, len(lifting.names)))
        outputs[:, :3] = along
        (resampled,) = learner.resample(lifting, outputs, states)
        waves = resampled.frequencies * states.std(axis=0)
        shares.append(np.sum((waves @ [np.sqrt(0.5), -np.sqrt(0.5), 0.0]) ** 2) / np.sum(waves**2))
        np.testing.assert_allclose(np.sum(waves**2) / 2000, 0.5**2, rtol=0.2)
        # The covariance of the frequencies is that of the equations.
        standard = (states - states.mean(axis=0)) / states.std(axis=0)
        metric = (along * states.std(axis=0)).T @ (along * states.std(axis=0))
        if spread:
            root = linalg.sqrtm(standard.T @ standard / 4000).real
            metric = root @ metric @ root
        found = waves.T @ waves / np.sum(waves**2)
        np.testing.assert_allclose(found, metric / np.trace(metric), atol=0.05)
    steep, spread_out = shares
    assert steep > 0.9
    assert spread_out < 0.1


def test_waves_of_outputs_that_depend_on_nothing_are_drawn_alike_everywhere():
    layout = StateLayout(robot=("a",), object=("b",))
    states = np.random.default_rng(7).normal(size=(50, 2))
    learner = FourierLearner(count=10)
    lifting = learner.fit(layout, states)
    (again,) = learner.resample(lifting, np.zeros((3, 13)), states)
    np.testing.assert_array_equal(again.frequencies, lifting.frequencies)
