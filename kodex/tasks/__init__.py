"""The world: the paper's four tasks on the Adroit hand, one file each."""

from dataclasses import replace

from kodex.errors import InputError, explaining, look_up, named_object

with explaining("a task of the Adroit hand"):
    from kodex.tasks import door, relocation, reorientation, tool
    from kodex.tasks.definition import Camera, Task, Variation
    from kodex.tasks.simulation import Simulation

TASKS: dict[str, Task] = {
    "tool": tool.TASK,
    "door": door.TASK,
    "relocation": relocation.TASK,
    "reorientation": reorientation.TASK,
}

OWN = ", or module:TASK of your own"

__all__ = ["TASKS", "Camera", "Simulation", "Task", "Variation", "task"]


def task(name: str, variation: str | None = None) -> Task:
    """Return the task called `name`, in the `variation` of its world if one is named.

    `module:NAME` is a task of your own.
    """
    if ":" not in name:
        return replace(look_up(name, TASKS, "tasks", OWN), variation=variation)
    own = named_object(name, "a task")
    if not isinstance(own, Task):
        raise InputError(f"{name} must be a kodex.tasks.Task; found {type(own).__name__}")
    return replace(own, variation=variation)
