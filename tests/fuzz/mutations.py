"""Ways to change a file: bytes, values of JSON, and arrays whose digest is then right again.

Each takes a folder with a whole sample, the names of its files and a random generator.
"""

import hashlib
import json
from contextlib import suppress

import numpy as np
from safetensors.numpy import load, save

from kodex.storage import ARRAYS_FILE, CONFIG_FILE
from kodex.storage.model import CONFIG_DIGEST, config_digest

BLOCKS = (1, 2, 8, 64, 512, 4096)
ODD_VALUES = [
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e308, 5e-324, 10**12, 10**30, "", "a",
    "[/b]\x1b[2J", "../../a", "/etc/passwd", "x" * 2000, "\ud83d",
    [], {}, [[]], [None], [0, 1], ["a"], {"a": 1},
    {"": {}}, 300_000_000, "nan", "1", [1e308] * 3,
]  # fmt: skip
ODD_TEXTS = ["[" * 2000, "1" * 5000, "NaN", "Infinity", "1e999", '"\\ud800"', "{" * 100, "", "\0"]


def change_bytes(folder, names, random):
    """Flip, lose, insert, repeat or overwrite some bytes of a file."""
    path = folder / str(random.choice(names))
    content = bytearray(path.read_bytes())
    at = int(random.integers(len(content) + 1))
    size = int(random.choice(BLOCKS))
    match int(random.integers(10)):
        case 0:
            del content[at:]
        case 1:
            del content[at : at + size]
        case 2:
            content[at:at] = random.bytes(size)
        case 3:
            content[at : at + size] = bytes(len(content[at : at + size]))
        case 4:
            content[at : at + size] = b"\xff" * len(content[at : at + size])
        case 5:
            content[at : at + size] = random.bytes(len(content[at : at + size]))
        case 6:
            content[at:at] = content[at : at + size]
        case 7:
            other = int(random.integers(len(content) + 1))
            content[at : at + size] = content[other : other + size]
        case _:
            for place in random.integers(len(content), size=int(random.integers(1, 4))):
                content[place] ^= 1 << int(random.integers(8))
    path.write_bytes(content)


def change_json(folder, names, random):
    """Give some value in a JSON file another type, another size, another name or none."""
    path = folder / str(random.choice([name for name in names if name.endswith(".json")]))
    if random.random() < 0.05:
        text = path.read_text()
        at = int(random.integers(len(text)))
        path.write_text(text[:at] + str(random.choice(ODD_TEXTS)) + text[at:])
        return
    content = json.loads(path.read_text())
    owners = [each for each in _below(content) if each]
    for _ in range(int(random.integers(1, 3))):
        owner = owners[int(random.integers(len(owners)))]
        keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
        if not keys:
            continue
        key = keys[int(random.integers(len(keys)))]
        chance = random.random()
        if chance < 0.15:
            del owner[key]
        elif chance < 0.25 and isinstance(owner, dict):
            owner[ODD_VALUES[int(random.integers(13, 19))]] = owner[key]
        elif chance < 0.35:
            other = owners[int(random.integers(len(owners)))]
            owner[key] = json.loads(json.dumps(other))
        elif isinstance(owner[key], int | float) and chance < 0.6:
            owner[key] = owner[key] * float(random.choice([-1, 0, 0.5, 2, 1e6])) + 1
        else:
            owner[key] = ODD_VALUES[int(random.integers(len(ODD_VALUES)))]
    if path.name == CONFIG_FILE and CONFIG_DIGEST in content and random.random() < 0.9:
        with suppress(ValueError):  # of a number that became infinite there is none
            content[CONFIG_DIGEST] = config_digest(content)
    path.write_text(json.dumps(content))


def change_arrays(folder, names, random):
    """Give some array of a model another type, shape or value; the digest is of what is there."""
    path = folder / str(random.choice([name for name in names if name.endswith(ARRAYS_FILE)]))
    arrays = load(path.read_bytes())
    known = sorted(arrays)
    name = known[int(random.integers(len(known)))]
    array = arrays[name].copy()
    match int(random.integers(12)):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}x"] = array
        case 2:
            arrays[name] = arrays[known[int(random.integers(len(known)))]]
        case 3:
            arrays[name] = array.astype(random.choice(["f2", "f4", "i8", "u1", "?"]))
        case 4:
            arrays[name] = array.reshape(-1)
        case 5:
            arrays[name] = array[..., None]
        case 6:
            arrays[name] = array[:0]
        case 7:
            arrays[name] = array[: max(0, len(array) - 1)] if array.ndim else array.reshape(1)
        case 8 if array.size and array.dtype.kind == "f":
            array.flat[int(random.integers(array.size))] = random.choice([np.nan, np.inf, -np.inf])
            arrays[name] = array
        case 9 if array.size and array.dtype.kind == "f":
            array.flat[int(random.integers(array.size))] = random.choice([0.0, 1e300, -1e155])
            arrays[name] = array
        case 10:
            arrays[name] = np.zeros_like(array)
        case _:
            arrays[name] = array.T.copy()
    content = save({each: np.ascontiguousarray(array) for each, array in arrays.items()})
    path.write_bytes(content)
    config = path.with_name(CONFIG_FILE)
    header = json.loads(config.read_text())
    header["sha256"] = hashlib.sha256(content).hexdigest()
    header[CONFIG_DIGEST] = config_digest(header)
    config.write_text(json.dumps(header))


def _below(content):
    yield content
    for each in content.values() if isinstance(content, dict) else content:
        if isinstance(each, dict | list):
            yield from _below(each)
