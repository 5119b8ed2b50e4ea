"""What `kodex COMMAND --help` shows beside the docstring: examples, and telling placeholders.

The tests parse every example. A placeholder is `--task TASK` instead of `--task {None}|STR`.
"""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import tyro

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": (
        "kodex run door --quick --out runs/door-quick",
        "kodex run reorientation --recipe koopman",
    ),
    "tasks": ("kodex tasks",),
    "recipes": ("kodex recipes",),
    "experts": ("kodex experts",),
    "collect": (
        "kodex collect door --episodes 250 -o door.h5",
        "kodex collect --env FetchReach-v4 --expert my_experts:reach -o reach.h5",
    ),
    "train-expert": ("kodex train-expert door --demonstrations door.h5 -o runs/expert",),
    "convert": (
        "kodex convert recording.csv -o recording.h5",
        "kodex convert recordings/*.csv -o recordings.h5",
        "kodex convert door.h5 --to lerobot -o door-lerobot",
    ),
    "describe": ("kodex describe door.h5",),
    "fit": (
        "kodex fit door.h5 -o door-policy",
        "kodex fit 'demos/*.h5' -o policy --recipe koopman+monitor",
    ),
    "evaluate": (
        "kodex evaluate door-policy --task door --instances 200",
        "kodex evaluate door-policy --task door --observe-every 10 --noise 0.03",
        "kodex evaluate door-policy --task door --variation heavy-hand",
    ),
    "compare": ("kodex compare door-policy other-policy --task door",),
    "reproduce": ("kodex reproduce observables --seeds 1", "kodex reproduce operator"),
    "inspect": ("kodex inspect door-policy", "kodex inspect runs/door"),
    "render": ("kodex render rollouts.h5 -o rollouts.mp4",),
    "play": ("kodex play runs/door", "kodex play expert --task relocation"),
    "serve": ("kodex serve door-policy",),
    "export": (
        "kodex export door-policy --to onnx -o door.onnx",
        "kodex export runs/door --to web -o site",
    ),
    "doctor": ("kodex doctor",),
    "report": (
        "kodex report runs/door",
        "kodex report my-policy --demonstrations recording.h5",
    ),
    "completion": ("kodex completion bash > ~/.local/share/bash-completion/completions/kodex",),
}
NUMBERS = {int: "N", float: "X"}


def with_placeholders(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` with a placeholder for every option whose type does not say it.

    Numbers are N and X, everything else is called as the option is. Choices and flags show
    themselves, and so does whatever has a placeholder of its own.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    named: dict[str, Any] = {
        name: _hinted(_named(name, hint), signature.parameters[name].default)
        for name, hint in hints.items()
        if name != "return"
    }

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> None:
        function(*arguments, **options)

    parameters = [
        each.replace(annotation=named.get(name, each.annotation))
        for name, each in signature.parameters.items()
    ]
    del called.__wrapped__  # whose annotations would be read instead
    called.__annotations__ = {**named, "return": None}
    called.__doc__ = _unwrapped(inspect.getdoc(function) or "")
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


def _unwrapped(text: str) -> str:
    """Return a docstring whose description of each parameter is one line, for the terminal."""
    return re.sub(r"\n {8,}(?=\S)", " ", text)


def _hinted(hint: Any, default: Any) -> Any:
    """Return `hint` without "(default: None)": the sentence itself says what happens then."""
    if default is inspect.Parameter.empty and _is_several(hint):
        return Annotated[hint, tyro.conf.arg(help_behavior_hint="(required)")]
    if default is None or default == ():
        return Annotated[hint, tyro.conf.arg(help_behavior_hint="")]
    return hint


def _named(name: str, hint: Any) -> Any:
    kinds = _kinds(hint)
    if not kinds or bool in kinds or _has_placeholder(hint):
        return hint
    words = {NUMBERS.get(kind, name.strip("_").upper()) for kind in kinds}
    if len(words) != 1:
        return hint
    word = words.pop()
    return Annotated[hint, tyro.conf.arg(metavar=f"{word} ..." if _is_several(hint) else word)]


def _kinds(hint: Any) -> set[Any]:
    """Return the types that a value may have; none of them, where they are choices or records."""
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return _kinds(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType, tuple, list):
        parts = [each for each in typing.get_args(hint) if each not in (type(None), ...)]
        found = [_kinds(each) for each in parts]
        return set.union(*found) if found and all(found) else set()
    plain = isinstance(hint, type) and (hint in (int, float, str, bool) or hint.__name__ == "Path")
    return {hint} if plain else set()


def _is_several(hint: Any) -> bool:
    if typing.get_origin(hint) is Annotated:
        return _is_several(typing.get_args(hint)[0])
    inside = typing.get_args(hint)
    return typing.get_origin(hint) in (tuple, list) or any(map(_is_several, inside))


def _has_placeholder(hint: Any) -> bool:
    extras = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    return any(getattr(each, "metavar", None) for each in extras)
