"""Worlds, experts and policies by the names that people give on the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodex.errors import InputError, named_object
from kodex.experts import as_expert, expert_of, load_actor
from kodex.interfaces import Policy
from kodex.policies import load, policy_folder
from kodex.storage import read_header
from kodex.world import World

EXPERT = "expert"


def named_world(
    task: str | None,
    env: str | None,
    *,
    variation: str | None = None,
    success: str = "end",
    horizon: int | None = None,
) -> World:
    """Return the task called `task`, or the Gymnasium environment called `env`."""
    if (task is None) == (env is None):
        found = "neither" if task is None else "both"
        raise InputError(f"name either a task or an environment (--env ID); found {found}")
    if task is not None:
        from kodex.tasks import task as task_named  # which needs MuJoCo

        return task_named(task, variation)
    if variation is not None:
        raise InputError("variations are of the tasks; an environment has none: leave it out")
    from kodex.gym import environment  # which needs Gymnasium

    assert env is not None
    named = success in ("end", "ever")
    criterion: Any = success if named else named_object(success, "a success criterion")
    return environment(env, success=criterion, horizon=horizon)


def named_expert(name: str | None, world: World) -> Policy:
    """Return the expert in a folder or called `module:function`; None: the shipped one."""
    if name is None:
        return expert_of(world)
    if Path(name).is_dir():
        return load_actor(name)
    return as_expert(name, world)


def task_of_policy(name: str) -> str | None:
    """Return the task that the policy in the folder `name` was learned for, if kodex has it."""
    if name == EXPERT:
        return None
    _check_there(name)
    from kodex.tasks import TASKS  # which needs MuJoCo

    task = load(name).spec.task
    return task if task in TASKS else None


@dataclass(frozen=True)
class NamedPolicy:
    """A policy, what to call it, and how it was learned."""

    name: str
    recipe: str
    policy: Policy
    is_expert: bool


def named_policy(name: str, task: World, expert: Policy | None = None) -> NamedPolicy:
    """Return the policy in the folder `name`, or the `expert`; refuse another task's.

    The expert is the shipped one unless given.
    """
    if name == EXPERT:
        return NamedPolicy(EXPERT, EXPERT, expert or expert_of(task), is_expert=True)
    _check_there(name)
    policy = load(name)
    policy.spec.check_task(task.name, task.layout, task.action_size, called=f"the policy {name}")
    recipe = str(read_header(policy_folder(name))["provenance"].get("recipe", "unknown"))
    return NamedPolicy(Path(name).as_posix(), recipe, policy, is_expert=False)


def _check_there(name: str) -> None:
    if not Path(name).exists():
        raise InputError(
            f"there is no policy folder {name}; kodex fit or kodex run makes one, "
            f"and {EXPERT!r} is the policy that comes with kodex"
        )
