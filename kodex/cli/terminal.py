"""What a command says: texts as they are, whoever wrote them.

Names of components, folders and recipes come from files, and files from strangers. A bracket in
them is a bracket and no colour, and what a terminal would obey is written out.
"""

import sys
from typing import TYPE_CHECKING, Any

from kodex.errors import printable

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> "Console":
    """Return where tables and sentences are printed; styles are given beside texts, not in them."""
    from rich.console import Console  # imported late: not every verb prints a table

    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    render = made.render_str

    def render_printable(text: str, **options: Any) -> Any:
        return render(printable(text), **options)

    # Every text goes through here, those in the cells and titles of tables too.
    made.render_str = render_printable  # type: ignore[method-assign]
    return made


def say(sentence: str, *, stderr: bool = False) -> None:
    """Print one sentence, at once."""
    print(printable(sentence), file=sys.stderr if stderr else sys.stdout, flush=True)
