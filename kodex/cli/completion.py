"""`kodex completion SHELL`: what the tab key offers in a shell."""

from typing import Annotated, Literal

import tyro

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
