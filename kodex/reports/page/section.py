"""A part of the page: what was found in a sentence, pictures of it, and perhaps a table.

Its HTML cannot be injected into. It is built from `element(...)` calls, and whatever is not
`Markup` is text from somewhere, perhaps from a file that a stranger sent, and is escaped on its way
in.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Self

from matplotlib.figure import Figure

from kodex.reports.figures.style import png

VOID: Final = frozenset({"img", "link", "meta", "source"})  # tags that hold nothing


class Markup(str):
    """A piece of finished HTML."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """Return `tag` around `children`; an attribute's trailing `_` is dropped, `_` inside is `-`."""
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value, quote=True)}"'
        for name, value in attributes.items()
    )
    if tag in VOID:
        return Markup(f"<{tag}{words}>")
    return Markup(f"<{tag}{words}>{together(*children)}</{tag}>")


def together(*children: str) -> Markup:
    """Return `children` one after the other, as markup."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(child, quote=False) for child in children
        )
    )


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Markup:
    """Return a table whose first row names the columns; it scrolls sideways on a small screen."""
    head = element("tr", *(element("th", name, scope="col") for name in header))
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element(
        "div",
        element("table", element("thead", head), element("tbody", *body)),
        class_="scroll",
        tabindex="0",  # so that the keyboard can scroll it too
    )


HERE = "To be run in the folder of this page"


@dataclass(frozen=True)
class Picture:
    """A drawn figure with words for those who see it and for those who do not."""

    name: str
    content: bytes  # a PNG file
    size: tuple[int, int]  # width and height in dots
    alternative: str  # read aloud instead of the picture
    caption: str  # what to look for

    @classmethod
    def of(cls, name: str, figure: Figure, *, alternative: str, caption: str) -> Self:
        """Return the picture of `figure`."""
        return cls(name, png(figure), figure.canvas.get_width_height(), alternative, caption)

    def shown(self) -> Markup:
        """Return the picture as a part of the page; nothing is left outside of it."""
        width, height = self.size
        image = element(
            "img",
            src=f"data:image/png;base64,{b64encode(self.content).decode()}",
            alt=self.alternative,
            width=str(width),
            height=str(height),
        )
        return element("figure", image, element("figcaption", self.caption))


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    before: tuple[Markup, ...] = ()
    pictures: tuple[Picture, ...] = ()
    beside: tuple[Markup, ...] = ()  # in the grid of the pictures, after them
    after: tuple[Markup, ...] = ()
    commands: tuple[str, ...] = ()  # which show more of it
    where: str = HERE  # to run them

    def shown(self) -> Markup:
        """Return the section as a part of the page."""
        grid = (*(picture.shown() for picture in self.pictures), *self.beside)
        return element(
            "section",
            element("h2", self.heading),
            *self.before,
            *((element("div", *grid, class_="figures"),) if grid else ()),
            *self.after,
            *((command_block(self.commands, self.where),) if self.commands else ()),
        )


def command_block(commands: Sequence[str], introduction: str) -> Markup:
    """Return commands that one click selects as a whole, each by itself."""
    lines = [element("code", each, class_="command") for each in commands]
    return element(
        "div",
        element("p", f"{introduction}; a click selects it:"),
        element("pre", *lines, tabindex="0"),
        class_="commands",
    )


def paragraph(sentence: str) -> Markup:
    """Return a sentence as a paragraph."""
    return element("p", sentence)


def absent(sentence: str) -> Markup:
    """Return the sentence that stands where something is not there."""
    return element("p", sentence, class_="absent")
