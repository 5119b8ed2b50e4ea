"""A policy as a static web page that simulates its task in the visitor's browser.

The folder holds MuJoCo's WASM build, the task's model, the policy's arrays and a small player; any
static host serves it, and nothing is fetched from elsewhere. The WASM build is another version of
MuJoCo, so the same starts are run there and in Python, and the page says how well they agree: with
the task as it is in Python, and with the page's own model in Python.

MuJoCo's WASM build and three.js are fetched once with npm. Their versions are pinned with their
checksums. What was fetched is kept, so that later exports need no network; where there is no npm,
the two files can be put there by hand.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kodex.errors import InputError, MissingFeatureError
from kodex.evaluation import wilson_interval
from kodex.export.acting import program_of
from kodex.export.program import Program, Vector, in_order
from kodex.interfaces import Policy
from kodex.rollout import roll_out
from kodex.storage import check_output, new_folder
from kodex.tasks import TASKS, Task, adroit
from kodex.tasks import task as task_named


@dataclass(frozen=True)
class Package:
    """A package of npm, at one version."""

    name: str
    version: str
    sha512: str  # of the tarball, in base64, as npm writes it
    files: dict[str, str]  # name in the page's lib/ -> path in the package

    @property
    def tarball(self) -> str:
        """The file name that `npm pack` gives it."""
        return f"{self.name.lstrip('@').replace('/', '-')}-{self.version}.tgz"


MUJOCO = Package(
    "@mujoco/mujoco",
    "3.14.0",
    "WPUYidu4Fx8+uM4hQv80SOA0ifpWGrsNJguKs8JBV8SCTxjKQ2/rqsh880nUH0/Vwa8vuefghvCQkkoed3bkUg==",
    {"mujoco.js": "mujoco.js", "mujoco.wasm": "mujoco.wasm"},
)
THREE = Package(
    "three",
    "0.187.0",
    "Qiu7R+Cmh8CstZsY1uJOSWnVlfo7ZtNLV7mF8Jltk3LB3AtDu9cRZlcnRKkAk8Y4z6KKw35z7Y7Urd7jWY8etA==",
    {
        "three.module.js": "build/three.module.js",
        "three.core.js": "build/three.core.js",
        "OrbitControls.js": "examples/jsm/controls/OrbitControls.js",
    },
)


def kept_at() -> Path:
    """Return the folder in which fetched packages are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "kodex" / "npm"


def write_libraries(folder: Path, packages: tuple[Package, ...] = (MUJOCO, THREE)) -> None:
    """Write the files of `packages` to `folder`, with their licences' names beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        with tarfile.open(_fetched(package)) as archive:
            for name, path in package.files.items():
                member = archive.extractfile(f"package/{path}")
                assert member is not None
                (folder / name).write_bytes(member.read())


def _fetched(package: Package) -> Path:
    """Return the package's tarball, fetched if it is not kept yet, with its checksum checked."""
    path = kept_at() / package.tarball
    if not path.is_file():
        _fetch(package, path)
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise MissingFeatureError(
            f"{path} is not {package.name} {package.version}: its checksum differs; remove it, "
            "and export again"
        )
    return path


def _fetch(package: Package, path: Path) -> None:
    npm = shutil.which("npm")
    wanted = f"{package.name}@{package.version}"
    by_hand = f"run `npm pack {wanted}` elsewhere, and put the file into {path.parent}"
    if npm is None:
        raise MissingFeatureError(f"a page needs {wanted}, and there is no npm here: {by_hand}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        command = [npm, "pack", "--silent", wanted]
        # Names and versions are written out in this package.
        answer = subprocess.run(  # noqa: S603
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        fetched = Path(folder) / package.tarball
        if answer.returncode != 0 or not fetched.is_file():
            raise MissingFeatureError(f"npm could not fetch {wanted}; {by_hand}")
        fetched.replace(path)


EPISODES = 200  # in Python, for the success rate on the page
COMPARED = 40  # of them that are run in the browser's simulator too
SEED = 21  # of the starts on the page
LARGEST = 15e6  # bytes of a page with one task
MEASURE = "measure.mjs"  # not part of the page


class Agreement(NamedTuple):
    """How well the page's simulator and Python agree on the same starts."""

    episodes: int
    same: int  # with the same outcome
    median_difference: float  # of the progress at the end
    same_model: int  # with the same outcome if Python simulates the page's model
    succeeded: int  # on the page
    times_real_time: float


def write_page(
    policies: Sequence[tuple[Policy, str]], folder: Path, *, replace: bool = False
) -> dict[str, Agreement | None]:
    """Write a page with one task for each policy and its recipe; return how well each agrees.

    Without Node nothing can be compared, and the page says so.
    """
    check_output(folder, replace=replace, folder=True)
    programs = [(policy, recipe, program_of(policy)) for policy, recipe in policies]
    for _, _, program in programs:
        if program.name not in TASKS:
            raise InputError(
                f"a page shows one of the tasks {', '.join(TASKS)}; this policy was learned for "
                f"{program.name}"
            )
    agreements = {}
    with new_folder(folder, replace=replace) as fresh:
        with as_file(files("kodex.export") / "web_assets") as assets:
            for asset in sorted(Path(assets).iterdir()):
                shutil.copy(asset, fresh / asset.name)
        write_libraries(fresh / "lib")
        for policy, recipe, program in programs:
            agreements[program.name] = _write_task(policy, recipe, program, fresh)
        (fresh / MEASURE).unlink()
        listed = [{"name": each.name, "title": TASKS[each.name].title} for _, _, each in programs]
        (fresh / "tasks.json").write_text(json.dumps(listed, indent=1))
    return agreements


def size_of(folder: Path) -> int:
    """Return the bytes of all files in `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _write_task(policy: Policy, recipe: str, program: Program, site: Path) -> Agreement | None:
    task = task_named(program.name)
    folder = site / "tasks" / task.name
    folder.mkdir(parents=True)
    xml, meshes = adroit.portable(task.model_file)
    (folder / "model.xml").write_text(xml)
    for name, content in meshes.items():
        (folder / name).write_bytes(content)
    model = task.model()
    description, numbers = described(program)
    (folder / "policy.json").write_text(json.dumps(description))
    (folder / "policy.bin").write_bytes(numbers.tobytes())
    starts = {
        which: task.starts(which, count=EPISODES, seed=SEED).values for which in ("in", "out")
    }
    episodes = roll_out(task, policy, task.starts("in", count=EPISODES, seed=SEED))
    outcomes = [bool(episode.succeeded) for episode in episodes]
    ends = np.array([episode.progress[-1] for episode in episodes if episode.progress is not None])
    low, high = wilson_interval(sum(outcomes), EPISODES)
    every = np.concatenate(list(starts.values()))
    info: dict[str, Any] = {
        "name": task.name,
        "title": task.title,
        "recipe": recipe,
        "horizon": task.horizon,
        "substeps": adroit.SUBSTEPS,
        "calls": program.substeps,
        "start_names": task.start_names,
        "context_names": program.context_names,
        "starts": {which: values.tolist() for which, values in starts.items()},
        "ranges": np.stack([every.min(axis=0), every.max(axis=0)], axis=-1).tolist(),
        "camera": vars(task.camera),
        "meshes": list(meshes),
        "exact": {name: getattr(model, name).ravel().tolist() for name in adroit.ROUNDED},
        "python": {
            "episodes": EPISODES, "succeeded": sum(outcomes), "low": low, "high": high,
        },
    }  # fmt: skip
    (folder / "task.json").write_text(json.dumps(info, indent=1))
    exported = with_changes(task, load=lambda: adroit.portable_model(task.model_file))
    compared = task.starts("in", count=COMPARED, seed=SEED)
    alike = [bool(each.succeeded) for each in roll_out(exported, policy, compared)]
    agreement = measured_agreement(site, task, outcomes, ends, alike)
    if agreement is not None:
        versions = {"mujoco_here": MUJOCO.version, "mujoco_python": version("mujoco")}
        info["agreement"] = agreement._asdict() | versions
        (folder / "task.json").write_text(json.dumps(info, indent=1))
    return agreement


def measured_agreement(
    site: Path, task: Task, outcomes: Sequence[bool], ends: np.ndarray, alike: Sequence[bool]
) -> Agreement | None:
    """Return how the page's simulator ends the first episodes, run in Node; None: no Node.

    `outcomes` and `ends` are those of the task in Python, `alike` those of the page's model there.
    """
    node = shutil.which("node")
    if node is None:
        return None
    command = [node, str(site / MEASURE), str(site), task.name, str(COMPARED)]
    # Node itself, on a program that comes with this package.
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if answer.returncode != 0:
        raise InputError(f"the page's simulator failed in Node: {answer.stderr.strip()[-500:]}")
    found: Mapping[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    here = [each["succeeded"] for each in found["ended"]]
    missed = np.array([each["progress"] for each in found["ended"]]) - ends[:COMPARED]
    return Agreement(
        episodes=len(here),
        same=int(np.sum(np.equal(here, outcomes[:COMPARED]))),
        median_difference=float(np.median(np.abs(missed))),
        same_model=int(np.sum(np.equal(here, alike))),
        succeeded=sum(here),
        times_real_time=float(found["times_real_time"]),
    )


def described(program: Program) -> tuple[dict[str, Any], np.ndarray]:
    """Return `program` as JSON can hold it, and all its numbers one after another."""
    begin = in_order([program.first_memory])
    step = in_order([program.action, program.next_memory])
    given = [program.state, program.context, program.memory]
    vectors = list(dict.fromkeys([*given, *begin, *step]))
    at = {vector: index for index, vector in enumerate(vectors)}
    numbers: list[np.ndarray] = []

    def stored(array: np.ndarray) -> list[int]:
        offset = sum(each.size for each in numbers)
        numbers.append(array.ravel())
        return [offset, array.size]

    def entry(vector: Vector) -> dict[str, Any]:
        found: dict[str, Any] = {"op": vector.op, "size": vector.size}
        if vector.inputs:
            found["inputs"] = [at[each] for each in vector.inputs]
        if vector.numbers:
            found["numbers"] = [stored(each) for each in vector.numbers]
        if vector.indices is not None:
            found["indices"] = vector.indices.tolist()
        if vector.op in ("clip", "nearest"):
            found |= {"limit": vector.limit, "count": vector.count}
        return found

    def computed(order: Sequence[Vector]) -> list[int]:
        return [at[vector] for vector in order if vector.op not in ("input", "constant")]

    description = {
        "vectors": [entry(vector) for vector in vectors],
        "begin": computed(begin),
        "step": computed(step),
        **{
            name: at[getattr(program, name)]
            for name in ("state", "context", "memory", "first_memory", "action", "next_memory")
        },
    }
    every = np.concatenate([np.empty(0), *numbers]).astype("<f8")
    return description, every
