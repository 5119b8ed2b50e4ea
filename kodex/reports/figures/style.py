"""The look of all figures: one panel per picture, wide enough for half a page or a whole phone.

Figures are made without pyplot, so nothing global changes: no backend, no settings, no figure
that stays open.
"""

import io
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kodex.trajectory import Array

INK = "#24303b"
MUTED = "#7a8793"
FAINT = "#dfe4e8"
GOOD = "#2b7a9b"  # the policy, and what succeeded
BAD = "#d9702b"  # what failed; told apart by shape as well, for readers who cannot see the colour
SERIES = ("#2b7a9b", "#8a5fb0", "#4f8f4a")

WIDTH = 4.0  # inches
DOTS_PER_INCH = 190
TEXT = 8.0  # points
BOTTOM = 0.44  # inches, for what x is


def panel(
    height: float,
    rows: int = 1,
    *,
    left: float = 0.62,
    right: float = 0.14,
    top: float = 0.45,
    gap: float = 0.3,
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure of `rows` axes in the common style; margins are in inches.

    Margins are given because matplotlib's search for them takes as long as all drawing.
    """
    figure = Figure(figsize=(WIDTH, height), dpi=DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    inside = height - top - BOTTOM
    figure.subplots_adjust(
        left=left / WIDTH,
        right=1.0 - right / WIDTH,
        top=1.0 - top / height,
        bottom=BOTTOM / height,
        hspace=gap * rows / (inside - gap * (rows - 1)),  # matplotlib counts in mean axes
    )
    axes = [row[0] for row in figure.subplots(rows, 1, squeeze=False)]
    for one in axes:
        _calm(one)
    return figure, axes


def label(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Write what the axes show."""
    axes.set_xlabel(x, fontsize=TEXT, color=INK)
    axes.set_ylabel(y, fontsize=TEXT, color=INK)
    if title:
        axes.set_title(title, fontsize=TEXT, color=INK, loc="left", pad=4)


def shared_legend(figure: Figure, axes: Axes, columns: int) -> None:
    """Name the lines of `axes` once, above all axes of the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0.02, 1.0),
        borderaxespad=0.2,
        ncols=columns,
        fontsize=TEXT - 0.5,
        frameon=False,
        labelcolor=INK,
        handlelength=1.6,
        columnspacing=1.2,
    )


def quantiles(rows: Array, *shares: float) -> tuple[Array, ...]:
    """Return quantiles of each column of `rows`, (N, T), among the numbers that are known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")  # a column without any stays NaN
        return tuple(np.nanquantile(rows, share, axis=0) for share in shares)


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG file; the same figure gives the same bytes."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a $ in a name is a $
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": "kodex"})
    return buffer.getvalue()


def in_decades(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5 of each power of ten."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def hide_x(axes: Sequence[Axes]) -> None:
    """Leave the numbers of a shared x axis to the lowest of several axes."""
    for one in axes:
        one.tick_params(axis="x", labelbottom=False)


def _calm(axes: Axes) -> None:
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5))
        # Plain numbers: an exponent above the axes would stand in the title's place.
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    axes.tick_params(labelsize=TEXT - 0.5, colors=MUTED, labelcolor=INK, length=2.5, width=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(MUTED)
        spine.set_linewidth(0.6)
