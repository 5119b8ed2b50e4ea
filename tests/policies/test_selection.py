"""Selecting by leaving episodes out: the exact errors, and the rule that prefers robust."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.demonstrations.spreading import BLOCK, spread
from kodex.least_squares import NoisyRidge, Ridge, one_blas_thread
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.policies import ContextSpec, LiftedLearner
from kodex.policies.selection import STEPS, Shown
from kodex.trajectory import StateLayout, Trajectory
from tests.made_executors import Travelling

LAYOUT = StateLayout(robot=("a", "b", "c"), object=("d",))
LIFTING = MonomialsLearner(degree=1, constant=True).fit(LAYOUT, np.zeros((1, 4)))
LEARNER = LiftedLearner(StandardisedLearner(FourierLearner(count=80, scale=0.5), clip=6.0))


def demonstration(seed, expert, steps=30, noise=0.0):
    """Return states that wander, with the actions of an `expert`, (T, n) -> (T, m)."""
    random = np.random.default_rng(seed)
    states = np.cumsum(random.normal(size=(steps, 4)) * 0.5, axis=0) + random.normal(size=4)
    actions = expert(states[:-1])
    return Trajectory(LAYOUT, states, actions + noise * random.normal(size=actions.shape))


def smooth(states):
    return np.stack([states[:, 0] - 0.5 * states[:, 2], states[:, 1]], axis=1)


def bang_bang(states):
    return np.sign(np.sin(2.0 * states[:, :1]))


def shown(expert, count=12, noise=0.0):
    return [demonstration(seed, expert, 20 + seed, noise) for seed in range(count)]


def selected(demonstrations, **settings):
    """Return what the learner selects, as it stands in the policy that it learns."""
    frequencies = replace(LEARNER, **settings).fit(demonstrations).dynamics.lifting.inner
    return float(np.sqrt(np.mean(np.sum(frequencies.frequencies**2, axis=1))))


def test_errors_are_those_of_policies_learned_without_the_episode():
    demonstrations = shown(smooth, count=5, noise=0.3)
    everything = Shown(demonstrations, step=1)
    ridge = Ridge(1e-2)
    moments = everything.moments(LIFTING)
    quick = everything.errors(LIFTING, moments, [ridge])[0]
    means = np.mean([each.actions.mean(axis=0) for each in demonstrations], axis=0)
    squares = np.mean([(each.actions**2).mean(axis=0) for each in demonstrations], axis=0)
    damping = ridge.damping(moments.equations)
    for number, left_out in enumerate(demonstrations):
        gram, cross = np.zeros((5, 5)), np.zeros((2, 5))
        for each in demonstrations[:number] + demonstrations[number + 1 :]:
            lifted = LIFTING.lift(each.states[:-1])
            gram += lifted.T @ lifted / len(lifted) / 5
            cross += each.actions.T @ lifted / len(lifted) / 5
        outputs = np.linalg.solve(gram + damping * np.eye(5), cross.T).T
        error = left_out.actions - LIFTING.lift(left_out.states[:-1]) @ outputs.T
        expected = np.mean(np.mean(error**2, axis=0) / (squares - means**2))
        np.testing.assert_allclose(quick[number], expected, rtol=1e-9)


def test_errors_have_the_same_bits_whoever_finds_them():
    demonstrations = shown(smooth, count=BLOCK + 20, noise=0.3)
    lifting = LEARNER.lifting.fit(LAYOUT, demonstrations[0].states)
    here, there = Shown(demonstrations, 1), Shown(spread(demonstrations, Travelling()), 1)
    with one_blas_thread():  # as in every fit
        moments, ridges = here.moments(lifting), [Ridge(1e-4), Ridge(1e-2)]
        np.testing.assert_array_equal(moments.gram, there.moments(lifting).gram)
        np.testing.assert_array_equal(
            here.errors(lifting, moments, ridges), there.errors(lifting, moments, ridges)
        )


def test_of_ridges_that_chance_cannot_tell_apart_the_largest_is_taken():
    noisy = Shown(shown(smooth, noise=1.0), step=1)
    ridges = [Ridge(strength) for strength in (1e-9, 1e-7, 1e-5, 10.0)]
    assert noisy.selected(LIFTING, ridges).ridge.strength == 1e-5
    exact = Shown(shown(smooth), step=1)
    assert exact.selected(LIFTING, [Ridge(1e-2), Ridge(1e-9)]).ridge.strength == 1e-9


def test_one_odd_demonstration_does_not_decide_for_all_others():
    """What moves in one episode alone cannot be known from the others: its error is never small."""

    def expert(states):
        return smooth(states) + 5.0 * states[:, 3:]

    usual = [demonstration(seed, smooth, 30) for seed in range(12)]
    for each in usual:
        each.states[:, 3] = 0.0
    ridges = [Ridge(strength) for strength in (1e-9, 1e-1)]
    shown = Shown([*usual, demonstration(99, expert)], step=1)
    errors = shown.errors(LIFTING, shown.moments(LIFTING), ridges)
    assert errors[:, -1].min() > 100.0 * errors[0, :-1].max()
    assert shown.selected(LIFTING, ridges).ridge.strength == 1e-9


def test_an_expert_with_edges_gets_sharper_features_and_a_smooth_one_does_not():
    assert selected(shown(smooth)) < 1.0
    assert selected(shown(bang_bang, count=40)) > 1.5


def test_units_of_the_actions_change_nothing():
    demonstrations = shown(bang_bang, count=20, noise=0.1)
    grams = [replace(each, actions=1e3 * each.actions) for each in demonstrations]
    one, other = (LEARNER.fit(each) for each in (demonstrations, grams))
    np.testing.assert_allclose(other.outputs, 1e3 * one.outputs, rtol=1e-6, atol=1e-6)


def test_an_action_that_never_changes_counts_for_nothing():
    demonstrations = shown(bang_bang, count=20)
    held = [
        replace(each, actions=np.column_stack([each.actions, np.full(len(each.actions), 3.0)]))
        for each in demonstrations
    ]
    assert selected(held) == pytest.approx(selected(demonstrations), rel=1e-3)


def test_actions_that_all_stay_the_same_are_learned():
    idle = shown(lambda states: np.full((len(states), 2), 0.7))
    policy = LEARNER.fit(idle)
    actions = policy.step(None, idle[0].states).actions
    np.testing.assert_allclose(actions, 0.7, atol=0.05)


def test_a_single_demonstration_is_learned_with_the_first_settings():
    alone = shown(smooth, count=1)
    policy = LEARNER.fit(alone)
    fixed = replace(LEARNER, ridges=LEARNER.ridges[:1], sharpness=LEARNER.sharpness[:1]).fit(alone)
    np.testing.assert_array_equal(policy.outputs, fixed.outputs)


def test_a_long_episode_is_told_by_some_of_its_steps():
    """Leaving T steps out solves T equations, so not all of a long recording can be asked."""
    long = [demonstration(seed, smooth, 3 * STEPS) for seed in range(2)]
    best = Shown(long, step=1).selected(LIFTING, [Ridge(1e-9), Ridge(1e-8)])
    assert best.error < 1e-10


def test_components_that_never_change_within_an_episode_are_not_remembered():
    random = np.random.default_rng(0)
    layout = StateLayout(robot=("joint",), object=("ball", "goal"))
    episodes = [
        Trajectory(layout, np.column_stack([random.normal(size=(9, 2)), np.full(9, goal)]))
        for goal in random.normal(size=4)
    ]
    assert ContextSpec.of(episodes, first_state=True, context=True).components == ("ball",)


def drawn(*courses):
    """Return demonstrations of these courses of one action, each (T,)."""
    return [
        Trajectory(LAYOUT, np.zeros((len(course) + 1, 4)), course[:, None]) for course in courses
    ]


def test_jumps_are_those_of_a_switch_and_not_of_coarse_sampling():
    time = np.arange(200)
    switching = np.where(time % 50 < 25, 1.0, -1.0)  # variance 1, seven jumps of 2²/2
    coarse = np.sin(2.0 * np.pi * time / 16)
    assert Shown(drawn(switching), 1).jumps() == pytest.approx(7 * 2.0 / 199)
    assert Shown(drawn(coarse), 1).jumps() < 0.02
    assert Shown(drawn(np.ones(30)), 1).jumps() == 0.0


def approaching(seed, steps=60):
    """Return a demonstration that slowly comes close, and then pulls with full force."""
    random = np.random.default_rng(seed)
    states, actions = [np.array([random.uniform(0.8, 1.2), *random.uniform(0.5, 1.5, 2), 0.0])], []
    for _ in range(steps):
        now = states[-1]
        actions.append([-1.0 if now[0] < 0.3 else 0.1 * now[0]])
        states.append(now * np.array([0.96, 0.98, 0.99, 1.0]))
    return Trajectory(LAYOUT, np.array(states), np.array(actions))


def test_where_experts_switch_actions_are_learned_for_displaced_states_as_well():
    demonstrations = [approaching(seed) for seed in range(12)]
    smoothly = [replace(each, actions=smooth(each.states[:-1])) for each in demonstrations]
    assert isinstance(LEARNER.selected(smoothly).ridge, Ridge)
    lifting, ridge = LEARNER.selected(demonstrations)[:2]
    assert isinstance(ridge, NoisyRidge)
    moments = Shown(demonstrations, 1).moments(lifting)
    states = np.concatenate([each.states[:-1] for each in demonstrations])
    actions = np.concatenate([each.actions for each in demonstrations])
    displaced = states + 0.1 * states.std(axis=0) * np.random.default_rng(0).normal(
        size=states.shape
    )
    errors = [
        np.mean((lifting.lift(displaced) @ solver.solve(moments.equations).T - actions) ** 2)
        for solver in (ridge, Ridge(ridge.strength))
    ]
    assert errors[0] < 0.9 * errors[1]


def test_left_out_errors_for_displaced_states_are_those_of_learning_again_without_an_episode():
    demonstrations, ridge = shown(bang_bang, count=6), Ridge(1e-3)
    lifting = LEARNER.lifting.fit(LAYOUT, np.concatenate([each.states for each in demonstrations]))
    moments = Shown(demonstrations, 1).moments(lifting)
    size = len(moments.gram)
    drawn = np.random.default_rng(0).normal(size=(2 * size, size)) / 10.0
    displacement = drawn.T @ drawn / len(drawn)
    noisy = replace(moments, gram=moments.gram + moments.weight * displacement)
    damping = ridge.damping(noisy.equations) * np.eye(size)
    variance = Shown(demonstrations, 1).variance()
    expected = []
    for number, each in enumerate(demonstrations):
        others = Shown(demonstrations[:number] + demonstrations[number + 1 :], 1).moments(lifting)
        gram = others.gram / moments.weight + displacement + damping
        solution = np.linalg.solve(gram, others.cross.T / moments.weight).T
        missed = each.actions - lifting.lift(each.states[:-1]) @ solution.T
        expected.append(np.mean(np.mean(missed**2, axis=0) / variance))
    found = Shown(demonstrations, 1).errors(lifting, noisy, [ridge])
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    selected = Shown(demonstrations, 1).selected(lifting, [ridge], displacement)
    assert isinstance(selected.ridge, NoisyRidge)
    assert selected.error == pytest.approx(np.mean(np.sort(expected)[:5]))


def test_no_displacement_is_the_ridge_alone():
    demonstrations, ridges = shown(bang_bang), [Ridge(1e-4), Ridge(1e-2)]
    lifting = LEARNER.lifting.fit(LAYOUT, np.concatenate([each.states for each in demonstrations]))
    alone = Shown(demonstrations, 1).selected(lifting, ridges)
    still = np.zeros((lifting.recovery.shape[1],) * 2)
    displaced = Shown(demonstrations, 1).selected(lifting, ridges, still)
    assert displaced.error == alone.error
    assert displaced.ridge.strength == alone.ridge.strength
