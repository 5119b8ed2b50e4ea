"""HTML that cannot be injected into: text is escaped unless it is markup already.

A page is built from `element(...)` calls. Whatever is not `Markup` is text from somewhere, perhaps
from a file that a stranger sent, and is escaped on its way in.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

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
