"""The picture of the layers in ARCHITECTURE.md is true: imports point downwards only."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kodex.policies.files import DYNAMICS, POLICIES

ROOT = Path(__file__).parents[1] / "kodex"


def layers():
    """Return the picture in ARCHITECTURE.md from the ground up; rooms in a row see no other."""
    picture = (ROOT.parent / "ARCHITECTURE.md").read_text().split("```")[1]
    rows = [re.split(r"\s{3,}", line.strip())[0] for line in picture.splitlines() if line.strip()]
    return [[room.strip() for room in row.split("|")] for row in reversed(rows)]


HEIGHT = {room: height for height, rooms in enumerate(layers()) for room in rooms}

# library -> the rooms that may import it
ONLY_IN = {
    "matplotlib": {"reports"},
    "mujoco": {"tasks", "gym", "reports", "cli", "play"},
    "gymnasium": {"tasks", "gym", "environments"},
    "gymnasium_robotics": {"tasks", "gym"},
    "torch": {"networks", "experts"},
    "sklearn": {"koopman"},
}


def modules():
    # The package's own two files stand above the picture: what is imported, and what is run.
    doors = {ROOT / "__init__.py", ROOT / "__main__.py"}
    return sorted(path for path in ROOT.rglob("*.py") if path not in doors)


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the whole name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_the_layers_below_it(path):
    room = room_of(path)
    assert room in HEIGHT, f"{room} has no place in the picture: add it to ARCHITECTURE.md"
    for name in imported_names(path):
        parts = name.split(".")
        if parts[0] == "kodex" and len(parts) > 1 and parts[1] in HEIGHT and parts[1] != room:
            assert HEIGHT[parts[1]] < HEIGHT[room], (
                f"{path.name} imports {name}, which is not below"
            )
        allowed = ONLY_IN.get(parts[0])
        assert allowed is None or room in allowed, f"{path.name} must not import {parts[0]}"


def test_the_picture_shows_every_room_and_no_other():
    assert set(HEIGHT) == {room_of(path) for path in modules()}


def test_no_module_is_a_closet():
    small = {
        str(path.relative_to(ROOT)): lines
        for path in modules()
        if not path.name.startswith("__") and (lines := len(path.read_text().splitlines())) < 35
    }
    assert small == {}, "what has fewer than 35 lines reads better inside a neighbour"


def test_no_folder_is_a_long_row_of_files():
    files = Counter(str(path.parent.relative_to(ROOT)) for path in modules())
    long = {folder: count for folder, count in files.items() if count > 15}
    assert long == {}, "a reader finds nothing in a longer row: join what belongs together"


def asked_types(path):
    """Return the names of the classes that `isinstance` or `match` asks about in a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            yield from (each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name))
        elif isinstance(node, ast.MatchClass):
            yield ast.unparse(node.cls)


def test_nobody_asks_of_what_type_a_policy_is():
    tables = (*POLICIES.values(), *DYNAMICS.values())
    classes = {target.split(":")[1] for target in tables}
    asked = {
        (str(path.relative_to(ROOT)), name)
        for path in modules()
        for name in asked_types(path)
        if name in classes
    }
    # The one function that looks for an operator.
    assert asked == {("policies/parts.py", "KoopmanDynamics")}


def test_every_learner_is_fitted_alike():
    contract = ("training", "validation", "*", "checkpoint")
    of_liftings = ("layout", "states")
    found = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Learner"):
                for each in node.body:
                    if isinstance(each, ast.FunctionDef) and each.name == "fit":
                        names = [argument.arg for argument in each.args.args[1:]]
                        named = [argument.arg for argument in each.args.kwonlyargs]
                        found[node.name] = (*names, *(["*", *named] if named else []))
    assert len(found) > 20
    assert {name: fit for name, fit in found.items() if fit not in (contract, of_liftings)} == {}


def test_importing_kodex_loads_neither_torch_nor_matplotlib_nor_the_simulator():
    program = (
        "import sys, kodex; print([m for m in sys.modules if m in "
        + repr({"torch", "matplotlib", "mujoco", "gymnasium", "h5py", "scipy"})
        + "])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
