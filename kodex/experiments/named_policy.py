"""Policies by the name that people give on the command line."""

from dataclasses import dataclass
from pathlib import Path

from kodex.errors import InputError
from kodex.experts import expert_of
from kodex.interfaces import Policy
from kodex.policies import load
from kodex.storage import read_header
from kodex.world import World

EXPERT = "expert"


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
    if not Path(name).exists():
        raise InputError(
            f"there is no policy folder {name}; kodex fit or kodex run makes one, "
            f"and {EXPERT!r} is the policy that comes with kodex"
        )
    policy = load(name)
    policy.spec.check_task(task.name, task.layout, task.action_size)
    recipe = str(read_header(name)["provenance"].get("recipe", "unknown"))
    return NamedPolicy(Path(name).as_posix(), recipe, policy, is_expert=False)
