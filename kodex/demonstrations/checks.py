"""The border of learning: what every learner asks of demonstrations before it believes them.

A file may be damaged, a recorder may have failed, two tasks may have been mixed up. Each learner
calls `check_demonstrations` first, so that all of them refuse the same data with the same sentence,
and none of them learns from a NaN, from half a task or from somebody else's robot. Layouts that do
not match are refused by `expect_layout`, wherever they meet.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from kodex.demonstrations.spreading import Part, executor_of, gathered, local_of
from kodex.errors import InputError
from kodex.trajectory import Control, StateLayout, Trajectory, layout_difference, task_of

LARGEST = 1e100  # a learner sums squares, and those of larger numbers are not finite
ADVICE = "leave it out"
NO_LAYOUT = StateLayout(robot=(), object=())  # of no demonstrations
VALIDATION = "validation demonstration"


class Checked(NamedTuple):
    """What all of the demonstrations have in common."""

    layout: StateLayout
    action_size: int | None  # None: actions were not asked for
    task: str | None  # None: none of them names one
    episodes: int
    control: Control = Control()  # as the first of them that says so


@runtime_checkable
class Known(Protocol):
    """Demonstrations that somebody passed over already, as large files are not read for nothing."""

    @property
    def checked(self) -> Checked | None:
        """What was found; None: nobody looked."""


def check_demonstrations(
    demonstrations: Iterable[Trajectory],
    *,
    actions: bool,
    beside: Checked | None = None,
    called: str = "demonstration",
) -> Checked:
    """Refuse demonstrations that nothing right can be learned from, in one pass over them.

    Parameters
    ----------
    demonstrations
        What is to be learned from. Learners iterate over it several times.
    actions
        Whether the learner needs actions; states alone are enough for reference dynamics.
    beside
        What passed already and these must fit: for validation, what is learned from.
    called
        What one of them is called in a refusal, such as "validation demonstration".
    """
    expect_trajectories(demonstrations, called=called)
    if iter(demonstrations) is demonstrations:
        raise InputError(
            "learning passes over the demonstrations several times; found an iterator, which can "
            "be used once: give a list, or what kodex.stream returns"
        )
    known = demonstrations.checked if isinstance(demonstrations, Known) else None
    if known is not None and beside is None and (known.action_size is not None or not actions):
        return known if actions else known._replace(action_size=None)
    if executor_of(demonstrations) is None:
        found = _checked(actions, beside, called, Part(0, 0, demonstrations))
    else:
        # The first one says what the others must be like, whoever looks at them.
        some: Any = local_of(demonstrations)
        known = beside or _checked(actions, None, called, Part(0, 0, some[:1]))
        parts = gathered(partial(_checked, actions, known, called), demonstrations)
        found = _joined(parts, called) if parts else known
    if found.episodes == 0:
        raise InputError(f"there is nothing to learn from: no {called} was given")
    return found


def _joined(parts: Sequence[Checked], called: str) -> Checked:
    """Return what consecutive parts have in common; what none of them says, they do not."""
    known, count = parts[0], parts[0].episodes
    for part in parts[1:]:
        name = f"a {called} from number {count} on"
        task, control = known.task or part.task, _agreed(name, known.control, part.control)
        if part.task not in (None, task):
            raise InputError(_of_two_tasks(name, part.task, task))
        count += part.episodes
        known = known._replace(task=task, control=control, episodes=count)
    return known


def _of_two_tasks(name: str, found: str | None, task: str | None) -> str:
    return (
        f"{name} is of the task {found!r} and others are of {task!r}: "
        "learn from demonstrations of one task"
    )


def _checked(actions: bool, beside: Checked | None, called: str, part: Part) -> Checked:
    """Return what the demonstrations of `part` have in common with each other and `beside`."""
    layout, size, task = beside[:3] if beside is not None else (None, None, None)
    control = Control() if beside is None else beside.control
    count = 0
    for number, each in enumerate(part.demonstrations, part.first):
        count += 1
        name = f"{called} {number}"
        layout = each.layout if layout is None else layout
        if each.layout != layout:
            raise InputError(
                f"{name} names its components unlike demonstration 0: it "
                f"{layout_difference(each.layout, layout)}; "
                "learn from demonstrations of one task"
            )
        if len(each) < 2:
            raise InputError(f"{name} has a single state, and a transition needs 2: {ADVICE}")
        found = task_of(each)
        task = found if task is None else task
        if None not in (found, task) and found != task:
            raise InputError(_of_two_tasks(name, found, task))
        _check_numbers(name, "states", each.states)
        if each.start is not None:
            _check_named_numbers(name, "start", each.start.values)
        _check_named_numbers(name, "context", each.context)
        control = _agreed(name, control, each.control)
        if actions:
            size = _check_actions(name, each, size)
    return Checked(layout or NO_LAYOUT, size if actions else None, task, count, control)


def check_training(
    training: Iterable[Trajectory],
    validation: Iterable[Trajectory] | None = None,
    *,
    actions: bool,
) -> Checked:
    """Refuse demonstrations to learn from, or to select by, that do not fit each other.

    Whoever has a `fit` calls this first, even if it selects nothing: a validation set that is of
    another task is a mistake, whether or not it would have been noticed.
    """
    data = check_demonstrations(training, actions=actions)
    if validation is not None:
        check_demonstrations(validation, actions=actions, beside=data, called=VALIDATION)
    return data


def _agreed(name: str, known: Control, found: Control) -> Control:
    """Return what is known of the robot after one more demonstration; refuse another robot."""
    merged = {}
    for field in ("time_step", "action_range", "units"):
        before, now = getattr(known, field), getattr(found, field)
        if before and now and before != now:
            raise InputError(
                f"{name} has the {field} {now!r} and those before it {before!r}: "
                "learn from demonstrations that were recorded alike"
            )
        merged[field] = before or now
    return Control(**merged)


def expect_trajectories(given: Any, *, called: str = "demonstration") -> None:
    """Explain how to make trajectories to somebody who gave arrays, a path or a single one.

    Arrays are not taken as they are: rows of many episodes look like one long episode.
    """
    if isinstance(given, Trajectory):
        raise InputError(
            f"a list of {called}s is needed; found one trajectory: put it in a list, such as "
            "kodex.fit([trajectory])"
        )
    table = hasattr(given, "columns") or hasattr(given, "column_names")
    strange = [given] if table or isinstance(given, str | np.ndarray | dict) else []
    if not strange:
        try:
            iter(given)
        except TypeError:
            strange = [given]
    if not strange and isinstance(given, list | tuple):  # what is on disk is not read for this
        strange = [each for each in given if not isinstance(each, Trajectory)]
    if strange:
        raise InputError(
            f"each {called} must be a trajectory; found {type(strange[0]).__name__}: make them of "
            "arrays, dicts or a table with kodex.demonstrations_from(states, actions), "
            "or of a file with kodex.read(path)"
        )


def _check_actions(name: str, demonstration: Trajectory, size: int | None) -> int:
    """Return the number of action components; refuse none, other ones and odd ones."""
    if demonstration.actions is None:
        raise InputError(
            f"{name} has states but no actions, which this learner needs: "
            "give demonstrations with actions, or track a reference with the pd controller"
        )
    found = int(demonstration.actions.shape[1])
    if found == 0:
        raise InputError(f"{name} has actions of 0 components, so there is nothing to do: {ADVICE}")
    if size is not None and found != size:
        raise InputError(
            f"{name} has actions of {found} components and those before it have {size}: "
            "learn from one robot's demonstrations"
        )
    _check_numbers(name, "actions", demonstration.actions)
    return found


def _check_numbers(name: str, field: str, values: Any) -> None:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has {field} of type {array.dtype}; they must be real numbers")
    if np.ma.is_masked(values):
        raise InputError(f"{name} has {field} that are masked; fill the gaps, or {ADVICE}")
    largest = np.abs(array).max(initial=0.0)
    if largest <= LARGEST:  # which NaN is not
        return
    finite = np.isfinite(array)
    if not finite.all():
        row, component = (int(index) for index in np.argwhere(~finite)[0])
        raise InputError(
            f"{name} has {field} that are not finite numbers, first at step {row}, "
            f"component {component}: {ADVICE}"
        )
    raise InputError(
        f"{name} has {field} as large as {largest:.1e}, whose squares overflow: "
        "use other units, or leave it out"
    )


def _check_named_numbers(name: str, field: str, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        try:
            known = bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            known = False
        if not known:
            raise InputError(
                f"{name} has a {field} whose {key!r} is not a finite number but {value!r}: {ADVICE}"
            )


def expect_layout(
    found: StateLayout | Sequence[Trajectory],
    expected: StateLayout,
    *,
    source: str = "each of these trajectories",
) -> None:
    """Refuse trajectories, or the layout of `source`, that were not made for `expected`."""
    layouts = [found] if isinstance(found, StateLayout) else [each.layout for each in found]
    for layout in layouts:
        if layout != expected:
            raise InputError(
                f"{source} {layout_difference(layout, expected)}: was it made for another task?"
            )
