"""Placeholders that mean something: `--task TASK` instead of `--task {None}|STR`."""

import inspect
import types
import typing
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import tyro

NUMBERS = {int: "N", float: "X"}


def with_placeholders(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` with a placeholder for every option whose type does not say it.

    Numbers are N and X, everything else is called as the option is. Choices and flags show
    themselves, and so does whatever has a placeholder of its own.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    named: dict[str, Any] = {
        name: _named(name, hint) for name, hint in hints.items() if name != "return"
    }

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> None:
        function(*arguments, **options)

    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=named.get(name, each.annotation))
        for name, each in signature.parameters.items()
    ]
    del called.__wrapped__  # whose annotations would be read instead
    called.__annotations__ = {**named, "return": None}
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


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
