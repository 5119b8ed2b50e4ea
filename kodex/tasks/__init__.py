"""The world: the paper's four tasks on the Adroit hand, one file each."""

from dataclasses import replace

from kodex.lookup import look_up
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
    return replace(look_up(name, TASKS, "tasks"), variation=variation)
