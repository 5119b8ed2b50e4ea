"""The picture of cost and success has every method where its numbers say."""

import numpy as np

from kodex.reports.tradeoff import Method, tradeoff_plot

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
