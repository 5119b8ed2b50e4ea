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
from kodex.reports.run import Outcomes
from kodex.trajectory import Array

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
    outcomes: Outcomes,
    name: str = "progress",
    expert: Outcomes | None = None,
    *,
    threshold: tuple[float, str] | None = None,  # of success, and its label
    x: str = "step",
) -> Figure:
    """Draw the progress of episodes over time: successes as a band, failures as lines."""
    figure, axes = _over_time(outcomes, outcomes.progress)
    if expert is not None and np.isfinite(expert.progress).any():
        (middle,) = quantiles(expert.progress, 0.5)
        steps = np.arange(1, len(middle) + 1)
        axes.plot(steps, middle, color=INK, linewidth=1.4, linestyle=":", label="expert: median")
    if threshold is not None:
        _line_at(axes, *threshold)
    label(axes, x=x, y=name)
    shared_legend(figure, axes, columns=2)
    return figure


def novelty_plot(outcomes: Outcomes, x: str = "step") -> Figure:
    """Draw what a monitor says over time; above 1 it sounds the alarm."""
    figure, axes = _over_time(outcomes, outcomes.novelty)
    _line_at(axes, 1.0, "alarm: above 1")
    if np.nanmax(outcomes.novelty) > 20.0:
        axes.set_yscale("log")
    label(axes, x=x, y="novelty (share of the limit)")
    shared_legend(figure, axes, columns=2)
    return figure


def _over_time(outcomes: Outcomes, rows: Array) -> tuple[Figure, Axes]:
    """Draw `rows`, (N, T), of successes as a band and of failures as broken lines."""
    figure, (axes,) = panel(3.1, top=0.58)
    steps = np.arange(1, rows.shape[1] + 1)
    for index, row in enumerate(rows[outcomes.worst(FAILURES_DRAWN)]):
        name_it = "failed, one by one" if index == 0 else None
        axes.plot(
            steps, row, color=BAD, linewidth=0.8, linestyle=(0, (4, 1.5)), alpha=0.8, label=name_it
        )
    good = rows[outcomes.succeeded]
    if len(good):
        low, middle, high = quantiles(good, 0.05, 0.5, 0.95)
        axes.fill_between(steps, low, high, color=GOOD, alpha=0.25, linewidth=0)
        axes.plot(steps, middle, color=GOOD, linewidth=2.0, label="succeeded: median, 90 %")
    return figure, axes


def _line_at(axes: Axes, height: float, name: str) -> None:
    axes.axhline(height, color=INK, linewidth=1.0, linestyle="-.", label=name)


def start_plot(
    outcomes: Outcomes, names: Sequence[str] | None = None, progress: str = "progress"
) -> Figure:
    """Draw where episodes began, failures as crosses; up to three dimensions of the start.

    `names` are what to write at the axes: of all dimensions, with their units.
    """
    chosen = outcomes.telling_dimensions(3)
    names, values = names or outcomes.start_names, outcomes.starts
    if len(chosen) == 1:
        figure, (axes,) = panel(2.7)
        _scatter(axes, outcomes, values[:, chosen[0]], outcomes.final_progress)
        label(axes, x=names[chosen[0]], y=f"at the end: {progress}")
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
