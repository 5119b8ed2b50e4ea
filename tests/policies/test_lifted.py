"""The lifted policy: dynamics and actions from one least-squares problem."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.errors import InputError
from kodex.koopman import TransitionMoments
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.policies import (
    Conditioned,
    ConditionedLearner,
    ContextSpec,
    LiftedLearner,
    LiftedPolicy,
    fit,
    load,
)
from kodex.policies.recipes import recipe
from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint_0", "joint_1"), object=("gap", "still"))
STEPS = 12


def demonstration(goal, seed=0, actions=True, hidden=None):
    """Return a hand that closes the gap to a goal, which the state shows only at first.

    The joints decay, the gap shrinks by a tenth a step, and the expert acts on goal and state.
    """
    random = np.random.default_rng(seed)
    joints = random.normal(size=2)
    states, chosen = [], []
    gap = goal
    for _ in range(STEPS):
        states.append([*joints, gap, 0.5])
        chosen.append([goal - joints[0], 2.0 * gap, joints[1] + 0.25 * goal])
        joints, gap = 0.8 * joints, 0.9 * gap
    return Trajectory(
        layout=LAYOUT,
        states=np.array(states),
        actions=np.array(chosen[:-1]) if actions else None,
        start=Start(
            "door",
            "in",
            seed=0,
            index=seed,
            values={"goal": goal},
        ),
        context={} if hidden is None else {"side": hidden},
    )


def lifted(first_state=True, context=True, **settings):
    """Return the default recipe with other settings."""
    return ConditionedLearner(LiftedLearner(**settings), first_state=first_state, context=context)


def context_spec(demonstrations, first_state=True, context=True):
    return ContextSpec.of(demonstrations, first_state=first_state, context=context)


def sided_demonstration(goal, side, seed):
    """Return a demonstration whose expert turns to a side that no state ever shows."""
    plain = demonstration(goal, seed, hidden=side)
    return replace(plain, actions=plain.actions + side * np.array([0.0, 0.0, 1.0]))


@pytest.fixture(scope="module")
def demonstrations():
    return [demonstration(goal, seed) for seed, goal in enumerate(np.linspace(-1.0, 1.0, 8))]


@pytest.fixture(scope="module")
def policy(demonstrations):
    learner = lifted(lifting=MonomialsLearner(degree=1, constant=True), ridges=(1e-12,))
    return learner.fit(demonstrations)


def test_what_varies_between_first_states_stands_beside_the_state(demonstrations):
    spec = context_spec(demonstrations)
    assert spec.components == ("gap",)
    assert spec.augmented_layout.names == (*LAYOUT.names, "first(gap)")


def test_an_augmented_trajectory_carries_its_first_state_at_every_state(demonstrations):
    seen = context_spec(demonstrations).augmented(demonstrations[1])
    np.testing.assert_array_equal(seen.states[:, :4], demonstrations[1].states)
    np.testing.assert_array_equal(seen.states[:, 4], np.full(STEPS, demonstrations[1].states[0, 2]))


def test_an_expert_that_is_linear_in_state_and_goal_is_recovered(policy):
    unseen = demonstration(goal=0.37, seed=99)
    memory = policy.begin(unseen.states[:1])
    for t in range(STEPS - 1):
        actions, memory, reference, *_ = policy.step(memory, unseen.states[t : t + 1])
        np.testing.assert_allclose(actions[0], unseen.actions[t], atol=1e-5)
        np.testing.assert_allclose(reference[0], unseen.states[t + 1], atol=1e-5)


def test_the_ridge_is_the_one_that_suits_episodes_left_out(demonstrations):
    lifting = MonomialsLearner(degree=1, constant=True)
    chosen = lifted(lifting=lifting, ridges=(1.0, 1e-10, 1e-2)).fit(demonstrations)
    fixed = lifted(lifting=lifting, ridges=(1e-10,)).fit(demonstrations)
    np.testing.assert_array_equal(chosen.inner.outputs, fixed.inner.outputs)


def test_what_is_remembered_is_a_mode_at_one(policy):
    values = np.linalg.eigvals(policy.inner.dynamics.matrix)
    assert np.min(np.abs(values - 1.0)) < 1e-6


def test_without_its_memory_the_same_expert_cannot_be_recovered(demonstrations):
    lifting = MonomialsLearner(degree=1, constant=True)
    policy = lifted(lifting=lifting, ridges=(1e-12,), first_state=False).fit(demonstrations)
    late = demonstration(goal=0.9, seed=99)
    actions, *_ = policy.step(policy.begin(late.states[:1]), late.states[-2:-1])
    assert np.abs(actions[0] - late.actions[-1]).max() > 0.1


def test_the_default_recipe_is_lifted_and_conditioned(demonstrations):
    policy = fit(demonstrations)
    assert isinstance(policy, Conditioned)
    assert isinstance(policy.inner, LiftedPolicy)
    assert (policy.spec.task, policy.spec.layout) == ("door", LAYOUT)


def test_episodes_that_are_read_one_by_one_give_the_same_policy_as_a_list(demonstrations):
    class Stream:
        """Episodes that exist only while they are looked at."""

        def __iter__(self):
            return (replace(each) for each in demonstrations)

    learner = LiftedLearner(
        StandardisedLearner(FourierLearner(count=20, scale=0.5)), ridges=(1e-3, 1e-6)
    )
    at_once, streamed = (learner.fit(each, each) for each in (demonstrations, Stream()))
    np.testing.assert_allclose(streamed.outputs, at_once.outputs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        streamed.dynamics.matrix, at_once.dynamics.matrix, rtol=1e-10, atol=1e-12
    )


def test_an_iterator_is_refused_because_learning_takes_several_passes(demonstrations):
    with pytest.raises(InputError, match="several times; found an iterator"):
        LiftedLearner().fit(iter(demonstrations))


def test_demonstrations_without_actions_are_refused_with_a_way_out():
    with pytest.raises(
        InputError, match=r"demonstration 0 has states but no actions.*pd controller"
    ):
        fit([demonstration(0.3, actions=False), demonstration(0.4, 1, actions=False)])


@pytest.fixture(scope="module")
def sided():
    goals = np.linspace(-1.0, 1.0, 12)
    return [
        sided_demonstration(goal, (-1.0) ** seed * 0.5, seed) for seed, goal in enumerate(goals)
    ]


def test_the_given_context_stands_beside_the_state(sided):
    spec = context_spec(sided)
    assert (spec.components, spec.names) == (("gap",), ("side",))
    assert spec.augmented_layout.names[-2:] == ("first(gap)", "context(side)")
    np.testing.assert_array_equal(spec.augmented(sided[3]).states[:, -1], np.full(STEPS, -0.5))


def test_an_expert_that_acts_on_what_no_state_shows_is_recovered_with_the_context(sided):
    lifting = MonomialsLearner(degree=1, constant=True)
    unseen = sided_demonstration(0.37, side=-0.5, seed=99)
    first = unseen.states[:1]
    policy = lifted(lifting=lifting, ridges=(1e-12,)).fit(sided)
    actions, *_ = policy.step(policy.begin(first, np.array([[-0.5]])), first)
    np.testing.assert_allclose(actions[0], unseen.actions[0], atol=1e-5)
    guessing = lifted(lifting=lifting, ridges=(1e-12,), context=False).fit(sided)
    actions, *_ = guessing.step(guessing.begin(first), first)
    assert np.abs(actions[0] - unseen.actions[0]).max() > 0.1


def test_a_context_that_some_demonstrations_lack_is_refused(sided):
    mixed = [*sided[:-1], replace(sided[-1], context={})]
    with pytest.raises(InputError, match=r"demonstration 11 has the context \[\]"):
        context_spec(mixed)
    assert context_spec(mixed, context=False).names == ()


def wandering(seed):
    """Return a demonstration of many components, of which the expert minds one."""
    layout = StateLayout(robot=tuple(f"joint_{i}" for i in range(7)), object=("thing",))
    states = np.random.default_rng(seed).normal(size=(60, 8))
    return Trajectory(layout, states, actions=np.sin(1.5 * states[:-1, 2:3]))


def test_features_resampled_along_what_the_actions_depend_on_imitate_better():
    lifting = StandardisedLearner(FourierLearner(count=150, scale=2.0))
    learned_from = [wandering(seed) for seed in range(30)]
    unseen = wandering(100)

    def error(resample):
        policy = LiftedLearner(lifting, resample=resample).fit(learned_from)
        actions, *_ = policy.step(policy.begin(unseen.states[:-1]), unseen.states[:-1])
        return np.mean((actions - unseen.actions) ** 2)

    assert error(resample=True) < 0.2 * error(resample=False)


def narrow(seed):
    """Return a demonstration whose expert minds how far two joints, which go together, differ."""
    layout = StateLayout(robot=("left", "right"), object=("thing",))
    random = np.random.default_rng(seed)
    together = random.normal(size=60)
    apart = 0.05 * random.normal(size=60)
    states = np.stack([together, together + apart, random.normal(size=60)], axis=1)
    return Trajectory(layout, states, actions=np.sin(30.0 * apart[:-1, None]))


def test_features_where_states_spread_give_way_if_they_miss_the_actions(monkeypatch):
    learned_from, unseen = [narrow(seed) for seed in range(30)], narrow(100)
    spread = StandardisedLearner(FourierLearner(count=150, scale=1.0, spread=True), clip=6.0)

    def error():
        policy = LiftedLearner(spread).fit(learned_from)
        actions, *_ = policy.step(policy.begin(unseen.states[:-1]), unseen.states[:-1])
        return np.mean((actions - unseen.actions) ** 2)

    chosen = error()
    monkeypatch.setattr("kodex.policies.lifted.MISSED", np.inf)  # never give way
    assert chosen < 0.4 * error()


def hasty(seed, steps=120):
    """Return a demonstration that goes to and fro and is shaken; it shows the step before."""
    layout = StateLayout(robot=("now",), object=("before",))
    random, place, force = np.random.default_rng(seed), [0.0, 0.0], 1.0
    actions = []
    for _ in range(steps):
        force = -1.0 if place[-1] > 1.0 else 1.0 if place[-1] < -1.0 else force
        actions.append([force])
        place.append(place[-1] + 0.1 * force + 0.045 * random.normal())
    return Trajectory(layout, np.stack([place[1:], place[:-1]], axis=1), np.array(actions))


def test_where_actions_are_missed_they_change_less_beside_the_demonstrations(monkeypatch):
    demonstrations = [hasty(seed) for seed in range(12)]
    states = np.concatenate([each.states[:-1] for each in demonstrations])
    beside = states + 0.02 * states.std(axis=0) * np.random.default_rng(0).normal(size=states.shape)

    def changed():
        learner = LiftedLearner(
            StandardisedLearner(FourierLearner(count=150, scale=0.5, spread=True), clip=6.0)
        )
        policy = learner.fit(demonstrations)
        return np.mean((policy.step(None, beside).actions - policy.step(None, states).actions) ** 2)

    steady = changed()
    monkeypatch.setattr("kodex.policies.lifted.BESIDE", 0.0)
    assert steady < 0.9 * changed()


def drawing(seed=0):
    """Return the recipe's learner with fewer features."""
    features = FourierLearner(count=80, scale=0.5, spread=True, seed=seed)
    return LiftedLearner(StandardisedLearner(features, clip=6.0))


def test_where_much_is_missed_actions_are_the_mean_of_several_draws_of_the_features():
    shown = [hasty(seed, steps=60) for seed in range(8)]
    policy, found = drawing().fit(shown), drawing().selected(shown)
    each = []
    for lifting, ridge in [(found.lifting, found.ridge), *found.redrawn]:
        moments = TransitionMoments.with_actions(lifting, shown, 1)
        outputs = ridge.solve(moments.action_equations)
        each.append(lifting.lift(shown[0].states) @ outputs.T)
    assert len(each) == 5
    acted = policy.step(None, shown[0].states).actions
    np.testing.assert_allclose(acted, np.mean(each, axis=0), atol=1e-9)
    assert min(np.abs(acted - one).max() for one in each) > 1e-3


def test_the_mean_of_several_draws_depends_less_on_what_was_drawn(monkeypatch):
    shown = [hasty(seed, steps=60) for seed in range(8)]
    beside = shown[0].states + 0.1

    def spread():
        acted = [drawing(seed).fit(shown).step(None, beside).actions for seed in range(6)]
        return np.mean(np.var(acted, axis=0))

    several = spread()
    monkeypatch.setattr("kodex.policies.lifted.DRAWS", 1)
    assert several < 0.6 * spread()


def test_features_of_another_layout_are_refused(policy):
    other = StateLayout(robot=("joint_0",), object=("gap",))
    features = FourierLearner(count=5).fit(other, np.random.default_rng(0).normal(size=(9, 2)))
    with pytest.raises(InputError, match="features must lift the states of the dynamics"):
        replace(policy.inner, features=features, outputs=np.zeros((3, len(features.names))))


def test_a_policy_of_several_draws_acts_with_the_same_bits_after_it_was_saved(tmp_path):
    shown = [hasty(seed, steps=60) for seed in range(8)]
    policy = drawing().fit(shown)
    policy.save(tmp_path / "policy")
    acted = [each.step(None, shown[0].states) for each in (policy, load(tmp_path / "policy"))]
    assert acted[0].actions.tobytes() == acted[1].actions.tobytes()
    assert acted[0].reference.tobytes() == acted[1].reference.tobytes()


class Read(Sequence):
    """Demonstrations, or some of them, that count how often each is read."""

    def __init__(self, whole, numbers, times):
        self.whole, self.numbers, self.times = whole, numbers, times

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return Read(self.whole, self.numbers[key], self.times)
        self.times[self.numbers[key]] += 1
        return self.whole[self.numbers[key]]


def test_episodes_that_nothing_is_selected_by_are_read_four_times():
    shown = [demonstration(0.5 + 0.01 * seed, seed) for seed in range(130)]
    times = np.zeros(len(shown), dtype=int)
    learner = lifted(lifting=FourierLearner(count=20), sharpness=(1.0,))
    learner.fit(Read(shown, range(len(shown)), times))
    # to be checked, for the context, for their range, and to be summed
    np.testing.assert_array_equal(times[1::2], 4)


def test_single_precision_learns_the_same_but_for_its_rounding():
    shown = [demonstration(0.5 + 0.1 * seed, seed) for seed in range(20)]
    double, single = (lifted(single=each).fit(shown) for each in (False, True))
    states = shown[3].states[:-1]
    memory = (policy.begin(states[:1]) for policy in (double, single))
    acted = [
        policy.step(
            remembered._replace(constants=remembered.constants.repeat(len(states), 0)), states
        )
        for policy, remembered in zip((double, single), memory, strict=True)
    ]
    np.testing.assert_allclose(acted[1].actions, acted[0].actions, atol=1e-3)
    np.testing.assert_allclose(acted[1].reference, acted[0].reference, atol=1e-3)
    assert not np.array_equal(acted[1].actions, acted[0].actions)


def test_single_precision_is_refused_where_it_is_wrong():
    with pytest.raises(InputError, match="single precision is safe with ridges of"):
        LiftedLearner(ridges=(1e-8, 1e-4), single=True)
    with pytest.raises(InputError, match="set3 learns in double precision only"):
        recipe("set3").changed(single=True)
    assert recipe("default").changed(single=True).name == "default+single"


def test_the_command_learns_in_single_precision_if_it_is_told_to(tmp_path, capsys):
    shown = [demonstration(0.5 + 0.1 * seed, seed) for seed in range(20)]
    write(tmp_path / "shown.h5", TrajectorySet(shown))
    words = ["fit", str(tmp_path / "shown.h5"), "--single-precision", "-o"]
    assert main([*words, str(tmp_path / "policy")]) == 0
    expected = lifted(single=True).fit(shown)  # nothing is kept back
    found = load(tmp_path / "policy")
    np.testing.assert_array_equal(found.inner.outputs, expected.inner.outputs)
    assert main([*words, str(tmp_path / "other"), "--recipe", "kernel-ridge"]) == 2
    assert "single precision is safe with ridges" in capsys.readouterr().err
