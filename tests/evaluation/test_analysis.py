"""Analyses: what dynamics predict of demonstrations, stored so that nobody predicts it again."""

import numpy as np
import pytest

from kodex.controllers import RidgeControllerLearner
from kodex.errors import InputError
from kodex.evaluation.analysis import (
    ALL_UP_TO,
    LARGEST,
    Analysis,
    affordable_spectrum,
    read_analysis,
    write_analysis,
)
from kodex.experts import expert
from kodex.koopman import KoopmanLearner
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import TrackingPolicy
from kodex.storage import Stored, write_model
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("q0", "q1"), object=("o",))
STEP = np.array([[0.9, 0.2, 0.0], [-0.2, 0.9, 0.1], [0.0, 0.0, 0.95]])


def episode(index, steps=20):
    """Return an orbit of a linear system, whose Koopman operator we know."""
    states = np.empty((steps, 3))
    states[0] = np.random.default_rng(index).normal(size=3)
    for t in range(1, steps):
        states[t] = STEP @ states[t - 1]
    return Trajectory(LAYOUT, states, actions=np.zeros((steps - 1, 2)))


@pytest.fixture(scope="module")
def policy():
    shown = [episode(index) for index in range(30)]
    dynamics = KoopmanLearner(lifting=PaperPolynomialLearner(number=1)).fit(shown)
    return TrackingPolicy(dynamics, RidgeControllerLearner().fit(shown))


def test_references_of_a_linear_system_lie_on_its_demonstrations(policy):
    analysis = Analysis.of(policy, [episode(index) for index in range(100, 105)])
    assert analysis.robot_error.shape == (5, 20)
    np.testing.assert_allclose(analysis.robot_error, 0.0, atol=1e-6)
    np.testing.assert_allclose(analysis.object_error, 0.0, atol=1e-6)


def test_demonstrations_of_different_lengths_are_compared_as_far_as_they_go(policy):
    analysis = Analysis.of(policy, [episode(1, steps=7), episode(2)])
    assert [len(reference) for reference in analysis.references] == [7, 20]
    assert np.isfinite(analysis.robot_error).sum(axis=1).tolist() == [7, 20]


def test_best_and_worst_are_by_joint_error():
    states = np.zeros((3, 3))
    off = [states + np.outer([0.0, 1.0, 1.0], [each, each, 0.0]) for each in (2.0, 1.0, 9.0)]
    analysis = Analysis(LAYOUT, (states,) * 3, tuple(off), operator=None)
    assert analysis.best_median_worst() == (1, 0, 2)


def test_an_analysis_comes_back_from_disk_as_it_was(policy, tmp_path):
    made = Analysis.of(policy, [episode(1, steps=7), episode(2)])
    read = read_analysis(write_analysis(tmp_path / "analysis", made))
    assert read.layout == made.layout
    for name in ("states", "references"):
        for ours, theirs in zip(getattr(made, name), getattr(read, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(read.operator.spectrum.values, made.operator.spectrum.values)
    assert (read.operator.observables, read.operator.relift) == (
        made.operator.observables,
        made.operator.relift,
    )


def test_a_policy_without_a_reference_is_stored_without_one(tmp_path):
    read = read_analysis(write_analysis(tmp_path / "a", Analysis.of(expert("door"), [episode(1)])))
    assert read.references is None
    assert read.operator is None


def test_another_model_and_half_an_analysis_are_refused(tmp_path):
    write_model(Stored("tracking"), tmp_path / "policy")
    with pytest.raises(InputError, match="expected an analysis; found 'tracking'"):
        read_analysis(tmp_path / "policy")
    write_model(Stored("analysis", {"robot": ["q"], "object": []}), tmp_path / "half")
    with pytest.raises(InputError, match="not a whole analysis"):
        read_analysis(tmp_path / "half")
    with pytest.raises(InputError, match="needs demonstrations"):
        Analysis.of(object(), [])


def test_of_a_very_large_matrix_the_largest_eigenvalues_are_found():
    size = ALL_UP_TO + 1
    values = affordable_spectrum(np.diag(0.99 ** np.arange(size))).values
    np.testing.assert_allclose(np.abs(values), 0.99 ** np.arange(LARGEST), rtol=1e-8)
    assert len(affordable_spectrum(np.eye(3) * np.nan).values) == 0
