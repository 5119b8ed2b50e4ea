"""The pictures of a report show the numbers that they were given."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_run import episodes, fitted_dynamics, layout

from kodex.demonstrations import TrajectorySet
from kodex.koopman import Spectrum
from kodex.reports.drawing import png
from kodex.reports.dynamics_plots import (
    eigenvalue_histogram,
    eigenvalue_plane,
    horizon_plot,
    reference_plot,
)
from kodex.reports.learned import Predictions, moving_components
from kodex.reports.outcomes import Outcomes
from kodex.reports.plots import progress_plot, start_plot, success_plot
from kodex.reports.results import Rate
from kodex.reports.spectrum import ALL_UP_TO, LARGEST, affordable_spectrum
from kodex.trajectory import Start, StateLayout, Trajectory


def outcomes_of(progress, succeeded, starts=None, failures=None):
    """Outcomes of hand-made episodes; `progress` may have rows of different lengths."""
    place_only = StateLayout(robot=("q",), object=())
    starts = [{"a": float(place)} for place in range(len(progress))] if starts is None else starts
    return Outcomes.of(
        Trajectory(
            layout=place_only,
            states=np.zeros((len(row), 1)),
            progress=np.array(row, dtype=float),
            start=Start("door", "in", 0, place, starts[place]),
            succeeded=succeeded[place],
            failure=None if failures is None else failures[place],
        )
        for place, row in enumerate(progress)
    )


def test_a_dot_stands_at_the_rate_and_its_bar_spans_the_interval():
    figure = success_plot([("policy", Rate(0.9, 0.8, 0.95, 100), True)])
    bar, dot = figure.axes[0].lines
    np.testing.assert_allclose(bar.get_xdata(), [80.0, 95.0])
    np.testing.assert_allclose(dot.get_xdata(), [90.0])


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_nothing_and_everything_succeeding_can_be_drawn(rate):
    figure = success_plot([("policy", Rate(rate, rate, rate, 10), True)])
    low, high = figure.axes[0].get_xlim()
    assert low <= 100.0 * rate <= high
    assert png(figure).startswith(b"\x89PNG")


def test_each_failure_is_a_line_and_successes_are_their_median():
    outcomes = outcomes_of(
        [[0, 1, 2], [0, 2, 4], [0, 3, 6], [0, 0, 1]], succeeded=[True, True, True, False]
    )
    lines = {line.get_label(): line for line in progress_plot(outcomes).axes[0].lines}
    np.testing.assert_allclose(lines["failed"].get_ydata(), [0, 0, 1])
    np.testing.assert_allclose(lines["succeeded: median, 90 %"].get_ydata(), [0, 2, 4])


def test_an_episode_that_ended_early_ends_with_its_last_number():
    outcomes = outcomes_of([[0, 5], [0, 1, 2]], succeeded=[False, True])
    np.testing.assert_allclose(outcomes.final_progress, [5, 2])


@given(
    final=st.lists(st.floats(0.1, 10.0), min_size=3, max_size=12, unique=True),
    share=st.integers(1, 2),
)
@settings(deadline=None, max_examples=30)
def test_the_worst_failures_are_the_same_whether_progress_is_counted_up_or_down(final, share):
    ordered = sorted(final)
    succeeded = [value >= ordered[-share] for value in final]
    up = outcomes_of([[0.0, value] for value in final], succeeded)
    down = outcomes_of([[0.0, -value] for value in final], succeeded)
    assert up.more_is_better and not down.more_is_better
    expected = [final.index(value) for value in ordered[:-share]]
    assert up.worst(100).tolist() == expected == down.worst(100).tolist()


def test_episodes_that_broke_off_are_the_worst_failures():
    outcomes = outcomes_of(
        [[0, 0.1], [0, 0.9], [0, 2]],
        succeeded=[False, False, True],
        failures=[None, "diverged", None],
    )
    assert outcomes.worst(5).tolist() == [1, 0]


def test_the_dimensions_shown_are_those_in_which_failures_differ():
    rng = np.random.default_rng(3)
    values = rng.uniform(-1.0, 1.0, (300, 5))
    fails = (values[:, 1] > 0.8) | (values[:, 4] < -0.8)
    starts = [dict(zip("abcde", row, strict=True)) for row in values.tolist()]
    outcomes = outcomes_of([[0, 1]] * 300, succeeded=(~fails).tolist(), starts=starts)
    assert outcomes.telling_dimensions(2) == (1, 4)


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")])
def test_starts_of_any_dimension_show_every_failure_as_a_cross(names):
    outcomes = Outcomes.of(episodes(40, start_names=names, fail=0.3))
    for axes in start_plot(outcomes).axes:
        good, bad = axes.collections
        assert len(good.get_offsets()) == outcomes.succeeded.sum()
        assert len(bad.get_offsets()) == (~outcomes.succeeded).sum() > 0


def test_references_of_a_linear_system_lie_on_its_demonstrations():
    demonstrations = episodes(25, seed=1)
    dynamics = fitted_dynamics(demonstrations[:20])
    predictions = Predictions.of(dynamics.predict, demonstrations[20:])
    assert predictions.robot_error.shape == (5, 20)
    np.testing.assert_allclose(predictions.robot_error, 0.0, atol=1e-6)
    np.testing.assert_allclose(predictions.object_error, 0.0, atol=1e-6)


def test_demonstrations_of_different_lengths_are_compared_as_far_as_they_go():
    demonstrations = episodes(25, seed=1)
    short = Trajectory(layout=layout(), states=demonstrations[20].states[:7])
    dynamics = fitted_dynamics(demonstrations[:20])
    predictions = Predictions.of(dynamics.predict, TrajectorySet([short, demonstrations[21]]))
    assert [len(reference) for reference in predictions.references] == [7, 20]
    assert np.isfinite(predictions.robot_error).sum(axis=1).tolist() == [7, 20]


def test_best_and_worst_are_by_joint_error():
    states = np.zeros((3, 2))
    demonstrations = TrajectorySet(
        [Trajectory(layout=StateLayout(robot=("q",), object=("o",)), states=states)] * 3
    )
    error = np.array([[0, 2, 2], [0, 1, 1], [0, 9, 9]], dtype=float)
    predictions = Predictions(demonstrations, (states,) * 3, error, error)
    assert predictions.best_middle_worst() == (1, 0, 2)


def test_joints_that_move_most_and_one_of_each_kind_of_object_component_are_shown():
    names = StateLayout(robot=("q0", "q1", "q2"), object=("ball_x", "ball_y", "spin", "goal_x"))
    time = np.linspace(0.0, 1.0, 11)
    still = np.zeros(11)
    one, other = (
        np.stack([still, 3 * time, time, time, time**2, 5 * time, still + goal], axis=1)
        for goal in (1.0, 2.0)
    )
    demonstrations = TrajectorySet([Trajectory(names, one), Trajectory(names, other)])
    robot, things = moving_components(demonstrations, 2)
    assert robot == [1, 2]
    assert {names.names[place] for place in things} in ({"ball_x", "spin"}, {"ball_y", "spin"})


def test_solid_lines_are_references_and_dotted_ones_demonstrations():
    demonstrated, predicted = np.arange(4.0)[:, None], np.arange(4.0)[:, None] + 0.5
    (axes,) = reference_plot(["q"], [demonstrated], [predicted], ["best"]).axes
    solid, dotted = axes.lines
    np.testing.assert_allclose(solid.get_ydata(), predicted[:, 0])
    np.testing.assert_allclose(dotted.get_ydata(), demonstrated[:, 0])


def test_errors_by_horizon_are_drawn_as_median_and_mean():
    growth = np.arange(5.0)
    axes = horizon_plot(np.outer([1.0, 2.0, 6.0], growth), "joints").axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["median"], 2.0 * growth)
    np.testing.assert_allclose(lines["mean"], 3.0 * growth)


def test_an_exploding_reference_is_drawn_on_a_logarithmic_axis():
    axes = horizon_plot(np.outer([1.0, 1.0], 10.0 ** np.arange(9)), "joints").axes[0]
    assert axes.get_yscale() == "log"


def test_growing_and_decaying_modes_are_told_apart():
    spectrum = affordable_spectrum(np.diag([1.2, -1.1, 0.5, 0.2, 1.0]))
    axes = eigenvalue_plane(spectrum).axes[0]
    stay, grow = axes.collections
    assert (stay.get_label(), grow.get_label()) == ("decay or stay (3)", "grow (2)")
    np.testing.assert_allclose(sorted(grow.get_offsets()[:, 0]), [-1.1, 1.2])


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
@settings(deadline=None, max_examples=15)
def test_the_histogram_counts_every_eigenvalue_once(magnitudes):
    values = np.sort(np.array(magnitudes))[::-1].astype(complex)
    axes = eigenvalue_histogram(Spectrum(values)).axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == len(values)


def test_of_a_very_large_matrix_the_largest_eigenvalues_are_found():
    size = ALL_UP_TO + 1
    values = affordable_spectrum(np.diag(0.99 ** np.arange(size))).values
    np.testing.assert_allclose(np.abs(values), 0.99 ** np.arange(LARGEST), rtol=1e-8)


def test_the_same_figure_gives_the_same_bytes():
    rows = [("policy", Rate(0.9, 0.8, 0.95, 100), True)]
    assert png(success_plot(rows)) == png(success_plot(rows))


def test_drawing_changes_nothing_global():
    program = (
        "import matplotlib, sys\n"
        # Asking for the backend would choose one.
        "def settings(): return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams "
        "if k != 'backend'}\n"
        "before = settings()\n"
        "from kodex.reports.plots import success_plot\n"
        "from kodex.reports.drawing import png\n"
        "from kodex.reports.results import Rate\n"
        "png(success_plot([('policy', Rate(0.9, 0.8, 0.95, 100), True)]))\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
