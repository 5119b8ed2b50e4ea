"""The command line: one verb a file, in the order of the data.

A verb is a function with typed arguments; tyro turns its signature and docstring into options and
help. Only the verb that was asked for is imported, so `kodex --help` answers at once.
"""

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module

from kodex.errors import InputError, MissingFeatureError

# verb -> (module:function, what it does)
VERBS: dict[str, tuple[str, str]] = {
    "run": ("kodex.cli.run:run", "Learn a skill, and write a report about it: the main job"),
    "experts": ("kodex.cli.experts:experts", "List the shipped experts and how good they are"),
    "collect": ("kodex.cli.collect:collect", "Collect demonstrations with a shipped expert"),
    "train-expert": (
        "kodex.cli.train_expert:train_expert",
        "Train an expert of your own with DAPG",
    ),
    "describe": ("kodex.cli.describe:describe", "Say what a file of trajectories holds"),
    "fit": ("kodex.cli.fit:fit", "Learn a policy from a file of demonstrations"),
    "evaluate": ("kodex.cli.evaluate:evaluate", "Say how often a policy succeeds"),
    "compare": ("kodex.cli.compare:compare", "Say which of several policies is better"),
    "reproduce": (
        "kodex.cli.reproduce:reproduce",
        "Run a study of the paper again, and print its table",
    ),
    "inspect": (
        "kodex.cli.inspect:inspect",
        "Say what a learned model is, and what to worry about",
    ),
    "render": ("kodex.cli.render:render", "Draw recorded episodes as a video"),
    "doctor": ("kodex.cli.doctor:doctor", "Say what this machine has, and what each gap costs"),
    "report": ("kodex.cli.report:report", "Write the page about a run from its folder"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0 done, 1 interrupted or failed, 2 refused."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        _print_verbs()
        return 0
    if words[0] == "--version":
        import kodex

        print(f"kodex {kodex.__version__}")
        return 0
    verb, rest = words[0], words[1:]
    try:
        _run(verb, rest)
    except (InputError, MissingFeatureError) as error:
        print(f"kodex {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"kodex {verb}: interrupted; nothing was left half-written", file=sys.stderr)
        return 1
    return 0


def _run(verb: str, rest: list[str]) -> None:
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean {near[0]}?" if near else "kodex --help lists the verbs"
        raise InputError(f"there is no verb {verb!r}: {hint}")
    import tyro

    place, description = VERBS[verb]
    module, name = place.split(":")
    function = getattr(import_module(module), name)
    # tyro reads the docstring itself, and knows its list of parameters from its story.
    told = None if function.__doc__ else description
    tyro.cli(function, prog=f"kodex {verb}", args=rest, description=told)


def _print_verbs() -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print("[bold]kodex[/bold]: dexterous manipulation skills from demonstrations,")
    console.print("with Koopman operators, in closed form.\n")
    table = Table(box=None, show_header=False, pad_edge=False)
    for verb, (_, description) in VERBS.items():
        table.add_row(f"  kodex {verb}", description)
    console.print(table)
    console.print("\nkodex VERB --help explains a verb.")
