"""Pictures of how learning goes on with more demonstrations, as in the paper's Fig. 4."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from kodex.reports.drawing import SERIES, hide_x, in_decades, label, panel, shared_legend

# what is shown at one number of demonstrations: name -> (middle, low, high)
Point = Mapping[str, tuple[float, float, float]]
Curve = dict[int, Point]
TITLES: Mapping[str, str] = {
    "seconds": "seconds to learn",
    "error": "imitation error",
    "success": "success (%)",
    "thrown_out": "thrown out (%)",
}
COLOURS = (*SERIES, "#d9702b", "#b0455f", "#7a8793", "#b08a2b", "#24303b")
MARKERS = "osD^vP*X"  # told apart by shape as well


def curve_plot(curves: Mapping[str, Curve]) -> Figure:
    """Draw every number that is known of `curves`, {method: {demonstrations: point}}."""
    shown = [
        name
        for name in TITLES
        if any(name in point for curve in curves.values() for point in curve.values())
    ]
    lines = 1 + (len(curves) - 1) // 4
    figure, all_axes = panel(
        0.7 + 1.35 * len(shown), len(shown), left=0.75, top=0.12 + 0.18 * lines, gap=0.16
    )
    for name, axes in zip(shown, all_axes, strict=True):
        for place, (method, curve) in enumerate(curves.items()):
            known = sorted((count, *point[name]) for count, point in curve.items() if name in point)
            if not known:
                continue
            counts, middle, low, high = zip(*known, strict=True)
            colour = COLOURS[place % len(COLOURS)]
            axes.fill_between(counts, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(
                counts,
                middle,
                color=colour,
                linewidth=1.4,
                marker=MARKERS[place % len(MARKERS)],
                markersize=3.5,
                label=method,
            )
        if name == "seconds":
            in_decades(axes, "y")
        last = name == shown[-1]
        label(axes, x="demonstrations" if last else "", y=TITLES[name])
    hide_x(all_axes[:-1])
    most = max(all_axes, key=lambda axes: len(axes.get_lines()))  # a method may lack its seconds
    shared_legend(figure, most, columns=4)
    return figure
