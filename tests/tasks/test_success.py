"""Success, by the paper's definition and by those of others, from recorded numbers alone."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.tasks import TASKS, task
from kodex.tasks.reorientation import DESIRED_POSITION, thrown_out
from kodex.trajectory import Trajectory


def episode(name, progress, *, object_states=None, failure=None):
    """Return an episode with this progress; a pen lies still where it should otherwise."""
    a_task = task(name)
    states = np.zeros((len(progress), a_task.layout.size))
    if name == "reorientation":
        states[:, 24:27] = DESIRED_POSITION
    if object_states is not None:
        states[:, len(a_task.layout.robot) :] = object_states
    return Trajectory(
        layout=a_task.layout,
        states=states,
        progress=np.asarray(progress, dtype=np.float64),
        failure=failure,
    )


def steps(good, bad, count, *, of=100, first=None):
    """Return progress that is `good` at the last `count` states of `of` (first: at state 1)."""
    values = np.full(of, bad)
    values[of - count :] = good
    if first is not None:
        values[0] = first
    return values


def verdicts(name, progress, **more):
    trajectory = episode(name, progress, **more)
    return {by: criterion(trajectory) for by, criterion in task(name).definitions.items()}


@pytest.mark.parametrize(
    ("name", "progress", "expected"),
    [
        ("tool", [0.0] * 99 + [0.0101], False),
        ("tool", [0.09] * 99 + [0.0099], True),
        ("door", [1.5] * 69 + [1.35], False),
        ("door", [0.0] * 69 + [1.3501], True),
        ("relocation", steps(0.0999, 0.1, 10), False),
        ("relocation", steps(0.0999, 0.1, 11), True),
        ("reorientation", steps(0.9001, 0.9, 10), False),
        ("reorientation", steps(0.9001, 0.9, 11), True),
        ("reorientation", steps(0.95, 0.5, 10, first=0.95), True),  # the first state counts
    ],
)
def test_the_papers_criterion_is_appendix_c(name, progress, expected):
    assert bool(task(name).succeeded(np.asarray(progress))) is expected
    assert verdicts(name, progress)["paper"] is expected


def test_many_episodes_are_evaluated_at_once():
    progress = np.stack([steps(0.05, 0.5, count) for count in (0, 10, 11, 100)]).reshape(2, 2, 100)
    np.testing.assert_array_equal(
        task("relocation").succeeded(progress), [[False, False], [True, True]]
    )


def test_gymnasium_looks_at_the_last_state_and_dapg_counts():
    lost = np.concatenate([np.full(99, 0.05), [0.2]])
    assert verdicts("relocation", lost) == {"paper": True, "gymnasium": False, "dapg": True}
    late = steps(0.05, 0.5, 25)
    assert verdicts("relocation", late) == {"paper": True, "gymnasium": True, "dapg": False}
    assert verdicts("relocation", steps(0.05, 0.5, 26))["dapg"]


def test_gymnasium_calls_a_door_open_from_1_35_on_and_the_paper_above_it():
    assert verdicts("door", steps(1.35, 0.0, 30, of=70)) == {
        "paper": False,
        "gymnasium": True,
        "dapg": True,
    }


def test_dapg_does_not_count_the_state_before_the_first_action():
    assert not verdicts("reorientation", steps(0.96, 0.0, 20, first=0.96))["dapg"]
    assert verdicts("reorientation", steps(0.96, 0.0, 21))["dapg"]


def test_a_pen_aligned_to_092_satisfies_the_paper_and_its_authors_but_not_gymnasium_and_dapg():
    assert verdicts("reorientation", np.full(100, 0.92)) == {
        "paper": True,
        "gymnasium": False,
        "dapg": False,
        "authors": True,
    }


def pen(height=0.25, speed=0.0):
    state = np.zeros(12)
    state[:3] = (0.0, -0.2, height)
    state[6:] = speed
    return state


@pytest.mark.parametrize(
    ("state", "thrown", "accepted"),
    [
        (pen(), False, True),
        (pen(height=0.11), False, True),
        (pen(height=0.09), True, False),
        (pen(height=0.41), True, False),
        (pen(speed=0.9), False, True),
        (pen(speed=-1.1), False, False),
    ],
)
def test_the_authors_also_want_the_pen_in_the_hand_and_calm(state, thrown, accepted):
    verdict = verdicts("reorientation", np.full(100, 0.99), object_states=state)
    assert verdict["authors"] is accepted
    assert verdict["paper"] is True
    assert thrown_out(episode("reorientation", [0.99], object_states=state)) is thrown


def test_the_desired_position_is_the_models():
    site = task("reorientation").model().site("eps_ball")
    np.testing.assert_array_equal(site.pos, DESIRED_POSITION)
    assert site.bodyid[0] == 0  # it hangs in the world, so its place in it is the same


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_that_ended_early_has_failed_by_any_definition(name):
    best = {"tool": 0.0, "door": 1.5, "relocation": 0.0, "reorientation": 1.0}[name]
    assert all(verdicts(name, [best] * 60).values())
    assert not any(verdicts(name, [best] * 60, failure="it diverged").values())


@pytest.mark.parametrize("name", TASKS)
def test_a_criterion_without_progress_is_refused(name):
    layout = task(name).layout
    unseen = Trajectory(layout=layout, states=np.zeros((3, layout.size)))
    for criterion in task(name).definitions.values():
        with pytest.raises(InputError, match="no recorded progress"):
            criterion(unseen)
