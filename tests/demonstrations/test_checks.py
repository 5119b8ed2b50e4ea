"""The border of learning: odd data are refused in one sentence, whoever learns from them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_trajectories import LAYOUT, full_trajectory, trajectory

from kodex.demonstrations import check_demonstrations
from kodex.errors import InputError
from kodex.trajectory import StateLayout, Trajectory

GOOD = [full_trajectory(index) for index in range(3)]


def changed(**fields):
    """Return good demonstrations, of which number 1 has other `fields`."""
    other = dataclasses.replace(GOOD[1], **{"action_range": None} | fields)
    return [GOOD[0], other, GOOD[2]]


def spoiled(field, value):
    values = np.array(getattr(GOOD[1], field))
    values[2, 1] = value
    return changed(**{field: values})


def start(**fields):
    return changed(start=dataclasses.replace(GOOD[1].start, **fields))


OTHER = StateLayout(robot=("thumb", "elbow"), object=("hinge",))
ODD = {
    "none": ([], "no demonstration was given"),
    "layout": (changed(layout=OTHER), "demonstration 1 names its components unlike.*'elbow'"),
    "one state": ([*GOOD, trajectory(1, steps=1)], "demonstration 3 has a single state"),
    "NaN state": (spoiled("states", np.nan), "states that are not finite.*step 2, component 1"),
    "infinite": (spoiled("states", -np.inf), "states that are not finite"),
    "huge": (spoiled("states", 1e160), "as large as 1.0e\\+160"),
    "complex": (changed(states=GOOD[1].states + 1j), "states of type complex128"),
    "objects": (changed(states=GOOD[1].states.astype(object)), "states of type object"),
    "masked": (changed(states=np.ma.masked_less(GOOD[1].states, 0.0)), "states that are masked"),
    "task": (start(task="tool"), "demonstration 1 is of the task 'tool' and others are of 'door'"),
    "start": (start(values={"x": np.nan}), "a start whose 'x' is not a finite number but nan"),
    "no number": (start(values={"x": "far"}), "whose 'x' is not a finite number but 'far'"),
}
ODD_ACTIONS = {
    "no actions": (changed(actions=None), "demonstration 1 has states but no actions.*pd control"),
    "no columns": (changed(actions=np.zeros((4, 0))), "actions of 0 components"),
    "width": (changed(actions=np.zeros((4, 3))), "of 3 components and those before it have 2"),
    "NaN action": (spoiled("actions", np.nan), "demonstration 1 has actions that are not finite"),
}


def test_good_demonstrations_pass_with_and_without_actions():
    check_demonstrations(GOOD, actions=True)
    check_demonstrations([trajectory(1), trajectory(2, steps=9)], actions=False)


@pytest.mark.parametrize("actions", [True, False])
@pytest.mark.parametrize(("odd", "reason"), ODD.values(), ids=ODD)
def test_odd_demonstrations_are_refused_in_one_sentence(odd, reason, actions):
    with pytest.raises(InputError, match=reason) as refusal:
        check_demonstrations(odd, actions=actions)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("odd", "reason"), ODD_ACTIONS.values(), ids=ODD_ACTIONS)
def test_actions_matter_only_to_who_learns_from_them(odd, reason):
    check_demonstrations(odd, actions=False)
    with pytest.raises(InputError, match=reason):
        check_demonstrations(odd, actions=True)


def test_validation_must_fit_what_is_learned_from():
    learned_from = check_demonstrations(GOOD, actions=True)
    check_demonstrations(GOOD, actions=True, beside=learned_from)
    for odd, reason in (
        ([dataclasses.replace(GOOD[0], layout=OTHER)], "validation 0 names its components unlike"),
        (start(task="tool")[1:2], "validation 0 is of the task 'tool'"),
        (
            [dataclasses.replace(GOOD[0], action_range=None, actions=np.zeros((4, 3)))],
            "validation 0 has actions of 3",
        ),
        ([], "no validation was given"),
    ):
        with pytest.raises(InputError, match=reason):
            check_demonstrations(odd, actions=True, beside=learned_from, called="validation")


@given(st.lists(st.sampled_from([None, "door", "tool"]), min_size=1, max_size=5))
def test_one_task_is_known_or_none_and_two_are_refused(tasks):
    named = [
        Trajectory(LAYOUT, GOOD[0].states, provenance={} if task is None else {"task": task})
        for task in tasks
    ]
    known = sorted({task for task in tasks if task is not None})
    if len(known) == 2:
        with pytest.raises(InputError, match="one task"):
            check_demonstrations(named, actions=False)
    else:
        assert check_demonstrations(named, actions=False).task == (known[0] if known else None)
