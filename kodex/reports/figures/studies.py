"""Pictures of a study: what learning costs and brings, and how that grows with demonstrations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from kodex.reports.figures.names import Named, name_dots
from kodex.reports.figures.style import (
    FAINT,
    GOOD,
    MUTED,
    SERIES,
    hide_x,
    in_decades,
    label,
    panel,
    shared_legend,
)

# what is shown at one number of demonstrations: name -> (middle, low, high)
Point = Mapping[str, tuple[float, float, float]]
Curve = dict[int, Point]
TITLES: Mapping[str, str] = {
    "seconds": "time to learn (s)",
    "error": "imitation error\n(rad or m)",
    "success": "success (%)",
    "thrown_out": "thrown out (%)",
}
COLOURS = (*SERIES, "#d9702b", "#b0455f", "#7a8793", "#b08a2b", "#24303b")
MARKERS = "osD^vP*X"  # told apart by shape as well


def curve_plot(curves: Mapping[str, Curve]) -> Figure:
    """Draw every number that is known of `curves`, {method: {demonstrations: point}}.

    One panel per number, as in the paper's Fig. 4.
    """
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
        for index, (method, curve) in enumerate(curves.items()):
            known = sorted((count, *point[name]) for count, point in curve.items() if name in point)
            if not known:
                continue
            counts, middle, low, high = zip(*known, strict=True)
            colour = COLOURS[index % len(COLOURS)]
            axes.fill_between(counts, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(
                counts,
                middle,
                color=colour,
                linewidth=1.4,
                marker=MARKERS[index % len(MARKERS)],
                markersize=3.5,
                label=method,
            )
        if name == "seconds":
            in_decades(axes, "y")
        last = name == shown[-1]
        label(axes, x="demonstrations (count)" if last else "", y=TITLES[name])
    hide_x(all_axes[:-1])
    most = max(all_axes, key=lambda axes: len(axes.get_lines()))  # a method may lack its seconds
    shared_legend(figure, most, columns=4)
    return figure


def sweep_plot(curves: Mapping[str, Mapping[float, tuple[float, ...]]], x: str) -> Figure:
    """Draw success over something that is made harder: {method: {how hard: (rate, low, high)}}.

    Where low and high are not given, there is no band.
    """
    lines = 1 + (len(curves) - 1) // 4
    figure, (axes,) = panel(2.6 + 0.18 * lines, top=0.12 + 0.18 * lines)
    for place, (method, curve) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        steps = sorted(curve)
        if all(len(curve[step]) == 3 for step in steps):
            low, high = ([curve[step][end] for step in steps] for end in (1, 2))
            axes.fill_between(steps, low, high, color=colour, alpha=0.1, linewidth=0)
        axes.plot(
            steps,
            [curve[step][0] for step in steps],
            color=colour,
            linewidth=1.4,
            marker=MARKERS[place % len(MARKERS)],
            markersize=3.5,
            label=method,
        )
    axes.set_ylim(-2.0, 102.0)
    if all(step > 0 for curve in curves.values() for step in curve):
        in_decades(axes, "x")
    label(axes, x=x, y="success (%)")
    shared_legend(figure, axes, columns=4)
    return figure


@dataclass(frozen=True)
class Method:
    """A method's name, seconds to learn, and success in % under each condition, by its name."""

    name: str
    seconds: float
    success: dict[str, float]
    main: bool = False


def tradeoff_plot(methods: Sequence[Method]) -> Figure:
    """Draw success over seconds to learn: one dot per condition, joined per method."""
    figure, (axes,) = panel(3.3, right=0.3)
    conditions = list(dict.fromkeys(name for method in methods for name in method.success))
    for method in methods:
        colour = GOOD if method.main else MUTED
        rates = [method.success[name] for name in conditions if name in method.success]
        axes.plot([method.seconds] * len(rates), rates, color=FAINT, linewidth=2.0, zorder=1)
        for index, name in enumerate(conditions):
            if name in method.success:
                axes.plot(
                    method.seconds,
                    method.success[name],
                    "o",
                    color=colour,
                    markerfacecolor=colour if index == 0 else "white",
                    markersize=5,
                )
    for index, name in enumerate(conditions):
        inside = MUTED if index == 0 else "white"
        axes.plot([], [], "o", color=MUTED, markerfacecolor=inside, markersize=5, label=name)
    in_decades(axes, "x")
    if max(each.seconds for each in methods) > 1000 * min(each.seconds for each in methods):
        axes.xaxis.set_major_locator(LogLocator())  # 1, 10, 100, as more would touch each other
    lowest = min(rate for method in methods for rate in method.success.values())
    axes.set_ylim(max(0.0, lowest - 12.0), 104.0)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0.0 <= tick <= 100.0])
    axes.margins(x=0.1)
    name_dots(axes, [_named(method) for method in methods])
    label(axes, x="time to learn (s)", y="success, mean of the tasks (%)")
    shared_legend(figure, axes, columns=2)
    return figure


def _named(method: Method) -> Named:
    return Named(method.name, method.seconds, tuple(method.success.values()), method.main)
