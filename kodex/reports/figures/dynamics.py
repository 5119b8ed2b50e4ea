"""Pictures of what was learned: references beside demonstrations, their errors, eigenvalues."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from kodex.koopman import Spectrum
from kodex.reports.figures.style import (
    BAD,
    GOOD,
    INK,
    MUTED,
    SERIES,
    hide_x,
    label,
    panel,
    quantiles,
    shared_legend,
)
from kodex.trajectory import Array

MARKERS = "os^"  # told apart by shape as well


def reference_plot(
    names: Sequence[str],
    demonstrated: Sequence[Array],  # (T_i, names) each
    predicted: Sequence[Array],  # (T_i, names) each
    titles: Sequence[str],  # one per demonstration
    x: str = "step",
) -> Figure:
    """Draw a few components of demonstrations (dotted) and of their references (solid)."""
    figure, all_axes = panel(0.9 + 1.05 * len(names), len(names))
    for column, (axes, name) in enumerate(zip(all_axes, names, strict=True)):
        for colour, marker, states, reference, title in zip(
            SERIES, MARKERS, demonstrated, predicted, titles, strict=False
        ):
            steps = np.arange(1, len(states) + 1)
            axes.plot(
                steps,
                reference[:, column],
                color=colour,
                linewidth=1.5,
                marker=marker,
                markersize=3.5,
                markevery=max(1, len(states) // 8),
                label=title,
            )
            axes.plot(steps, states[:, column], color=INK, linewidth=1.0, linestyle=(0, (1, 1.6)))
        axes.set_ylim(*_limits(np.concatenate([states[:, column] for states in demonstrated])))
        label(axes, title=name)
    hide_x(all_axes[:-1])
    label(all_axes[-1], x=x, title=names[-1])
    shared_legend(figure, all_axes[0], columns=len(titles))
    return figure


def horizon_plot(errors: Mapping[str, Array], x: str = "step") -> Figure:
    """Draw the mean and quantiles of errors by step, {what: (episodes, T)}, a panel for each."""
    figure, all_axes = panel(1.25 + 1.45 * len(errors), len(errors), top=0.5)
    for axes, (name, error) in zip(all_axes, errors.items(), strict=True):
        steps = np.arange(1, error.shape[1] + 1)
        low, middle, high = quantiles(error, 0.1, 0.5, 0.9)
        axes.fill_between(steps, low, high, color=GOOD, alpha=0.22, linewidth=0, label="10 to 90 %")
        axes.plot(steps, middle, color=GOOD, linewidth=1.6, label="median")
        axes.plot(steps, _mean(error), color=BAD, linewidth=1.2, linestyle="--", label="mean")
        if np.nanmax(error) > 100.0 * max(float(np.nanmedian(error)), 1e-300):
            axes.set_yscale("log")  # an exploding reference would press all else to the floor
        else:
            axes.set_ylim(bottom=0.0)
        label(axes, title=name)
    hide_x(all_axes[:-1])
    label(all_axes[-1], x=x, title=list(errors)[-1])
    shared_legend(figure, all_axes[0], columns=3)
    return figure


def eigenvalue_plane(spectrum: Spectrum) -> Figure:
    """Draw eigenvalues in the complex plane, with the unit circle that parts growth from decay."""
    figure, (axes,) = panel(3.6)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    axes.plot(np.cos(angle), np.sin(angle), color=MUTED, linewidth=0.8)
    grows = np.arange(len(spectrum.values)) < spectrum.growing  # the largest come first
    for chosen, colour, marker, name in (
        (~grows, GOOD, "o", f"decay or stay ({np.sum(~grows)})"),
        (grows, BAD, "D", f"grow ({np.sum(grows)})"),
    ):
        some = spectrum.values[chosen]
        axes.scatter(
            some.real, some.imag, s=9.0, color=colour, marker=marker, alpha=0.6, linewidths=0
        )
        axes.collections[-1].set_label(name)
    reach = 1.08 * max(1.0, spectrum.radius)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    label(axes, x="real part (per step)", y="imaginary part (per step)")
    shared_legend(figure, axes, columns=2)
    return figure


def eigenvalue_histogram(spectrum: Spectrum) -> Figure:
    """Draw how many eigenvalues have which magnitude."""
    figure, (axes,) = panel(3.6)
    counts, edges = spectrum.histogram(bins=40)
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=GOOD, alpha=0.8)
    axes.axvline(1.0, color=BAD, linewidth=1.0, linestyle="--", label="1: neither grows nor decays")
    label(axes, x="magnitude (per step)", y="eigenvalues (count)")
    shared_legend(figure, axes, columns=1)
    return figure


def _mean(error: Array) -> Array:
    known = np.isfinite(error)
    mean: Array = np.where(known, error, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return mean


def _limits(values: Array) -> tuple[float, float]:
    """Return limits that show the demonstrations whole, and of a runaway reference its begin."""
    low, high = float(values.min()), float(values.max())
    margin = 0.35 * (high - low) or 0.5
    return low - margin, high + margin
