"""Curves over the number of demonstrations show every number that is known, and every name."""

from kodex.reports.curves import curve_plot

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
