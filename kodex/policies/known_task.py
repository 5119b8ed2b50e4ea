"""A policy acts only in the task that it was learned for."""

from kodex.errors import InputError
from kodex.trajectory import StateLayout


def refuse_other_task(
    learned_for: str | None,
    layout: StateLayout,
    action_size: int,
    task: tuple[str, StateLayout, int],
) -> None:
    """Refuse a `task` (its name, layout and action size) that differs from what was learned."""
    name, its_layout, its_action_size = task
    if learned_for is not None and learned_for != name:
        raise InputError(f"this policy was learned for {learned_for}; the task is {name}")
    if its_layout != layout:
        raise InputError(f"this policy was learned for other states than those of {name}")
    if its_action_size != action_size:
        raise InputError(
            f"this policy gives actions of {action_size} components; {name} takes {its_action_size}"
        )
