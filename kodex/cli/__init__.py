"""The command line: its verbs, those that belong together in one file, and a table of them all.

A verb is a function with typed arguments; tyro turns its signature and docstring into options and
help. Only the verb that was asked for is imported, so `kodex --help` answers at once.
"""

import difflib
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, getdoc, signature  # by name: kodex.cli.inspect is a command

from kodex.cli.terminal import ended
from kodex.errors import InputError, explaining

# heading -> verb -> (module:function, what it does)
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Everything at once": {
        "run": ("kodex.cli.run:run", "Learn a skill, evaluate it and write a report about it"),
        "report": ("kodex.cli.run:report", "Write the report of a run or of a study again"),
    },
    "What there is": {
        "tasks": ("kodex.cli.listings:tasks", "List the tasks: state, context, success criterion"),
        "recipes": ("kodex.cli.listings:recipes", "List the ways to learn a policy"),
        "experts": ("kodex.cli.listings:experts", "List the shipped experts and how good they are"),
        "doctor": (
            "kodex.cli.doctor:doctor",
            "List what is installed, and which features lack something",
        ),
    },
    "Demonstrations": {
        "collect": ("kodex.cli.collect:collect", "Collect demonstrations with an expert"),
        "convert": (
            "kodex.cli.collect:convert",
            "Convert from and to Minari, LeRobot, robomimic, D4RL, CSV, Parquet, NumPy",
        ),
        "describe": ("kodex.cli.describe:describe", "Show what files of trajectories hold"),
        "render": ("kodex.cli.describe:render", "Draw recorded episodes as a video"),
        "train-expert": ("kodex.cli.train_expert:train_expert", "Train an expert with DAPG"),
    },
    "Policies": {
        "fit": ("kodex.cli.fit:fit", "Learn a policy from demonstrations"),
        "evaluate": (
            "kodex.cli.evaluate:evaluate",
            "Evaluate a policy: success rate with 95 % interval",
        ),
        "compare": ("kodex.cli.evaluate:compare", "Compare policies on the same starts"),
        "inspect": ("kodex.cli.inspect:inspect", "Show what a policy has learned"),
        "play": ("kodex.cli.deploy:play", "Watch a policy act, push it, and spoil its sensors"),
        "export": ("kodex.cli.deploy:export", "Export a policy to ONNX, C99 or a web page"),
        "serve": ("kodex.cli.deploy:serve", "Serve a policy to a robot over a local socket"),
    },
    "Studies": {
        "reproduce": (
            "kodex.cli.run:reproduce",
            "Run a study: the paper's tables and figures, and our own",
        ),
    },
    "Shell": {
        "completion": ("kodex.cli.listings:completion", "Print completions for a shell"),
    },
}
VERBS = {verb: target for group in GROUPS.values() for verb, target in group.items()}


# options that kodex 0.1 called otherwise
RENAMED = {
    "--initial-deviation": "--initial-std",
    "--smallest-deviation": "--smallest-std",
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
    return ended(verb, lambda: _run(verb, rest))


def _run(verb: str, rest: list[str]) -> None:
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean {near[0]}?" if near else "kodex --help lists the commands"
        raise InputError(f"there is no command {verb!r}: {hint}")
    module, name = VERBS[verb][0].split(":")
    with explaining(f"kodex {verb}"):
        function = getattr(import_module(module), name)
        options = [RENAMED.get(name, name) + after for name, after in map(_parted, rest)]
        parse(verb, function, options)


def parse(verb: str, function: Callable[..., None], options: Sequence[str]) -> None:
    """Call `function` with `options`; its help is its docstring, with examples after it."""
    import tyro

    from kodex.cli.help_texts import EXAMPLES, with_placeholders

    if not options and _needs_something(function):
        raise InputError(
            f"say what to work on, for example: {EXAMPLES[verb][0]} "
            f"(kodex {verb} --help says the rest)"
        )
    story = _story(function) or VERBS[verb][1]
    shown = "\n".join(f"  {each}" for each in EXAMPLES.get(verb, ()))
    tyro.cli(
        with_placeholders(function),
        prog=f"kodex {verb}",
        args=options,
        description=f"{story}\n\nExamples:\n{shown}",
    )


def _needs_something(function: Callable[..., None]) -> bool:
    """Return whether `function` cannot be called without saying anything."""
    parameters = signature(function).parameters.values()
    return any(each.default is Parameter.empty for each in parameters)


def _story(function: Callable[..., None]) -> str:
    """Return the docstring without its list of parameters, which tyro reads by itself."""
    text = getdoc(function) or ""
    return re.split(r"\n(?:Args:|Parameters\n---)", text)[0].strip()


def _parted(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    return name, sign + value


def _print_verbs() -> None:
    from rich.table import Table
    from rich.text import Text

    from kodex.cli.terminal import console

    out = console()
    words = ": dexterous manipulation skills from demonstrations,"
    out.print(Text.assemble(("kodex", "bold"), words))
    out.print("with Koopman operators, in closed form.\n")
    table = Table(box=None, show_header=False, pad_edge=False)
    for heading, verbs in GROUPS.items():
        table.add_row(Text(heading, style="bold"))
        for verb, (_, description) in verbs.items():
            table.add_row(f"  kodex {verb}", description)
    out.print(table)
    out.print("\nRun kodex COMMAND --help for options and examples.")
