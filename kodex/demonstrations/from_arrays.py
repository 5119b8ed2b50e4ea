"""Demonstrations of one's own: arrays, dicts or a table become a set that can be learned from.

```
kodex.demonstrations_from(states, actions)                      # lists of (T, n) and (T - 1, m)
kodex.demonstrations_from(states, actions, robot=7)             # the first 7 are the robot's
kodex.demonstrations_from(states, actions, robot=("lift", "turn"), object=("lid",),
                          context={"goal": goals}, time_step=0.05, action_range=(-2.0, 2.0))
kodex.demonstrations_from([{"states": ..., "actions": ...}, ...])  # one dict per episode
kodex.demonstrations_from(table, ["action_*"], robot=["joint_*"], object=["lid"])  # rows of steps
```
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from kodex.demonstrations.assembling import ALIASES, FIELDS, Fields, Range, assemble
from kodex.demonstrations.tables import as_columns, episodes_of_columns, is_table, rows_of_episodes
from kodex.demonstrations.trajectory_set import TrajectorySet
from kodex.errors import InputError
from kodex.trajectory import StateLayout

# How other libraries call fields, which are only asked after: they could be something else too.
ABBREVIATED = {"act": "actions", "acts": "actions", "rew": "rewards", "goal": "context"}

Context = Mapping[str, Any] | Sequence[Any]


def demonstrations_from(
    source: Any,
    actions: Any = None,
    *,
    robot: int | Sequence[str] | None = None,
    object: Sequence[str] | None = None,
    context: Context | None = None,
    succeeded: Sequence[bool] | None = None,
    episode: str = "episode",
    step: str = "step",
    time_step: float | None = None,
    action_range: Range | None = None,
    units: Mapping[str, str] | None = None,
    task: str | None = None,
) -> TrajectorySet:
    """Return demonstrations made of what you have; refuse what cannot be meant.

    Parameters
    ----------
    source
        The states: a list of arrays (T, n), one per episode, or one array (episodes, T, n); or one
        dict per episode, or one dict of arrays, with `states`, `actions` and whatever else of
        `rewards`, `progress`, `succeeded`, `context` there is; with `episode`, one number per row,
        arrays are rows of all episodes (0 throughout: of a single one). Or a table with one row
        per step: of pandas, polars or pyarrow, or a dict of columns.
    actions
        The actions between the states, (T - 1, m) per episode; with one more, (T, m), the last is
        dropped, because no state follows it. None: the states alone were recorded. Of a table:
        their columns; patterns such as `action*`, which is the default, name several.
    robot
        Names of the robot's components, or how many come first; of a table: columns or patterns.
        None: all that are not the object's.
    object
        Names of the object's components, which come after the robot's; of a table: columns. None:
        all that are left, if the robot's are named.
    context
        What is given beside the state, such as the goal: `{"goal": one number per episode}`, or one
        dict per episode; of a table: columns that do not change within an episode.
    succeeded
        Whether each episode did, if that is known.
    episode, step
        The columns of a table that number episodes and their steps.
    time_step
        Seconds from one state to the next.
    action_range
        The lowest and the highest action that the robot accepts, as numbers or (m,) each.
    units
        By component, such as `{"lift": "m", "action": "rad"}`.
    task
        A name for the skill.
    """
    if is_table(source):
        chosen = episodes_of_columns(
            as_columns(source),
            robot=robot,
            object=object,
            actions=actions,
            context=context,
            episode=episode,
            step=step,
        )
        episodes, layout = chosen.episodes, chosen.layout
        time_step = chosen.time_step if time_step is None else time_step
    else:
        episodes = _episodes(source, actions, context)
        layout = _layout(np.shape(episodes[0]["states"])[-1], robot, object)
    _spread(episodes, "succeeded", _per_episode(succeeded, episodes))
    return assemble(
        episodes, layout, time_step=time_step, action_range=action_range, units=units, task=task
    )


def _episodes(source: Any, actions: Any, context: Context | None) -> list[Fields]:
    """Return one dict of fields per episode, all of them called as in `Trajectory`."""
    if isinstance(source, Mapping):
        fields = _named(source, "the source")
        if "states" not in fields:
            raise InputError(f"a dict of arrays needs states; found {', '.join(source)}")
        if "episode" in fields:
            fields = rows_of_episodes(fields)
        elif all(
            np.ndim(each) == 1 for each in fields["states"]
        ):  # rows of many episodes look like one long episode
            raise InputError(
                "a dict of arrays with a row per step needs episode, a number per row, which is 0 "
                f"throughout for a single one; found {', '.join(source)}"
            )
        episodes = _listed(fields.pop("states"))
        for name, values in fields.items():
            if name == "context":
                _give_context(episodes, values)
            else:
                _spread(episodes, name, values)
    elif _is_list(source) and len(source) and isinstance(source[0], Mapping):
        episodes = [_named(each, f"episode {number}") for number, each in enumerate(source)]
        for number, each in enumerate(episodes):
            if "states" not in each:
                raise InputError(
                    f"episode {number} has no states; found {', '.join(source[number])}"
                )
    else:
        episodes = _listed(source)
    if actions is not None:
        _spread(episodes, "actions", _per_episode(actions, episodes))
    if context is not None:
        _give_context(episodes, context)
    return episodes


def _listed(states: Any) -> list[Fields]:
    if isinstance(states, str | bytes) or not isinstance(states, Iterable):
        raise InputError(
            "states must be arrays (steps, components), one per episode; "
            f"found {type(states).__name__}"
        )
    try:
        episodes = [np.asarray(each) for each in states]
    except ValueError:  # such as pairs of states and actions
        raise InputError(
            "states must be arrays (steps, components), one per episode; found lists of unequal "
            "length: give states and actions apart, demonstrations_from(states, actions)"
        ) from None
    if not episodes:
        raise InputError("there is no demonstration: the list of states is empty")
    if all(each.ndim == 1 for each in episodes):  # the rows of a single episode
        episodes = [np.stack(episodes)] if len(set(map(len, episodes))) == 1 else episodes
    for number, each in enumerate(episodes):
        if each.ndim != 2:
            raise InputError(
                f"episode {number}: states must be (steps, components); found shape {each.shape}"
            )
    return [{"states": each} for each in episodes]


def _per_episode(values: Any, episodes: list[Fields]) -> Any:
    """Return `values` as one entry per episode; those of a single one may come as they are."""
    if len(episodes) != 1:
        return values
    if np.isscalar(values):
        return [values]
    if not isinstance(values, Sequence | np.ndarray):
        return values
    rows = len(episodes[0]["states"])
    return [values] if len(values) in (rows, rows - 1) and len(values) != 1 else values


def _is_list(source: Any) -> bool:
    return isinstance(source, Sequence | np.ndarray) and not isinstance(source, str | bytes)


def _named(fields: Mapping[str, Any], where: str) -> Fields:
    unknown = [str(name) for name in fields if name not in ALIASES]
    if unknown:
        near = get_close_matches(unknown[0].lower(), [*ALIASES, *ABBREVIATED], n=1)
        meant = ABBREVIATED.get(near[0], ALIASES.get(near[0])) if near else None
        advice = "leave it out" if meant is None else f"did you mean {meant}?"
        raise InputError(
            f"{where} may have {', '.join(FIELDS)}; found {', '.join(unknown)}: {advice}"
        )
    return {ALIASES[name]: values for name, values in fields.items() if values is not None}


def _spread(episodes: list[Fields], field: str, values: Any) -> None:
    """Give each episode its own of `values`."""
    if values is None:
        return
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InputError(f"{field} must be given per episode; found {type(values).__name__}")
    values = values if hasattr(values, "__len__") else list(values)
    if len(values) != len(episodes):
        rows = ": one episode is (steps, components), several are a list" * (len(episodes) == 1)
        raise InputError(
            f"{field} must be given per episode, {len(episodes)} in all; found {len(values)}{rows}"
        )
    for each, value in zip(episodes, values, strict=True):
        each[field] = value


def _give_context(episodes: list[Fields], context: Context) -> None:
    if not isinstance(context, Mapping):
        _spread(episodes, "context", context)
        return
    for name, values in context.items():
        numbers = np.asarray(values, dtype=object)
        if numbers.ndim == 0:
            numbers = np.full(len(episodes), values, dtype=object)
        if numbers.shape != (len(episodes),):
            raise InputError(
                f"context {name} must be one number per episode, ({len(episodes)},); "
                f"found shape {numbers.shape}"
            )
        for each, number in zip(episodes, numbers, strict=True):
            each.setdefault("context", {})[name] = number


def _layout(
    size: int, robot: int | Sequence[str] | None, object: Sequence[str] | None
) -> StateLayout:
    numbered = [f"state_{index}" for index in range(size)]
    counted = isinstance(robot, int | np.integer) and not isinstance(robot, bool)
    for role, names in (("robot", robot), ("object", object)):
        named = isinstance(names, Iterable) and not isinstance(names, str | bytes)
        if not (names is None or named or (role == "robot" and counted)):
            raise InputError(
                "robot and object are lists of names, or robot is how many components come first; "
                f"found {names!r} for {role}"
            )
    if isinstance(robot, int | np.integer):
        if not 0 <= robot <= size:
            raise InputError(f"robot must be 0 to {size} of the components; found {robot}")
        rest = numbered[robot:] if object is None else object
        layout = StateLayout(tuple(numbered[:robot]), tuple(rest))
    elif robot is None and object is None:
        layout = StateLayout(tuple(numbered), ())
    elif robot is None:
        layout = StateLayout(
            tuple(numbered[: max(0, size - len(object or ()))]), tuple(object or ())
        )
    else:
        rest = numbered[len(robot) :] if object is None else object
        layout = StateLayout(tuple(map(str, robot)), tuple(map(str, rest)))
    if layout.size != size:
        raise InputError(
            f"the states have {size} components; found {len(layout.robot)} names for the robot and "
            f"{len(layout.object)} for the object"
        )
    return layout
