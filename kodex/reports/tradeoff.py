"""A picture of what learning costs and what it brings, a method a row."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from kodex.reports.drawing import (
    FAINT,
    GOOD,
    INK,
    MUTED,
    TEXT,
    in_decades,
    label,
    panel,
    shared_legend,
)


@dataclass(frozen=True)
class Method:
    """A method's name, seconds to learn, and success in % under each condition, by its name."""

    name: str
    seconds: float
    success: dict[str, float]
    main: bool = False


def tradeoff_plot(methods: Sequence[Method]) -> Figure:
    """Draw success over seconds to learn: one dot a condition, joined for each method."""
    figure, (axes,) = panel(3.3, right=0.3)
    conditions = list(dict.fromkeys(name for method in methods for name in method.success))
    for method in methods:
        colour = GOOD if method.main else MUTED
        rates = [method.success[name] for name in conditions if name in method.success]
        axes.plot([method.seconds] * len(rates), rates, color=FAINT, linewidth=2.0, zorder=1)
        for place, name in enumerate(conditions):
            if name in method.success:
                axes.plot(
                    method.seconds,
                    method.success[name],
                    "o",
                    color=colour,
                    markerfacecolor=colour if place == 0 else "white",
                    markersize=5,
                )
        axes.annotate(
            method.name,
            (method.seconds, min(rates)),
            xytext=(0, -5),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=TEXT - 0.5,
            color=INK,
            fontweight="bold" if method.main else "normal",
        )
    for place, name in enumerate(conditions):
        inside = MUTED if place == 0 else "white"
        axes.plot([], [], "o", color=MUTED, markerfacecolor=inside, markersize=5, label=name)
    in_decades(axes, "x")
    lowest = min(rate for method in methods for rate in method.success.values())
    axes.set_ylim(max(0.0, lowest - 12.0), 102.0)
    label(axes, x="seconds to learn", y="success, mean of the tasks (%)")
    shared_legend(figure, axes, columns=2)
    return figure
