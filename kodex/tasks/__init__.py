"""The world: the paper's four tasks on the Adroit hand, one file each."""

import difflib
from dataclasses import replace

from kodex.errors import InputError
from kodex.tasks import door, relocation, reorientation, tool
from kodex.tasks.definition import Camera, Task, Variation
from kodex.tasks.simulation import Simulation

TASKS: dict[str, Task] = {
    "tool": tool.TASK,
    "door": door.TASK,
    "relocation": relocation.TASK,
    "reorientation": reorientation.TASK,
}

__all__ = ["TASKS", "Camera", "Simulation", "Task", "Variation", "task"]


def task(name: str, variation: str | None = None) -> Task:
    """Return the task called `name`, in the `variation` of its world if one is named."""
    if name not in TASKS:
        near = difflib.get_close_matches(name, TASKS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"the tasks are {', '.join(TASKS)}; found {name!r}{hint}")
    return replace(TASKS[name], variation=variation)
