"""Pictures of how well a policy did: success, progress, and where the failures began."""

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kodex.reports.figures.style import (
    BAD,
    GOOD,
    INK,
    MUTED,
    TEXT,
    label,
    panel,
    quantiles,
    shared_legend,
)
from kodex.reports.outcomes import Outcomes

FAILURES_DRAWN = 60  # more lines than that are a stain


class WithInterval(Protocol):
    """A share of episodes, and the ends of its interval."""

    @property
    def rate(self) -> float:
        """The share."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def success_plot(rows: Sequence[tuple[str, WithInterval, bool]]) -> Figure:
    """Draw each (name, rate, is the main one) as a dot on its 95 % interval."""
    names = [_shortened(name) for name, _, _ in reversed(rows)]
    figure, (axes,) = panel(
        0.6 + 0.36 * len(rows),
        left=0.2 + 0.062 * max(map(len, names)),
        right=0.55,
        top=0.1,
    )
    lowest = min(rate.low for _, rate, _ in rows)
    for height, (_, rate, main) in enumerate(reversed(rows)):
        colour = GOOD if main else MUTED
        ends = np.array([rate.low, rate.high]) * 100.0
        axes.plot(ends, [height, height], color=colour, linewidth=3.5, alpha=0.4)
        axes.plot(rate.rate * 100.0, height, "o", color=colour, markersize=6)
        axes.annotate(
            f"{rate.rate:.1%}",
            (1.02, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=TEXT,
            color=INK,
            fontweight="bold" if main else "normal",
        )
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    # The axis begins at zero unless everything is good, when the last per cents are what counts.
    axes.set_xlim(0.0 if lowest < 0.6 else np.floor(lowest * 20.0 - 0.5) * 5.0, 100.5)
    axes.grid(axis="y", visible=False)
    label(axes, x="episodes that succeeded (%)")
    return figure


def progress_plot(
    outcomes: Outcomes, name: str = "progress", expert: Outcomes | None = None
) -> Figure:
    """Draw the progress of episodes over time: successes as a band, failures as lines."""
    figure, (axes,) = panel(2.9)
    steps = np.arange(1, outcomes.progress.shape[1] + 1)
    good = outcomes.progress[outcomes.succeeded]
    failed = outcomes.worst(FAILURES_DRAWN)
    for index, row in enumerate(outcomes.progress[failed]):
        name_it = "failed" if index == 0 else None
        axes.plot(steps, row, color=BAD, linewidth=0.7, alpha=0.7, label=name_it)
    if len(good):
        low, middle, high = quantiles(good, 0.05, 0.5, 0.95)
        axes.fill_between(steps, low, high, color=GOOD, alpha=0.25, linewidth=0)
        axes.plot(steps, middle, color=GOOD, linewidth=1.8, label="succeeded: median, 90 %")
    if expert is not None and np.isfinite(expert.progress).any():
        (middle,) = quantiles(expert.progress, 0.5)
        steps = np.arange(1, len(middle) + 1)
        axes.plot(steps, middle, color=INK, linewidth=1.2, linestyle=":", label="expert")
    label(axes, x="step", y=name)
    shared_legend(figure, axes, columns=3)
    return figure


def start_plot(outcomes: Outcomes) -> Figure:
    """Draw where episodes began, failures as crosses; up to three dimensions of the start."""
    chosen = outcomes.telling_dimensions(3)
    names, values = outcomes.start_names, outcomes.starts
    if len(chosen) == 1:
        figure, (axes,) = panel(2.7)
        _scatter(axes, outcomes, values[:, chosen[0]], outcomes.final_progress)
        label(axes, x=names[chosen[0]], y="progress at the end")
        shared_legend(figure, axes, columns=2)
        return figure
    pairs = list(combinations(chosen, 2))
    figure, all_axes = panel(3.0 if len(pairs) == 1 else 1.85 * len(pairs), len(pairs), gap=0.42)
    for axes, (across, up) in zip(all_axes, pairs, strict=True):
        _scatter(axes, outcomes, values[:, across], values[:, up])
        label(axes, x=names[across], y=names[up])
    shared_legend(figure, all_axes[0], columns=2)
    return figure


def _scatter(axes: Axes, outcomes: Outcomes, across: np.ndarray, up: np.ndarray) -> None:
    good, bad = outcomes.succeeded, ~outcomes.succeeded
    size = 9.0 if len(outcomes) <= 1500 else 3.0
    axes.scatter(across[good], up[good], s=size, color=GOOD, alpha=0.45, linewidths=0)
    axes.scatter(across[bad], up[bad], s=22.0, color=BAD, marker="x", linewidths=1.1)
    axes.collections[0].set_label(f"succeeded ({good.sum()})")
    axes.collections[1].set_label(f"failed ({bad.sum()})")


def _shortened(name: str, length: int = 26) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
