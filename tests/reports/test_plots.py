"""The pictures of a report show the numbers that they were given."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_run import episodes

from kodex.evaluation import Rate, wilson_interval
from kodex.evaluation.analysis import Analysis
from kodex.koopman import Spectrum
from kodex.reports.figures import (
    eigenvalue_histogram,
    eigenvalue_plane,
    horizon_plot,
    png,
    progress_plot,
    reference_plot,
    start_plot,
    success_plot,
)
from kodex.reports.page.dynamics_sections import errors_by_unit, moving_components
from kodex.reports.run import Outcomes
from kodex.trajectory import Start, StateLayout, Trajectory


def outcomes_of(progress, succeeded, starts=None, failures=None):
    """Outcomes of hand-made episodes; `progress` may have rows of different lengths."""
    place_only = StateLayout(robot=("q",), object=())
    starts = [{"a": float(index)} for index in range(len(progress))] if starts is None else starts
    return Outcomes.of(
        Trajectory(
            layout=place_only,
            states=np.zeros((len(row), 1)),
            progress=np.array(row, dtype=float),
            start=Start("door", "in", 0, index, starts[index]),
            succeeded=succeeded[index],
            failure=None if failures is None else failures[index],
        )
        for index, row in enumerate(progress)
    )


def test_a_dot_stands_at_the_rate_and_its_bar_spans_the_interval():
    figure = success_plot([("policy", Rate(90, 100), True)])
    bar, dot = figure.axes[0].lines
    np.testing.assert_allclose(bar.get_xdata(), 100 * np.array(wilson_interval(90, 100)))
    np.testing.assert_allclose(dot.get_xdata(), [90.0])


@pytest.mark.parametrize("successes", [0, 10])
def test_nothing_and_everything_succeeding_can_be_drawn(successes):
    figure = success_plot([("policy", Rate(successes, 10), True)])
    low, high = figure.axes[0].get_xlim()
    assert low <= 10.0 * successes <= high
    assert png(figure).startswith(b"\x89PNG")


def test_each_failure_is_a_line_and_successes_are_their_median():
    outcomes = outcomes_of(
        [[0, 1, 2], [0, 2, 4], [0, 3, 6], [0, 0, 1]], succeeded=[True, True, True, False]
    )
    lines = {line.get_label(): line for line in progress_plot(outcomes).axes[0].lines}
    np.testing.assert_allclose(lines["failed, one by one"].get_ydata(), [0, 0, 1])
    np.testing.assert_allclose(lines["succeeded: median, 90 %"].get_ydata(), [0, 2, 4])


def test_the_threshold_of_success_is_a_line_with_its_unit():
    outcomes = outcomes_of([[0, 1], [0, 2]], succeeded=[False, True])
    axes = progress_plot(outcomes, "angle (rad)", threshold=(1.35, "success: 1.35 rad")).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["success: 1.35 rad"].get_ydata(), 1.35)
    assert axes.get_ylabel() == "angle (rad)"


def test_lines_are_told_apart_without_colour():
    outcomes = outcomes_of([[0, 1], [0, 2]], succeeded=[False, True])
    axes = progress_plot(outcomes, expert=outcomes, threshold=(1.0, "success")).axes[0]
    styles = [line._dash_pattern for line in axes.lines]
    assert len({repr(style) for style in styles}) == len(styles) == 4
    states = [np.arange(20.0)[:, None] + shift for shift in range(3)]
    (axes,) = reference_plot(["q"], states, states, ["best", "median", "worst"]).axes
    assert len({line.get_marker() for line in axes.lines[::2]}) == 3


def test_errors_of_components_with_different_units_are_not_mixed():
    names = StateLayout(robot=("q",), object=("x", "spin"))
    states, reference = np.zeros((4, 3)), np.tile([1.0, 2.0, 30.0], (4, 1))
    analysis = Analysis(names, (states,), (reference,), None)
    units = {"x": "m", "spin": "rad/s"}
    errors = errors_by_unit(analysis, slice(1, None), "object", units.__getitem__)
    assert [error[0, -1] for error in errors.values()] == [2.0, 30.0]
    assert ["(m)" in name or "(rad/s)" in name for name in errors] == [True, True]
    titles = [axes.get_title(loc="left") for axes in horizon_plot(errors, "step (10 ms each)").axes]
    assert titles == list(errors)


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


def test_joints_that_move_most_and_one_of_each_kind_of_object_component_are_shown():
    names = StateLayout(robot=("q0", "q1", "q2"), object=("ball_x", "ball_y", "spin", "goal_x"))
    time = np.linspace(0.0, 1.0, 11)
    still = np.zeros(11)
    one, other = (
        np.stack([still, 3 * time, time, time, time**2, 5 * time, still + goal], axis=1)
        for goal in (1.0, 2.0)
    )
    robot, things = moving_components(names, [one, other], 2)
    assert robot == [1, 2]
    assert {names.names[index] for index in things} in ({"ball_x", "spin"}, {"ball_y", "spin"})


def test_solid_lines_are_references_and_dotted_ones_demonstrations():
    demonstrated, predicted = np.arange(4.0)[:, None], np.arange(4.0)[:, None] + 0.5
    (axes,) = reference_plot(["q"], [demonstrated], [predicted], ["best"]).axes
    solid, dotted = axes.lines
    np.testing.assert_allclose(solid.get_ydata(), predicted[:, 0])
    np.testing.assert_allclose(dotted.get_ydata(), demonstrated[:, 0])


def test_errors_by_horizon_are_drawn_as_median_and_mean():
    growth = np.arange(5.0)
    axes = horizon_plot({"joints": np.outer([1.0, 2.0, 6.0], growth)}).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(lines["median"], 2.0 * growth)
    np.testing.assert_allclose(lines["mean"], 3.0 * growth)


def test_an_exploding_reference_is_drawn_on_a_logarithmic_axis():
    axes = horizon_plot({"joints": np.outer([1.0, 1.0], 10.0 ** np.arange(9))}).axes[0]
    assert axes.get_yscale() == "log"


def test_growing_and_decaying_modes_are_told_apart():
    spectrum = Spectrum(np.array([1.2, -1.1, 1.0, 0.5, 0.2], dtype=complex))
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


def test_the_same_figure_gives_the_same_bytes():
    rows = [("policy", Rate(90, 100), True)]
    assert png(success_plot(rows)) == png(success_plot(rows))


def test_drawing_changes_nothing_global():
    program = (
        "import matplotlib, sys\n"
        # Asking for the backend would choose one.
        "def settings(): return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams "
        "if k != 'backend'}\n"
        "before = settings()\n"
        "from kodex.reports.figures import success_plot\n"
        "from kodex.reports.figures.style import png\n"
        "from kodex.evaluation.scores import Rate\n"
        "png(success_plot([('policy', Rate(90, 100), True)]))\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["$\\frac{$", "a$b$", "$$", "\\alpha"])
def test_a_name_is_drawn_as_it_is_and_never_as_a_formula(name):
    assert png(success_plot([(name, Rate(9, 10), True)])).startswith(b"\x89PNG")
