"""The pictures of a study show every number that is known, where it belongs, and every name."""

import numpy as np
import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from kodex.reports.figures import Method, curve_plot, tradeoff_plot

SUCCESS = {"success": (90.0, 85.0, 94.0)}
WITH_TIME = SUCCESS | {"seconds": (2.0, 2.0, 2.0)}


def test_each_known_number_has_a_panel_and_each_method_a_line_in_order_of_its_counts():
    figure = curve_plot({"ours": {50: WITH_TIME, 10: WITH_TIME}, "theirs": {10: SUCCESS}})
    seconds, success = figure.axes
    assert [line.get_label() for line in seconds.get_lines()] == ["ours"]
    assert [line.get_label() for line in success.get_lines()] == ["ours", "theirs"]
    assert success.get_lines()[0].get_xdata().tolist() == [10, 50]
    assert seconds.get_yscale() == "log"


def test_the_legend_names_a_method_whose_time_is_not_known():
    figure = curve_plot({"ours": {10: WITH_TIME}, "theirs": {10: SUCCESS}})
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours", "theirs"]


OURS = Method("ours", 1.5, {"in": 99.0, "out": 95.0}, main=True)
THEIRS = Method("theirs", 200.0, {"in": 90.0, "out": 70.0})


def test_every_success_is_drawn_over_the_seconds_of_its_method():
    (axes,) = tradeoff_plot([OURS, THEIRS]).axes
    dots = {
        (float(np.ravel(line.get_xdata())[0]), float(np.ravel(line.get_ydata())[0]))
        for line in axes.get_lines()
        if line.get_marker() == "o" and len(np.ravel(line.get_xdata()))
    }
    assert dots == {(1.5, 99.0), (1.5, 95.0), (200.0, 90.0), (200.0, 70.0)}
    assert {text.get_text() for text in axes.texts} == {"ours", "theirs"}
    low, high = axes.get_ylim()
    assert low < 70.0
    assert high > 99.0


def close_to_each_other():
    """Return methods whose names would lie on each other, on dots and on the edges."""
    rates = {"a-method": (1.0, 98.0), "b-method": (1.3, 98.0), "c-method": (1.6, 97.0)}
    rates |= {"d-method": (1.2, 96.0), "far-method": (300.0, 2.0)}
    return [Method(name, x, {"in": y, "out": 0.9 * y}) for name, (x, y) in rates.items()]


def test_no_name_lies_on_a_name_on_a_dot_or_on_an_edge():
    figure = tradeoff_plot(close_to_each_other())
    (axes,) = figure.axes
    figure.canvas.draw()
    names = [Text.get_window_extent(each, figure.canvas.get_renderer()) for each in axes.texts]
    assert len(names) == 5
    lines = [line for line in axes.get_lines() if line.get_marker() == "o"]
    dots = [
        axes.transData.transform((np.ravel(line.get_xdata())[0], np.ravel(line.get_ydata())[0]))
        for line in lines
        if len(np.ravel(line.get_xdata()))
    ]
    assert len(dots) == 10
    for index, name in enumerate(names):
        assert not any(name.overlaps(other) for other in names[index + 1 :])
        assert not any(name.contains(*dot) for dot in dots)
        assert Bbox.intersection(name, axes.bbox).get_points() == pytest.approx(name.get_points())
