"""One seed, many independent random generators.

A generator is named by a seed and a path of words and numbers, such as
`generator(7, "starts", "door", "in")`. The same name gives the same numbers in every process and
for any number of workers, and different names give independent streams, so nobody has to hand
generators around or draw in a certain order.
"""

import hashlib
from dataclasses import field, fields, is_dataclass, replace
from operator import index
from typing import Any, TypeVar

import numpy as np

from kodex.errors import InputError

Settings = TypeVar("Settings")
SEED = "seed of the method"


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that `seed` and `path` name."""
    if seed < 0:
        raise InputError(f"a seed must be 0 or more; found {seed}")
    name = "/".join(_word(part) for part in path)
    digest = hashlib.sha256(name.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def seed_field(default: int = 0) -> Any:
    """Return a dataclass field for the seed of a method, which `with_seed` replaces."""
    return field(default=default, metadata={SEED: True})


def with_seed(settings: Settings, seed: int) -> Settings:
    """Return `settings` with `seed` for every field declared by `seed_field`, however deep.

    Settings are dataclasses and tuples of them.
    """
    if isinstance(settings, tuple):
        return tuple(with_seed(each, seed) for each in settings)  # type: ignore[return-value]
    if not is_dataclass(settings) or isinstance(settings, type):
        return settings
    changed: dict[str, Any] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        changed[each.name] = seed if SEED in each.metadata else with_seed(value, seed)
    return replace(settings, **changed)


def _word(part: str | int) -> str:
    # A doubled slash keeps "a/b" apart from "a", "b"; NumPy's integers are integers like others.
    return f"str:{part.replace('/', '//')}" if isinstance(part, str) else f"int:{index(part)}"
