"""What one must know to get a result again: command, versions, seeds, settings, demonstrations.

Work that is resumed must not take an old policy for a new one, so settings are compared as data:
every field of every learner by its name. A field that was added later counts as its default, and
one that was renamed is found by its old name, so a finished study stays valid when the code grows.
"""

import hashlib
import json
import math
import platform
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from kodex import __version__
from kodex.demonstrations.spreading import Part, summed
from kodex.interfaces import PolicyLearner
from kodex.storage import read_header
from kodex.trajectory import Trajectory

LIBRARIES = ("numpy", "scipy", "mujoco", "gymnasium-robotics", "torch")
SETTINGS_VERSION = 2  # of the data below; version 1 was a text, Python's repr of the learner
# (type, field) as it was called -> as it is called now, for settings that are stored already
RENAMED: Mapping[tuple[str, str], str] = {}


def called() -> str:
    """Return how this process was called."""
    program = Path(sys.argv[0])
    # `python -m kodex` is called by the path of a file that has no name of its own
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])


def provenance(seeds: Mapping[str, int], command: str | None = None) -> dict[str, Any]:
    """Return the command (None: this process's), versions and `seeds`; no date, no host."""
    return {
        "command": called() if command is None else command,
        "versions": {"python": platform.python_version(), "kodex": __version__} | _versions(),
        "seeds": dict(seeds),
    }


def _versions() -> dict[str, str]:
    """Return the versions of the libraries that are installed; the core needs no simulator."""
    found = {}
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[library] = version(library)
    return found


def settings_of(learner: PolicyLearner, task: str | None) -> dict[str, Any]:
    """Return every setting that `learner` has for `task`, as data that JSON can hold."""
    return {"version": SETTINGS_VERSION, "learner": _data(learner, task)}


def _for_task(value: Any, task: str | None) -> Any:
    """Return a learner whose settings depend on the task, as a baseline's do, as it is for it."""
    learner_for = getattr(value, "learner_for", None)
    return value if learner_for is None else learner_for(task)


def _data(value: Any, task: str | None) -> Any:
    value = _for_task(value, task)
    if is_dataclass(value) and not isinstance(value, type):
        inside = {each.name: _data(getattr(value, each.name), task) for each in fields(value)}
        return {"type": type(value).__name__} | inside
    if isinstance(value, Mapping):
        return {str(key): _data(each, task) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_data(each, task) for each in value]
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "sha256": hashlib.sha256(value.tobytes()).hexdigest()}
    if isinstance(value, Callable):  # type: ignore[arg-type]  # a function is its name
        return f"{value.__module__}:{getattr(value, '__qualname__', type(value).__qualname__)}"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value.item() if isinstance(value, np.generic) else value


def same_settings(stored: Any, learner: PolicyLearner, task: str | None) -> bool:
    """Return whether `stored`, from `settings_of`, are the settings of `learner` for `task`."""
    if isinstance(stored, str):
        return stored == settings_text(learner, task)
    if not isinstance(stored, Mapping) or stored.get("version") != SETTINGS_VERSION:
        return False
    return _same(stored.get("learner"), learner, task)


def settings_text(learner: PolicyLearner, task: str | None) -> str:
    """Return the settings as version 1 stored them."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(_looked_up(learner, task)))


def _looked_up(learner: Any, task: str | None) -> Any:
    """Return `learner` with the settings of a baseline instead of its name."""
    learner = _for_task(learner, task)
    if not is_dataclass(learner) or isinstance(learner, type):
        return learner
    inside = {each.name: _looked_up(getattr(learner, each.name), task) for each in fields(learner)}
    return replace(learner, **inside)


def _same(stored: Any, value: Any, task: str | None) -> bool:
    value = _for_task(value, task)
    if isinstance(value, tuple | list):
        alike = isinstance(stored, list) and len(stored) == len(value)
        return alike and all(_same(*pair, task) for pair in zip(stored, value, strict=True))
    if not is_dataclass(value) or isinstance(value, type):
        return bool(stored == json.loads(json.dumps(_data(value, task))))
    kind = type(value).__name__
    if not isinstance(stored, Mapping) or stored.get("type") != kind:
        return False
    found = {RENAMED.get((kind, name), name): each for name, each in stored.items()}
    known = {each.name: each for each in fields(value)}
    if not found.keys() <= {*known, "type"}:
        return False
    return all(
        _same(found[name], getattr(value, name), task)
        if name in found
        else getattr(value, name) == _default(each)
        for name, each in known.items()
    )


def _default(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not MISSING else MISSING


def digest_of(*parts: Sequence[Trajectory]) -> str:
    """Return a word that differs when what is learned from does, or how it is parted."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} demonstrations".encode())
        for block in summed(_digest_of_block, part) if len(part) > 0 else ():
            digest.update(block)
    return digest.hexdigest()


def _digest_of_block(part: Part) -> tuple[bytes, ...]:
    digest = hashlib.sha256()
    for each in part.demonstrations:
        start = None if each.start is None else (each.start.task, dict(each.start.values))
        told = (start, each.provenance.get("task"), sorted(each.context.items()))
        units = (each.time_step, each.action_range, sorted(each.units.items()))
        digest.update(repr((each.layout, *told, *units)).encode())
        for array in (each.states, each.actions):
            digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return (digest.digest(),)


def was_learned_with(folder: Path, learner: PolicyLearner, task: str | None, **others: str) -> bool:
    """Return whether the policy in `folder` has the settings of `learner`, and `others` alike."""
    stored = read_header(folder).get("provenance", {})
    return same_settings(stored.get("settings"), learner, task) and all(
        stored.get(name) == value for name, value in others.items()
    )
