"""One seed, many independent random generators.

A generator is named by a seed and a path of words and numbers, such as
`generator(7, "starts", "door", "in")`. The same name gives the same numbers in every process and
for any number of workers, and different names give independent streams, so nobody has to hand
generators around or draw in a certain order.
"""

import hashlib
from operator import index

import numpy as np

from kodex.errors import InputError


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that `seed` and `path` name."""
    if seed < 0:
        raise InputError(f"a seed must be 0 or more; found {seed}")
    name = "/".join(_word(part) for part in path)
    digest = hashlib.sha256(name.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def _word(part: str | int) -> str:
    # A doubled slash keeps "a/b" apart from "a", "b"; NumPy's integers are integers like others.
    return f"str:{part.replace('/', '//')}" if isinstance(part, str) else f"int:{index(part)}"
