"""The lifted observer: its gain against known answers, and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_systems import LIFTING_LEARNERS, ROTATION, identity, linear_demonstrations
from scipy import linalg

from kodex.controllers import RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import DynamicsLearner, ReferenceDynamics
from kodex.koopman import (
    KoopmanDynamics,
    KoopmanLearner,
    ObserverDynamics,
    ObserverLearner,
    Ridge,
    load,
    residual_covariance,
    steady_state_gain,
)
from kodex.lifting import MonomialsLearner, PaperPolynomialLearner
from kodex.policies import TrackingPolicy
from kodex.policies import load as load_policy
from kodex.policies.recipes import recipe
from kodex.trajectory import Trajectory

DEMONSTRATIONS = linear_demonstrations(0.97 * ROTATION, count=8, steps=15, noise=0.02)
FIRST = np.array([[0.3, -0.2], [1.0, 2.0], [-0.7, 0.1]])


@pytest.fixture(
    scope="module",
    params=LIFTING_LEARNERS,
    ids=lambda learner: type(learner).__name__,
)
def learner(request):
    return KoopmanLearner(lifting=request.param, solver=Ridge(1e-4))


@pytest.fixture(scope="module")
def observer(learner):
    return ObserverLearner(learner, noise=1.0).fit(DEMONSTRATIONS)


def random_system(seed, observables=6, components=3, radius=0.95):
    """Return K, C, Q and R; Q has rank `observables` - 2."""
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((observables, observables))
    matrix *= radius / np.abs(linalg.eigvals(matrix)).max()
    recovery = random.standard_normal((components, observables))
    root = random.standard_normal((observables, observables - 2))
    return matrix, recovery, root @ root.T, np.diag(random.uniform(0.1, 1.0, components))


def gain_of(covariance, recovery, measurement):
    """Return the Kalman gain of the covariance before a measurement."""
    innovation = recovery @ covariance @ recovery.T + measurement
    return np.linalg.solve(innovation, recovery @ covariance).T


def simulated(system, steps, seed=0):
    """Return noisy measurements of z' = K z + w from z = 0, (steps, n), and z, (steps, p)."""
    matrix, recovery, process, measurement = system
    random = np.random.default_rng(seed)
    moved = random.multivariate_normal(np.zeros(len(matrix)), process, steps, method="eigh")
    lifted = np.zeros((steps, len(matrix)))
    for t in range(1, steps):
        lifted[t] = matrix @ lifted[t - 1] + moved[t]
    noise = random.multivariate_normal(np.zeros(len(recovery)), measurement, steps, method="eigh")
    return lifted @ recovery.T + noise, lifted


def corrected(dynamics, measured):
    """Return the references for each of `measured`, (steps, episodes, n), by begin and step."""
    memory, references = dynamics.begin(measured[0]), []
    for seen in measured:
        reference, memory, *_ = dynamics.step(memory, seen)
        references.append(reference)
    return np.array(references)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32), radius=st.sampled_from([0.3, 0.95, 1.05]))
def test_the_gain_is_that_of_the_riccati_equation(seed, radius):
    matrix, recovery, process, measurement = random_system(seed, radius=radius)
    covariance = linalg.solve_discrete_are(matrix.T, recovery.T, process, measurement)
    np.testing.assert_allclose(
        steady_state_gain(matrix, recovery, process, measurement),
        gain_of(covariance, recovery, measurement),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("multiple", [0.0, 0.5, 0.99, 1.0, 1.2])
@pytest.mark.parametrize("measurement", [1e-6, 0.5, 100.0])
def test_one_dimension_has_the_gain_of_the_quadratic_equation(multiple, measurement):
    # p = k² p r / (p + r) + q, so p² + p (r - k² r - q) - q r = 0.
    process = 0.3
    half = 0.5 * (measurement - multiple**2 * measurement - process)
    variance = -half + np.sqrt(half**2 + process * measurement)
    gain = steady_state_gain(
        *(np.array([[value]]) for value in (multiple, 1.0, process, measurement))
    )
    np.testing.assert_allclose(gain, [[variance / (variance + measurement)]], rtol=1e-9)


def test_the_gain_repeats_itself_in_the_filter_even_if_nothing_is_regular():
    # A K of rank 3, noise of rank 2, and one of two measurements exact: none has an inverse.
    random = np.random.default_rng(0)
    matrix = random.standard_normal((6, 3)) @ random.standard_normal((3, 6))
    matrix *= 0.9 / np.abs(linalg.eigvals(matrix)).max()
    recovery, root = random.standard_normal((2, 6)), random.standard_normal((6, 2))
    process, measurement = root @ root.T, np.diag([0.0, 0.5])
    covariance = process
    for _ in range(500):
        gain = gain_of(covariance, recovery, measurement)
        covariance = matrix @ (covariance - gain @ recovery @ covariance) @ matrix.T + process
    found = steady_state_gain(matrix, recovery, process, measurement)
    np.testing.assert_allclose(found, gain_of(covariance, recovery, measurement), atol=1e-9)
    np.testing.assert_allclose((recovery @ found)[0], [1.0, 0.0], atol=1e-9)


def test_exact_measurements_of_all_that_noise_moves_leave_nothing_to_settle():
    # Two numbers are moved along one direction, and its sum is seen: what is left over is known,
    # though without the noise it would grow.
    matrix, recovery = np.array([[1.0, 3.0], [0.0, 2.0]]), np.array([[1.0, 1.0]])
    direction = np.array([[1.0], [0.5]])
    gain = steady_state_gain(matrix, recovery, direction @ direction.T, np.zeros((1, 1)))
    np.testing.assert_allclose(gain, direction / 1.5, atol=1e-12)


def test_a_constant_that_noise_never_moves_is_never_corrected():
    # The state takes a step of the constant's size: [x, 1]' = [[1, 0.1], [0, 1]] [x, 1].
    matrix, recovery = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    gain = steady_state_gain(matrix, recovery, np.diag([0.3, 0.0]), np.array([[0.2]]))
    assert 0.0 < gain[0, 0] < 1.0
    assert gain[1, 0] == 0.0


def test_components_that_never_differ_from_their_prediction_are_not_used():
    gain = steady_state_gain(0.5 * np.eye(2), np.eye(2), np.diag([1.0, 0.0]), np.zeros((2, 2)))
    np.testing.assert_allclose(gain, np.diag([1.0, 0.0]), atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(units=st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6))
def test_the_units_of_observables_do_not_matter(units):
    matrix, recovery, process, measurement = random_system(seed=1)
    units = np.array(units)
    gain = steady_state_gain(
        matrix * units[:, None] / units,
        recovery / units,
        process * np.outer(units, units),
        measurement,
    )
    expected = steady_state_gain(matrix, recovery, process, measurement)
    np.testing.assert_allclose(gain / units[:, None], expected, rtol=1e-6, atol=1e-9)


def test_other_gains_have_larger_innovations():
    matrix, lifting = 0.95 * ROTATION, identity()
    system = (matrix, lifting.recovery, np.diag([0.5, 0.2]), np.diag([0.3, 0.8]))
    measured, lifted = simulated(system, steps=20_000)
    optimal = steady_state_gain(*system)
    innovation, error = [], []
    for factor in (0.5, 1.0, 1.5):
        observer = ObserverDynamics(KoopmanDynamics(lifting, matrix), factor * optimal)
        predicted = corrected(observer, measured[:, None])[:-1, 0]
        innovation.append(np.mean((measured[1:] - predicted) ** 2))
        error.append(np.mean((lifted[1:] - predicted) ** 2))
    assert innovation[1] < min(innovation[0], innovation[2])
    assert error[1] < min(error[0], error[2])


def test_innovations_have_the_variance_that_the_filter_expects():
    matrix, recovery, process, measurement = system = random_system(seed=4)
    covariance = linalg.solve_discrete_are(matrix.T, recovery.T, process, measurement)
    gain = steady_state_gain(*system)
    measured, _ = simulated(system, steps=20_000)
    lifted, innovations = np.zeros(len(matrix)), []
    for seen in measured:
        innovations.append(seen - recovery @ lifted)
        lifted = matrix @ (lifted + gain @ innovations[-1])
    found = np.cov(np.array(innovations[100:]).T)
    expected = recovery @ covariance @ recovery.T + measurement
    np.testing.assert_allclose(found, expected, atol=0.05 * np.diag(expected).max())


def test_without_a_gain_it_is_the_open_loop(learner):
    dynamics = learner.fit(DEMONSTRATIONS)
    observer = ObserverDynamics(dynamics, np.zeros(dynamics.lifting.recovery.T.shape))
    measured = np.random.default_rng(0).standard_normal((30, *FIRST.shape))
    measured[0] = FIRST
    np.testing.assert_allclose(
        corrected(observer, measured), corrected(dynamics, measured), rtol=1e-12, atol=1e-12
    )


def test_much_noise_comes_close_to_the_open_loop(learner):
    observer = ObserverLearner(learner, noise=1e12).fit(DEMONSTRATIONS)
    measured = np.random.default_rng(0).standard_normal((10, *FIRST.shape))
    measured[0] = FIRST
    open_loop = observer.predict(FIRST, 11)[:, 1:].swapaxes(0, 1)
    np.testing.assert_allclose(corrected(observer, measured), open_loop, atol=1e-4)


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_without_noise_the_recovered_state_is_the_measured_one(learner, noise):
    observer = ObserverLearner(learner, noise=noise).fit(DEMONSTRATIONS)
    recovery = observer.dynamics.lifting.recovery
    np.testing.assert_allclose(recovery @ observer.gain, np.eye(2), atol=1e-8)


def test_with_the_state_alone_as_observables_no_noise_is_lifting_anew():
    demonstrations = linear_demonstrations(ROTATION, 8, 15, noise=0.02)
    observer = ObserverLearner(KoopmanLearner(MonomialsLearner(1)), noise=0.0).fit(demonstrations)
    relifting = KoopmanDynamics(
        observer.dynamics.lifting, observer.dynamics.matrix, relift=True, feedback=1.0
    )
    measured = np.random.default_rng(0).standard_normal((10, *FIRST.shape))
    np.testing.assert_allclose(
        corrected(observer, measured), corrected(relifting, measured), atol=1e-10
    )


def test_predict_is_the_open_loop(observer):
    np.testing.assert_array_equal(observer.predict(FIRST, 12), observer.dynamics.predict(FIRST, 12))


def test_where_predictions_come_true_nothing_is_corrected(observer):
    references = observer.predict(FIRST, 12)
    np.testing.assert_allclose(
        corrected(observer, references.swapaxes(0, 1))[:-1],
        references[:, 1:].swapaxes(0, 1),
        atol=1e-9,
    )


def test_many_episodes_at_once_are_as_one_by_one(observer):
    measured = np.random.default_rng(0).standard_normal((6, *FIRST.shape))
    together = corrected(observer, measured)
    for episode in range(len(FIRST)):
        alone = corrected(observer, measured[:, [episode]])
        np.testing.assert_allclose(together[:, [episode]], alone, rtol=1e-12, atol=1e-12)


def test_the_memory_of_an_episode_is_a_value(observer):
    memory = observer.begin(FIRST)
    first, _ = observer.step(memory, FIRST + 0.1)
    again, _ = observer.step(memory, FIRST + 0.1)
    np.testing.assert_array_equal(first, again)


def test_it_fits_the_interfaces(learner, observer):
    assert isinstance(observer, ReferenceDynamics)
    learned: DynamicsLearner = ObserverLearner(learner)
    assert learned.fit(DEMONSTRATIONS).layout == DEMONSTRATIONS[0].layout


def test_the_residual_covariance_weighs_demonstrations_alike_and_needs_no_more_memory_at_a_time():
    long, short = linear_demonstrations(ROTATION, 1, 40, seed=1), DEMONSTRATIONS[:1]
    trajectories = [each.states for each in (*long, *short)]
    dynamics = KoopmanDynamics(identity(), 0.9 * ROTATION)
    residuals = [states[1:] - 0.9 * states[:-1] @ ROTATION.T for states in trajectories]
    expected = np.mean([rows.T @ rows / len(rows) for rows in residuals], axis=0)
    for chunk_rows in (None, 2, 7):
        found = residual_covariance(dynamics, trajectories, chunk_rows=chunk_rows)
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_a_policy_with_it_comes_back_bit_for_bit(tmp_path, observer):
    random = np.random.default_rng(0)
    acted = [
        Trajectory(each.layout, each.states, actions=random.standard_normal((14, 1)))
        for each in DEMONSTRATIONS
    ]
    policy = TrackingPolicy(observer, RidgeControllerLearner().fit(acted))
    loaded = load_policy(policy.save(tmp_path / "policy"))
    assert isinstance(loaded.dynamics, ObserverDynamics)
    np.testing.assert_array_equal(loaded.dynamics.gain, observer.gain)
    measured = random.standard_normal((5, *FIRST.shape))
    np.testing.assert_array_equal(corrected(loaded, measured), corrected(policy, measured))
    np.testing.assert_array_equal(load(tmp_path / "policy").matrix, observer.dynamics.matrix)


def test_the_recipe_keeps_its_observer_when_its_lifting_is_changed():
    changed = recipe("observer").changed(lifting="set2").learner.dynamics
    assert isinstance(changed, ObserverLearner)
    assert changed.learner.lifting == PaperPolynomialLearner(2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ObserverLearner(noise=-1.0), "from 0 on"),
        (lambda: ObserverLearner(noise=float("nan")), "from 0 on"),
        (lambda: ObserverLearner(KoopmanLearner(relift=True)), "without relift"),
        (
            lambda: ObserverDynamics(KoopmanDynamics(identity(), ROTATION), np.zeros((3, 2))),
            r"gain must be \(2, 2\)",
        ),
        (
            lambda: ObserverDynamics(KoopmanDynamics(identity(), ROTATION, True), np.eye(2)),
            "without relift",
        ),
        (
            lambda: steady_state_gain(ROTATION, np.eye(2)[:1], np.eye(2), np.eye(2)),
            r"K, Q and R must be \(\(2, 2\), \(2, 2\), \(1, 1\)\)",
        ),
        (lambda: ObserverLearner().fit([]), "nothing to learn from"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
