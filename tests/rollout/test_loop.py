"""The loop in which a policy meets the world."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.rollout import replay, roll_out, roll_out_batches
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import TASKS, task
from kodex.trajectory import Trajectory

SHORT = 12  # states: enough for contacts, and quick


@dataclass(frozen=True)
class Swaying:
    """Moves with the first number it sees and with the time; a row depends on itself alone."""

    action_size: int
    observes: str = "state"

    @property
    def spec(self):
        return PolicySpec(None, self.action_size, observes=self.observes)

    def begin(self, first, context=None):
        return {"first": first.copy(), "step": 0}

    def step(self, memory, seen):
        drift = seen[:, :1] - memory["first"][:, :1] + memory["first"].sum(axis=1, keepdims=True)
        actions = np.sin(drift + np.arange(self.action_size) + 0.3 * memory["step"])
        return Step(1.5 * actions, {"first": memory["first"], "step": memory["step"] + 1})


@dataclass(frozen=True)
class Breaking:
    """Gives `value` as episode 1's action at step 4, and is idle else."""

    action_size: int
    value: float

    @property
    def spec(self):
        return PolicySpec(None, self.action_size, observes="observation")

    def begin(self, first, context=None):
        return 0

    def step(self, memory, seen):
        actions = np.zeros((len(seen), self.action_size))
        if memory == 4:
            actions[1] = self.value
        return Step(actions, memory + 1)


def sway(name, count=5, *, observes="state", **options):
    a_task = task(name)
    starts = a_task.starts("in", count=count, seed=4)
    options = {"horizon": SHORT, "threads": 1} | options
    return roll_out(a_task, Swaying(a_task.action_size, observes), starts, **options)


def assert_same(ones, others):
    assert len(ones) == len(others)
    for one, other in zip(ones, others, strict=True):
        for part in ("states", "actions", "progress", "rewards"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
        assert (one.succeeded, one.failure, one.start) == (
            other.succeeded,
            other.failure,
            other.start,
        )


@pytest.mark.parametrize("name", TASKS)
def test_the_number_of_threads_does_not_matter(name):
    assert_same(sway(name, threads=1), sway(name, threads=3))


@pytest.mark.parametrize("observes", ["state", "observation"])
def test_the_size_of_the_batches_does_not_matter(observes):
    at_once = sway("door", observes=observes, batch_size=5)
    assert_same(at_once, sway("door", observes=observes, batch_size=2))
    assert_same(at_once, sway("door", observes=observes, batch_size=1))


@pytest.mark.parametrize("name", TASKS)
def test_a_trajectory_can_be_replayed_bit_for_bit(name):
    original = sway(name)[3]
    assert_same([original], [replay(task(name), original)])


def test_a_whole_rollout_has_the_tasks_horizon():
    rollout = sway("door", count=1, horizon=None)[0]
    assert rollout.states.shape == (70, 35)
    assert rollout.actions.shape == (69, 28)
    assert rollout.progress.shape == (70,)
    assert rollout.rewards.shape == (69,)
    assert rollout.failure is None


def test_what_is_recorded_was_executed_and_seen():
    rollouts = sway("tool", record=("observations", "qpos", "qvel"))
    for rollout in rollouts:
        assert np.abs(rollout.actions).max() == 1.0  # clipped: it asks for up to 1.5
        assert rollout.signals["observations"].shape == (SHORT, 46)
        assert rollout.signals["qvel"].shape == (SHORT, 33)
        np.testing.assert_array_equal(rollout.signals["qpos"][:, :26], rollout.robot)
    simulation = task("tool").simulation(5)
    simulation.reset(task("tool").starts("in", count=5, seed=4))
    np.testing.assert_array_equal(simulation.state(), rollouts.stacked("states")[:, 0])
    simulation.step(np.stack([rollout.actions[0] for rollout in rollouts]))
    np.testing.assert_array_equal(simulation.state(), rollouts.stacked("states")[:, 1])
    np.testing.assert_array_equal(simulation.reward(), [each.rewards[0] for each in rollouts])
    np.testing.assert_array_equal(simulation.progress(), [each.progress[1] for each in rollouts])


@dataclass(frozen=True)
class Wishing:
    """Idle, with a reference that counts the steps."""

    action_size: int

    @property
    def spec(self):
        return PolicySpec(None, self.action_size, reference=True)

    def begin(self, first, context=None):
        return first

    def step(self, memory, seen):
        return Step(np.zeros((len(seen), self.action_size)), memory + 1.0, memory + 1.0)


def test_a_reference_is_recorded_in_step_with_the_states():
    door = task("door")
    starts = door.starts("in", count=2, seed=4)
    options = {"horizon": SHORT, "threads": 1, "record": ["reference"]}
    rollouts = roll_out(door, Wishing(door.action_size), starts, **options)
    steps = np.arange(SHORT)[:, None]
    np.testing.assert_allclose(
        rollouts[1].signals["reference"], rollouts[1].states[0] + steps, atol=1e-12
    )
    idle = roll_out(door, Breaking(door.action_size, 0.0), starts, **options)
    assert "reference" not in idle[0].signals  # that policy follows none


def test_batches_come_one_at_a_time_and_in_order():
    a_task = task("door")
    starts = a_task.starts("in", count=5, seed=4)
    batches = roll_out_batches(
        a_task, Swaying(a_task.action_size), starts, batch_size=2, horizon=SHORT
    )
    first = next(batches)
    assert [each.start.index for each in first] == [0, 1]
    assert [len(batch) for batch in batches] == [2, 1]


def test_trajectories_share_no_memory():
    one, other = sway("door", count=2)
    for part in ("states", "actions", "progress", "rewards"):
        mine, others = getattr(one, part), getattr(other, part)
        assert not np.shares_memory(mine, others)
        assert mine.base is None  # keeping one episode does not keep its whole batch


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_action_that_is_no_number_ends_that_episode_only(value):
    a_task = task("relocation")
    starts = a_task.starts("in", count=3, seed=0)
    broken = roll_out(a_task, Breaking(30, value), starts, horizon=SHORT)
    whole = roll_out(a_task, Breaking(30, 0.0), starts, horizon=SHORT)
    assert_same([broken[0], broken[2]], [whole[0], whole[2]])
    assert broken[1].failure == "the policy gave an action that is not finite"
    assert broken[1].succeeded is False
    assert len(broken[1]) == 5  # the states before the action that was none
    np.testing.assert_array_equal(broken[1].states, whole[1].states[:5])
    assert np.isfinite(broken[1].rewards).all()


def exploding(a_task, velocity):
    """Return the task in a world that throws episode 1's joints apart after its fifth state."""
    looks = []

    def state(physics):
        states = a_task.state(physics)
        looks.append(states)
        if len(looks) == 5:
            physics.qvel[1] = velocity
        return states

    return replace(a_task, state=state)


@pytest.mark.parametrize("velocity", [1e9, np.nan])
def test_a_diverging_simulation_hurts_only_itself(velocity, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a file where it is run
    a_task = task("door")
    starts = a_task.starts("in", count=3, seed=0)
    idle = Breaking(a_task.action_size, 0.0)
    hurt = roll_out(exploding(a_task, velocity), idle, starts, horizon=SHORT)
    whole = roll_out(a_task, idle, starts, horizon=SHORT)
    assert_same([hurt[0], hurt[2]], [whole[0], whole[2]])
    assert hurt[1].failure.startswith("the simulation diverged: ")
    assert hurt[1].succeeded is False
    np.testing.assert_array_equal(hurt[1].states, whole[1].states[:5])


@pytest.mark.parametrize("name", TASKS)
def test_doing_nothing_almost_never_succeeds(name):
    """0 of 300 starts for tool, door and relocation; 136 of 1,000 for reorientation.

    Some of reorientation's goals lie near where the pen points at first, and the hand's middle
    position tilts it. Measured as below with `count` = 300 and 1,000, `seed=1`.
    """
    a_task = task(name)
    count = 20 if name == "reorientation" else 3
    idle = RecordedActions(np.zeros((count, a_task.horizon - 1, a_task.action_size)))
    rollouts = roll_out(a_task, idle, a_task.starts("in", count=count, seed=1))
    rate = np.mean([rollout.succeeded for rollout in rollouts])
    assert rate <= (0.3 if name == "reorientation" else 0.0)


def test_starts_of_another_task_are_refused():
    with pytest.raises(InputError, match="of tool, not of door"):
        roll_out(task("door"), Swaying(28), task("tool").starts("in", count=1, seed=0))


@pytest.mark.parametrize(
    "options", [{"record": ("forces",)}, {"batch_size": 0}, {"count": 0}, {"horizon": 0}]
)
def test_what_cannot_be_done_is_refused_before_anything_runs(options):
    with pytest.raises(InputError, match="found"):
        sway("door", **options)


def test_replaying_needs_a_start_and_actions():
    layout = task("door").layout
    with pytest.raises(InputError, match="its start and its actions"):
        replay(task("door"), Trajectory(layout=layout, states=np.zeros((2, layout.size))))


@dataclass(frozen=True)
class Listening:
    """Keeps the context that it is given, and is idle."""

    action_size: int
    context: tuple[str, ...]
    heard: list

    @property
    def spec(self):
        return PolicySpec(None, self.action_size, context=self.context)

    def begin(self, first, context=None):
        self.heard.append(context)

    def step(self, memory, seen):
        return Step(np.zeros((len(seen), self.action_size)), memory)


def test_a_policy_is_given_the_context_of_each_start_by_name():
    a_task = task("reorientation")
    starts = a_task.starts("in", count=5, seed=4)
    policy = Listening(a_task.action_size, ("goal_yaw", "goal_pitch"), [])
    roll_out(a_task, policy, starts, horizon=2, threads=1, batch_size=3)
    assert starts.names == ("goal_pitch", "goal_yaw")
    np.testing.assert_array_equal(np.concatenate(policy.heard), starts.values[:, ::-1])


def test_a_context_that_no_start_has_is_refused():
    a_task = task("reorientation")
    policy = Listening(a_task.action_size, ("door_x",), [])
    with pytest.raises(
        InputError, match=r"given door_x .* the context here is goal_pitch, goal_yaw"
    ):
        roll_out(a_task, policy, a_task.starts("in", count=2, seed=4), horizon=2)
