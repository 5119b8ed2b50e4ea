"""What there is to choose from: `kodex tasks`, `recipes`, `experts`, and shell `completion`."""

from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from kodex.cli.terminal import console


def tasks() -> None:
    """List the tasks: their states, the context they declare, and when an episode succeeds."""
    from kodex.tasks import TASKS

    out = console()
    for task in TASKS.values():
        table = Table(
            title=f"{task.name}: {task.title}",
            title_justify="left",
            title_style="bold",
            show_header=False,
            box=None,
        )
        layout = task.layout
        table.add_row(
            "  state", f"{len(layout.robot)} robot and {len(layout.object)} object components"
        )
        table.add_row("  object", ", ".join(layout.object))
        table.add_row("  actions", f"{task.action_size}, one per robot component, in [-1, 1]")
        table.add_row("  episode", f"{task.horizon} states, {task.control.time_step} s apart")
        table.add_row("  start", ", ".join(task.start_names))
        table.add_row("  context", ", ".join(task.context) or "none: the state shows the goal")
        table.add_row("  success", task.criterion)
        table.add_row("  variations", ", ".join(task.variations))
        out.print(table)
    out.print("\nAny Gymnasium environment can take their place: kodex run --env ID --expert ...")


def recipes() -> None:
    """List the recipes: named ways to learn a policy."""
    from kodex.policies.recipes import RECIPES, WITH_CONTEXT, WITH_MONITOR, WITHOUT_CONTEXT

    table = Table(box=None, show_header=False, pad_edge=False)
    for recipe in RECIPES.values():
        needs = ", ".join(sorted(set(getattr(recipe.learner, "requires", ()))))
        table.add_row(recipe.name, recipe.sentence + (f" (needs {needs})" if needs else ""))
    out = console()
    out.print(table)
    out.print(
        f"\nNAME{WITH_CONTEXT} and NAME{WITHOUT_CONTEXT}: with or without the context of the "
        f"demonstrations, such as the goal.\nNAME{WITH_MONITOR}: and a monitor that says when "
        "what happens is not as demonstrated."
    )


def experts() -> None:
    """List the shipped experts: how good they are, and where they come from."""
    from kodex.experts.actor import FOLDERS, shipped_expert

    out = console()
    known = {name: shipped_expert(name).provenance for name in FOLDERS}
    table = Table(box=None, pad_edge=False)
    for heading in ("expert", "success in distribution", "out of distribution", "action change"):
        table.add_column(heading)
    for name, provenance in known.items():
        inside, outside = provenance["measured"]["in"], provenance["measured"]["out"]
        change = f"{inside['action_change']:.4f}"
        table.add_row(name, _rate(inside), _rate(outside), change)
    out.print(table)
    out.print(
        "\nSuccess by the paper's criteria, deterministic policy, Wilson's 95 % interval;\n"
        "action change: mean |a(t+1) - a(t)| of a component, actions lying in [-1, 1].\n"
    )
    for name, provenance in known.items():
        out.print(f"{name}, seed {provenance['seed']}", style="bold")
        out.print(f"  {provenance['origin']}")
        for command in provenance["commands"]:
            out.print(f"  {command}", soft_wrap=True)


def _rate(measured: dict[str, Any]) -> str:
    return (
        f"{100 * measured['success']:.1f} % "
        f"[{100 * measured['low']:.1f}, {100 * measured['high']:.1f}] of {measured['episodes']}"
    )


BASH = """\
_kodex() {{
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{verbs}" -- "${{COMP_WORDS[1]}}"))
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    COMPREPLY+=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
  fi
}}
complete -o filenames -F _kodex kodex
"""
FISH = "complete -c kodex -n __fish_use_subcommand -f -a {verb} -d '{words}'"


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]) -> None:
    """Print completions for a shell: commands, their options, and files.

    Args:
        shell: bash, zsh or fish
    """
    from kodex.cli import VERBS

    if shell == "fish":
        for verb, (target, words) in VERBS.items():
            print(FISH.format(verb=verb, words=words.replace("'", "")))
            for option in options_of(target):
                print(f"complete -c kodex -n '__fish_seen_subcommand_from {verb}' -l {option[2:]}")
        return
    cases = "\n".join(
        f'      {verb}) COMPREPLY=($(compgen -W "{" ".join(options_of(target))}" '
        '-- "${COMP_WORDS[COMP_CWORD]}")) ;;'
        for verb, (target, _) in VERBS.items()
    )
    if shell == "zsh":
        print("autoload -U +X compinit && compinit; autoload -U +X bashcompinit && bashcompinit")
    print(BASH.format(verbs=" ".join(VERBS), cases=cases), end="")


def options_of(target: str) -> list[str]:
    """Return the options of a command, such as --task; without what its imports cost."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    module, name = target.split(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            arguments = [*node.args.args, *node.args.kwonlyargs]
            return [
                f"--{each.arg.rstrip('_').replace('_', '-')}"
                for each in arguments
                if "Positional" not in ast.unparse(each.annotation or ast.Constant(None))
            ]
    return []
