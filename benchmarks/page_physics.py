"""Whether the page's MuJoCo and Python's differ by more than their contacts: success in either.

    python -m benchmarks.page_physics SITE TASK POLICY [--contacts task] [--against FILE]

Simulates 200 starts of seed 22 with the model of an exported page, in whatever MuJoCo is installed
beside kodex's core: run it with the version of the page's WASM build and with Python's. Outcomes
are written to page_physics-VERSION-CONTACTS.npz, with which `--against` compares another run.
"""

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import mujoco
import numpy as np

if find_spec("mujoco.batch") is None:  # it comes with MuJoCo 4, and one episode needs none
    absent = ModuleType("mujoco.batch")
    absent.Batch, absent.SimulationError = object, RuntimeError  # type: ignore[attr-defined]
    sys.modules["mujoco.batch"] = absent

from kodex.interfaces import Policy
from kodex.policies import load
from kodex.tasks import TASKS, Task
from kodex.tasks.physics import ModelScene, Physics
from kodex.trajectory import Array

STARTS, SEED = 200, 22  # not the page's own


def main() -> None:
    """Simulate, say how many succeeded, and compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("site", type=Path)
    options.add_argument("task", choices=list(TASKS))
    options.add_argument("policy")
    options.add_argument("--contacts", choices=["one", "task"], default="one")
    options.add_argument("--noise", type=float, default=0.0, help="of the first joints, in rad")
    options.add_argument("--against", type=Path)
    given = options.parse_args()
    task, policy = TASKS[given.task], load(given.policy)
    model = page_model(given.site / "tasks" / given.task)
    if given.contacts == "task":
        model.opt.disableflags &= ~mujoco.mjtDisableBit.mjDSBL_MULTICCD
    starts = task.starts("in", count=STARTS, seed=SEED).values
    random = np.random.default_rng(0)
    progress = np.array(
        [episode(task, policy, model, each, given.noise, random) for each in starts]
    )
    succeeded = np.asarray(task.succeeded(progress))
    print(f"MuJoCo {mujoco.__version__}: {succeeded.sum()} of {STARTS} succeeded")
    path = Path(f"page_physics-{mujoco.__version__}-{given.contacts}.npz")
    np.savez(path, succeeded=succeeded, end=progress[:, -1])
    if given.against is not None:
        with np.load(given.against) as other:
            same = int(np.sum(succeeded == other["succeeded"]))
            apart = float(np.median(np.abs(progress[:, -1] - other["end"])))
        print(f"as in {given.against} from {same}, {apart:.1e} apart in the median at the end")


def page_model(folder: Path) -> mujoco.MjModel:
    """Return the model that a page simulates."""
    info = json.loads((folder / "task.json").read_text())
    meshes = {name: (folder / name).read_bytes() for name in info["meshes"]}
    model = mujoco.MjModel.from_xml_string((folder / "model.xml").read_text(), meshes)
    for name, values in info["exact"].items():
        field = getattr(model, name)
        field[...] = np.reshape(values, field.shape)
    return model


def episode(
    task: Task,
    policy: Policy,
    model: mujoco.MjModel,
    values: Array,
    noise: float,
    random: np.random.Generator,
) -> Array:
    """Return the progress at every state of an episode, (T,)."""
    task.set_start(ModelScene(model), values)
    data = mujoco.MjData(model)
    joints = len(task.layout.robot)
    data.qpos[:joints] += noise * random.standard_normal(joints)
    mujoco.mj_forward(model, data)
    physics = Physics.of_one(model, data)
    known = dict(zip(task.start_names, values, strict=True))
    context = np.array([[known[name] for name in policy.spec.context]])
    memory = policy.begin(task.state(physics), context if context.size else None)
    low, high = model.actuator_ctrlrange.T
    progress = [task.progress(physics)[0]]
    for _ in range(task.horizon - 1):
        step = policy.step(memory, task.state(physics))
        memory = step.memory
        action = np.clip(step.actions[0], -1.0, 1.0)
        data.ctrl[:] = 0.5 * (low + high) + action * 0.5 * (high - low)
        mujoco.mj_step(model, data, nstep=task.substeps)
        progress.append(task.progress(physics)[0])
    return np.array(progress)


if __name__ == "__main__":
    main()
