"""Names beside dots: each where it covers no other name, no dot and no edge, if there is room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from kodex.reports.figures.style import INK, MUTED, TEXT

APART = (5.0, 16.0, 27.0)  # points, from a dot's middle to its name; a line leads to the far ones
DOT = 3.0  # points, half of a dot's width
LINE = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 0.0, "shrinkB": 2.0}
Held = tuple[Literal["left", "center", "right"], Literal["top", "center", "bottom"]]
Place = tuple[tuple[float, float], bool, Held]
# from the dots: to which side, whether of the highest dot, and where the text is held
PLACES: tuple[Place, ...] = (
    ((0.0, -1.0), False, ("center", "top")),
    ((0.0, 1.0), True, ("center", "bottom")),
    ((1.0, 0.0), False, ("left", "center")),
    ((-1.0, 0.0), False, ("right", "center")),
    ((1.0, 0.0), True, ("left", "center")),
    ((-1.0, 0.0), True, ("right", "center")),
    ((0.8, -0.8), False, ("left", "top")),
    ((-0.8, -0.8), False, ("right", "top")),
    ((0.8, 0.8), True, ("left", "bottom")),
    ((-0.8, 0.8), True, ("right", "bottom")),
)


@dataclass(frozen=True)
class Named:
    """A name for the dots above each other at `x`."""

    name: str
    x: float
    heights: tuple[float, ...]
    bold: bool = False


def name_dots(axes: Axes, dots: Sequence[Named]) -> None:
    """Write every name beside its dots; the limits of the axes stay as they are from then on."""
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    edges = axes.get_window_extent()
    taken = [_around(axes, each.x, height) for each in dots for height in each.heights]
    for each in dots:
        written = [_write(axes, each, apart, *place) for apart in APART for place in PLACES]
        boxes = [_box(text) for text in written]
        # The first of several that are equally good; outside the axes is as bad as on a dot.
        costs = [sum(_shared(box, other) for other in taken) + _out(box, edges) for box in boxes]
        best = int(np.argmin(np.round(costs, 3)))
        for place, text in enumerate(written):
            if place != best:
                text.remove()
        taken.append(boxes[best])


def _write(
    axes: Axes,
    dots: Named,
    apart: float,
    side: tuple[float, float],
    highest: bool,
    held: Held,
) -> Annotation:
    return axes.annotate(
        dots.name,
        (dots.x, max(dots.heights) if highest else min(dots.heights)),
        xytext=(apart * side[0], apart * side[1]),
        textcoords="offset points",
        ha=held[0],
        va=held[1],
        fontsize=TEXT - 0.5,
        color=INK,
        fontweight="bold" if dots.bold else "normal",
        arrowprops=LINE if apart > APART[0] else None,
        parse_math=False,
    )


def _figure(artist: Artist) -> Figure:
    figure = artist.get_figure(root=True)
    assert figure is not None
    return figure


def _box(name: Annotation) -> Bbox:
    """Return where the letters are, without the line that leads to them."""
    name.get_window_extent()  # puts the letters in their place
    return Text.get_window_extent(name)


def _around(axes: Axes, x: float, y: float) -> Bbox:
    middle = np.asarray(axes.transData.transform((x, y)))
    half = DOT * _figure(axes).dpi / 72.0
    return Bbox([middle - half, middle + half])


def _shared(one: Bbox, other: Bbox) -> float:
    """Return the area that two boxes share."""
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else both.width * both.height


def _out(box: Bbox, edges: Bbox) -> float:
    """Return the area of `box` outside `edges`."""
    return box.width * box.height - _shared(box, edges)
