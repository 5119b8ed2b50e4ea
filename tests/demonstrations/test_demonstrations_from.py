"""Demonstrations of one's own: what is accepted means the same, and the rest is refused by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_trajectories import trajectory

import kodex
from kodex.errors import InputError

RANDOM = np.random.default_rng(0)
LENGTHS = (5, 4, 6)
STATES = [RANDOM.normal(size=(length, 3)) for length in LENGTHS]
ACTIONS = [RANDOM.normal(size=(length - 1, 2)) for length in LENGTHS]
GOALS = [0.1, 0.2, 0.3]


def rows(per_episode):
    """Return the rows of all episodes, each with an action, and the episode of each row."""
    padded = [np.vstack([actions, np.zeros((1, 2))]) for actions in ACTIONS]
    numbers = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    return np.concatenate(per_episode), np.concatenate(padded), numbers


def table():
    """Return the demonstrations as a dict of columns."""
    states, actions, numbers = rows(STATES)
    return {
        "episode": numbers,
        "step": np.concatenate([np.arange(length) for length in LENGTHS]),
        "joint_a": states[:, 0],
        "joint_b": states[:, 1],
        "lid": states[:, 2],
        "action_0": actions[:, 0],
        "action_1": actions[:, 1],
        "goal": np.repeat(GOALS, LENGTHS),
    }


def assert_same(found, states=STATES, actions=ACTIONS):
    assert len(found) == len(states)
    for each, wanted, acted in zip(found, states, actions, strict=True):
        np.testing.assert_array_equal(each.states, wanted)
        np.testing.assert_array_equal(each.actions, acted)


class Frame:
    """A table as pandas has it: `columns`, and columns with `to_numpy`."""

    def __init__(self, columns):
        self._columns, self.columns = columns, np.array(list(columns), dtype=object)

    def __getitem__(self, name):
        class Column:
            to_numpy = staticmethod(lambda: self._columns[name])

        return Column()


class ArrowTable(Frame):
    """A table as pyarrow has it: `column_names`, and `columns` that are no names."""

    def __init__(self, columns):
        super().__init__(columns)
        self.column_names, self.columns = list(columns), list(columns.values())


ROUTES = {
    "lists of arrays": lambda: kodex.demonstrations_from(STATES, ACTIONS),
    "lists of lists": lambda: kodex.demonstrations_from(
        [each.tolist() for each in STATES], [each.tolist() for each in ACTIONS]
    ),
    "an action per state": lambda: kodex.demonstrations_from(
        STATES, [np.vstack([each, np.ones((1, 2))]) for each in ACTIONS]
    ),
    "a dict per episode": lambda: kodex.demonstrations_from(
        [{"obs": s, "action": a} for s, a in zip(STATES, ACTIONS, strict=True)]
    ),
    "a dict of lists": lambda: kodex.demonstrations_from({"states": STATES, "actions": ACTIONS}),
    "a dict of rows": lambda: kodex.demonstrations_from(
        dict(zip(("observations", "actions", "episode"), rows(STATES), strict=True))
    ),
    "a dict of columns": lambda: kodex.demonstrations_from(
        table(), robot=["joint_*", "lid"], context=["goal"]
    ),
    "a frame": lambda: kodex.demonstrations_from(
        Frame(table()), ["action_0", "action_1"], robot=["joint_*"], object=["lid"]
    ),
    "an arrow table": lambda: kodex.demonstrations_from(
        ArrowTable(table()), robot=["joint_a", "joint_b"], object=["lid"]
    ),
    "columns of lists": lambda: kodex.demonstrations_from(
        Frame(
            {
                "episode": rows(STATES)[2],
                "state": np.array([*rows(STATES)[0], None], dtype=object)[:-1],
                "action": np.array([*rows(STATES)[1], None], dtype=object)[:-1],
            }
        )
    ),
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_all_ways_to_give_demonstrations_agree(route):
    assert_same(route())


def test_episodes_stacked_in_one_array_are_episodes():
    states, actions = RANDOM.normal(size=(4, 6, 3)), RANDOM.normal(size=(4, 5, 2))
    assert_same(kodex.demonstrations_from(states, actions), states, actions)
    single = kodex.demonstrations_from(states[0], actions[0])
    assert_same(single, states[:1], actions[:1])


@given(order=st.permutations(range(sum(LENGTHS))))
def test_rows_of_a_table_may_come_in_any_order(order):
    shuffled = {name: values[list(order)] for name, values in table().items()}
    found = kodex.demonstrations_from(shuffled, robot=["joint_*"], object=["lid"], context=["goal"])
    by_goal = sorted(found, key=lambda each: each.context["goal"])
    assert_same(by_goal)


def test_what_is_known_besides_is_kept():
    found = kodex.demonstrations_from(
        STATES,
        ACTIONS,
        robot=("lift", "turn"),
        object=("lid",),
        context={"goal": GOALS, "speed": 2.0},
        succeeded=[True, False, True],
        time_step=0.05,
        action_range=(-2.0, [1.0, np.inf]),
        units={"lift": "m", "action": "rad", "goal": "m"},
        task="open-the-lid",
    )
    assert (found.layout.robot, found.layout.object) == (("lift", "turn"), ("lid",))
    assert [dict(each.context) for each in found] == [{"goal": g, "speed": 2.0} for g in GOALS]
    assert [each.succeeded for each in found] == [True, False, True]
    last = found[-1]
    assert (last.time_step, last.units["lift"], last.provenance["task"]) == (
        0.05,
        "m",
        "open-the-lid",
    )
    np.testing.assert_array_equal(last.action_range, [[-2.0, -2.0], [1.0, np.inf]])


@pytest.mark.parametrize(
    ("names", "robot", "object"),
    [
        ({}, ("state_0", "state_1", "state_2"), ()),
        ({"robot": 2}, ("state_0", "state_1"), ("state_2",)),
        ({"robot": ("a",)}, ("a",), ("state_1", "state_2")),
        ({"object": ("lid",)}, ("state_0", "state_1"), ("lid",)),
        ({"robot": 1, "object": ("b", "c")}, ("state_0",), ("b", "c")),
    ],
)
def test_names_are_optional(names, robot, object):
    layout = kodex.demonstrations_from(STATES, ACTIONS, **names).layout
    assert (layout.robot, layout.object) == (robot, object)


def test_the_times_of_a_table_give_the_time_step_if_they_are_even():
    seconds = np.concatenate([0.02 * np.arange(length) for length in LENGTHS])
    even = kodex.demonstrations_from(table() | {"timestamp": seconds.astype(np.float32)})
    assert even[0].time_step == 0.02
    uneven = kodex.demonstrations_from(table() | {"timestamp": seconds**2})
    assert uneven[0].time_step is None


def broken(values, episode=1, value=np.nan):
    changed = [each.copy() for each in values]
    changed[episode][2, 1] = value
    return changed


SHORT = [ACTIONS[0], ACTIONS[1][:-1], ACTIONS[2]]
REFUSED = {
    "NaN state": (
        lambda: [broken(STATES), ACTIONS],
        "episode 1: states .* nan at step 2, comp.* 1",
    ),
    "infinite": (lambda: [STATES, broken(ACTIONS, 2, np.inf)], "episode 2: actions must be finite"),
    "action size": (
        lambda: [STATES, [ACTIONS[0], ACTIONS[1][:, :1], ACTIONS[2]]],
        "episode 1: actions have 1 components, and 2 in episode 0",
    ),
    "state size": (
        lambda: [[STATES[0], STATES[1], STATES[2][:, :2]], ACTIONS],
        "episode 2: states have 2 components, and 3 in episode 0",
    ),
    "short actions": (lambda: [STATES, SHORT], "episode 1: actions .* 4 states must have 3 rows"),
    "few actions": (lambda: [STATES, ACTIONS[:2]], "actions .* per episode, 3 in all; found 2"),
    "flat": (lambda: [np.zeros(4)], r"found shape \(\)"),
    "flat actions": (lambda: [STATES, [a[:, 0] for a in ACTIONS]], "episode 0: actions must be"),
    "nothing": (lambda: [[]], "no demonstration"),
    "a number": (lambda: [3], "states must be arrays .* found int"),
    "a path": (lambda: ["door.h5"], "states must be arrays .* found str"),
    "words": (lambda: [[[["a", "b", "c"]]]], "episode 0: states must be an array of numbers"),
    "a key": (lambda: [[{"states": STATES[0], "torque": 1}]], "episode 0 may have .* found torque"),
    "an abbreviation": (
        lambda: [[{"obs": STATES[0], "act": ACTIONS[0]}]],
        r"episode 0 may have .* found act: did you mean actions\?",
    ),
    "a misspelling": (lambda: [{"states": STATES, "actoins": ACTIONS}], r"did you mean actions\?"),
    "a goal": (lambda: [{"states": STATES, "goal": [1, 2, 3]}], r"did you mean context\?"),
    "no states": (lambda: [[{"actions": ACTIONS[0]}]], "episode 0 has no states"),
    "rows of whom": (
        lambda: [{"states": STATES[0], "actions": ACTIONS[0]}],
        "needs episode, a number per row, which is 0 .* found states, actions",
    ),
    "pairs": (lambda: [[*zip(STATES, ACTIONS, strict=True)]], "give states and actions apart"),
    "complex": (lambda: [[each * 1j for each in STATES]], "episode 0: states must be an array of"),
    "no episode": (lambda: [{"a": np.zeros(3)}], "column that numbers the episodes"),
}


@pytest.mark.parametrize(("arguments", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused_with_episode_and_field(arguments, reason):
    with pytest.raises(InputError, match=reason) as refusal:
        kodex.demonstrations_from(*arguments())
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"robot": 4}, "0 to 3 of the components; found 4"),
        ({"robot": ("a",), "object": ("b",)}, "3 components; found 1 names .* robot and 1"),
        ({"robot": "abc"}, "lists of names"),
        ({"robot": 2.0}, "lists of names.* found 2.0 for robot"),
        ({"robot": True}, "lists of names.* found True for robot"),
        ({"object": 1}, "lists of names.* found 1 for object"),
        ({"succeeded": ["yes", "no", "no"]}, "episode 0: succeeded must be true or false"),
        ({"succeeded": [1.0, np.nan, 0.0]}, "episode 1: succeeded must .* found 'nan'"),
        ({"succeeded": True}, "succeeded must be given per episode; found bool"),
        ({"context": {"goal": [1.0, 2.0]}}, r"goal must be one number per episode, \(3,\)"),
        ({"context": {"goal": [1.0, 2.0, "far"]}}, "episode 2: context goal must be a number"),
        ({"context": [{"goal": 1.0}] * 2}, "context must be given per episode, 3 in all; found 2"),
        ({"context": {"goal": [1.0, np.nan, 0.0]}}, "episode 1: context goal must be a finite"),
        ({"time_step": -1.0}, "time_step is the seconds"),
        ({"action_range": (1.0, -1.0)}, "must rise from low to high; found 1 to -1"),
        ({"action_range": 1.0}, r"must be \(low, high\)"),
        ({"units": {"elbow": "rad"}}, "found elbow"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, reason):
    with pytest.raises(InputError, match=reason):
        kodex.demonstrations_from(STATES, ACTIONS, **settings)


@pytest.mark.parametrize(
    ("change", "settings", "reason"),
    [
        ({}, {"robot": ["wrist*"]}, "robot names 'wrist\\*', but the columns are episode, step"),
        ({}, {"context": ["lid"]}, "episode 0: context lid must not change within"),
        ({"step": np.zeros(15, int)}, {}, "episode 0: step must rise evenly; found 0 and then 0"),
        ({"lid": np.array(["x"] * 15)}, {"object": ["lid"]}, "episode 0: column lid must be num"),
        ({"lid": np.zeros(4)}, {}, "equally long; found 4 rows of lid and 15"),
        ({}, {"robot": 2}, "robot must name columns"),
        ({}, {"robot": ["*"]}, "not both; found episode, action_0, action_1 among"),
        ({"episode": np.r_[np.zeros(14), np.nan]}, {}, "whose each row is; found nan in row 14"),
        ({"success": np.array(["no"] * 15)}, {}, "episode 0: succeeded must be true or false"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, settings, reason):
    with pytest.raises(InputError, match=reason):
        kodex.demonstrations_from(table() | change, **settings)


def test_a_missing_step_is_not_bridged():
    gone = np.arange(15) != 2
    with pytest.raises(InputError, match="episode 0: step must rise evenly; found 1 and then 3"):
        kodex.demonstrations_from({name: values[gone] for name, values in table().items()})


@pytest.mark.parametrize("given", [np.zeros((3, 5, 2)), [np.zeros((5, 2))], 7, "door.h5"])
def test_plain_arrays_where_demonstrations_are_expected_are_explained(given):
    with pytest.raises(InputError, match=r"must be a trajectory; .* kodex\.demonstrations_from"):
        kodex.fit(given)


@pytest.mark.parametrize("given", [STATES, {"states": STATES}, "door.h5"])
@pytest.mark.parametrize(
    "use", [kodex.TrajectorySet, kodex.score, lambda given: kodex.write("never.h5", given)]
)
def test_plain_arrays_where_a_set_is_expected_are_explained(use, given):
    with pytest.raises(InputError, match=r"must be a trajectory; .* kodex\.demonstrations_from"):
        use(given)


@pytest.mark.parametrize("use", [kodex.fit, kodex.TrajectorySet, kodex.score])
def test_one_trajectory_where_a_list_is_expected_is_explained(use):
    with pytest.raises(
        InputError, match=r"list of \w+ is needed; found one .*fit\(\[trajectory\]\)"
    ):
        use(trajectory(0))


def test_a_table_where_demonstrations_are_expected_is_explained():
    with pytest.raises(InputError, match=r"found Frame: make them of .* a table"):
        kodex.fit(Frame(table()))


def test_a_single_episode_may_come_as_it_is():
    for single in (
        kodex.demonstrations_from(STATES[0], ACTIONS[0], succeeded=True),
        kodex.demonstrations_from([{"states": STATES[0], "actions": ACTIONS[0], "succeeded": 1}]),
        kodex.demonstrations_from([STATES[0]], iter([ACTIONS[0]]), succeeded=[True]),
    ):
        assert_same(single, STATES[:1], ACTIONS[:1])
        assert single[0].succeeded is True


def test_a_policy_learned_from_arrays_acts_as_the_demonstrations_do():
    matrix = np.array([[0.5, -0.2, 0.1], [0.0, 0.3, -0.4]])
    starts = RANDOM.normal(size=(30, 3))
    states = [start * 0.9 ** np.arange(20)[:, None] for start in starts]
    policy = kodex.fit(kodex.demonstrations_from(states, [each[:-1] @ matrix.T for each in states]))
    memory = policy.begin(starts[:2])
    np.testing.assert_allclose(policy.step(memory, starts[:2])[0], starts[:2] @ matrix.T, atol=0.05)
