"""The picture of the layers in ARCHITECTURE.md is true: imports point downwards only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "kodex"

# From the ground up; rooms in one layer do not see each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "environments"),
    ("trajectory", "seeding", "storage", "progress_bar", "lookup"),
    ("interfaces",),
    ("lifting", "demonstrations", "networks"),
    ("koopman", "baselines", "controllers"),
    ("policies", "tasks"),
    ("evaluation", "rollout"),
    ("reports", "experts"),
    ("experiments",),
    ("cli",),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# trajectory and seeding raise InputError; storage too: all three stand on errors alone.

# library -> the rooms that may import it
ONLY_IN = {
    "matplotlib": {"reports"},
    "mujoco": {"tasks", "reports", "cli"},
    "gymnasium": {"tasks", "rollout", "environments"},
    "gymnasium_robotics": {"tasks"},
    "torch": {"networks", "controllers", "experts"},
}


def modules():
    return sorted(
        path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem != "__init__"
    )


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
    assert room in HEIGHT, f"{room} has no place in the picture: add it to LAYERS"
    for name in imported_names(path):
        parts = name.split(".")
        if parts[0] == "kodex" and len(parts) > 1 and parts[1] in HEIGHT and parts[1] != room:
            assert HEIGHT[parts[1]] < HEIGHT[room], (
                f"{path.name} imports {name}, which is not below"
            )
        allowed = ONLY_IN.get(parts[0])
        assert allowed is None or room in allowed, f"{path.name} must not import {parts[0]}"


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
