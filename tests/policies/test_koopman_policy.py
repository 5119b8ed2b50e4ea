"""The Koopman policy: the operator predicts, measurements correct it, and actions depend on it."""

from dataclasses import replace

import numpy as np
import pytest
from toy_skill import LAYOUT, STEPS, demonstration, demonstrations

from kodex.errors import InputError
from kodex.koopman import Ridge, TransitionMoments
from kodex.koopman.correction import Correction
from kodex.least_squares import left_out_errors
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.policies import (
    ConditionedLearner,
    LiftedLearner,
    LiftedPolicy,
    Session,
    koopman_learner,
)
from kodex.policies.diagnostics import unexplained
from kodex.policies.koopman_learner import Episode, KoopmanPolicyLearner, can_act

SHOWN = demonstrations()
LINEAR = LiftedLearner(MonomialsLearner(degree=1, constant=True), resample=False)
FOURIER = LiftedLearner(StandardisedLearner(FourierLearner(count=40, scale=0.5), clip=6.0))


def learned(features=LINEAR, count=20):
    learner = KoopmanPolicyLearner(replace(features, ridges=(1e-9,)), operator_ridges=(1e-9,))
    return ConditionedLearner(learner).fit(SHOWN[:count])


@pytest.fixture(scope="module")
def policy():
    return learned()


def acted(policy, states, context=None, shown=None):
    """Return the actions along `states`, (T, n), of which `shown` is what is measured."""
    shown = states if shown is None else shown
    memory, actions = policy.begin(states[:1], context), []
    for row in shown[:-1]:
        step = policy.step(memory, row[None])
        memory = step.memory
        actions.append(step.actions[0])
    return np.array(actions)


def unseen():
    episode = demonstration(99)
    return episode, np.array([[episode.context["side"]]])


def with_inner(policy, **changes):
    return replace(policy, inner=replace(policy.inner, **changes))


def with_operator(policy, matrix):
    return with_inner(policy, dynamics=replace(policy.inner.dynamics, matrix=matrix))


def error_of(policy, shown=None):
    episode, context = unseen()
    return np.abs(acted(policy, episode.states, context, shown) - episode.actions).max()


def blind():
    return np.full((STEPS, LAYOUT.size), np.nan)


def test_an_expert_that_is_linear_is_recovered_with_and_without_measurements(policy):
    assert error_of(policy) < 1e-3
    assert error_of(policy, blind()) < 1e-3


@pytest.mark.parametrize("features", [LINEAR, FOURIER])
def test_without_the_operator_it_does_not_act(features):
    policy = learned(features)
    matrix = policy.inner.dynamics.matrix
    shuffled = np.random.default_rng(0).permutation(matrix.ravel()).reshape(matrix.shape)
    good = error_of(policy)
    for wrong in (np.zeros_like(matrix), shuffled):
        broken = with_operator(policy, wrong)
        assert error_of(broken) > 10.0 * good
        assert not error_of(broken, blind()) < 0.3  # which NaN is not either


def believing(policy, ratio):
    """Return the policy with one gain for all directions, and no feedback of the joints."""
    size = len(policy.inner.dynamics.matrix)
    correction = Correction(np.eye(size), np.eye(size), np.full(size, ratio), np.zeros((1, size)))
    return with_inner(policy, correction=correction, controller=None, shown=1.0)


def test_who_believes_every_measurement_clones_behaviour():
    policy = learned(FOURIER)
    cloned = replace(policy, inner=LiftedPolicy(policy.inner.dynamics, policy.inner.outputs))
    episode, context = unseen()
    np.testing.assert_allclose(
        acted(believing(policy, 1e15), episode.states, context),
        acted(cloned, episode.states, context),
        atol=1e-9,
    )


def test_who_believes_none_runs_the_open_loop():
    policy = learned(FOURIER)
    episode, context = unseen()
    deaf = acted(believing(policy, 0.0), episode.states, context)
    inner = policy.inner
    lifted = inner.dynamics.lifting.lift(policy.context.augmented(episode).states[0])
    powers = [np.linalg.matrix_power(inner.dynamics.matrix, t) for t in range(STEPS - 1)]
    expected = [inner.outputs @ power @ lifted for power in powers]
    np.testing.assert_allclose(deaf, expected, atol=1e-8)


def test_nothing_measured_is_the_open_loop_whatever_is_believed(policy):
    episode, context = unseen()
    ran_on = acted(policy, episode.states, context, blind())
    deaf = acted(believing(policy, 0.0), episode.states, context)
    np.testing.assert_allclose(ran_on, deaf, atol=1e-9)


def test_an_object_that_is_lost_is_predicted(policy):
    shown = unseen()[0].states.copy()
    shown[3:, 2] = np.nan
    assert error_of(policy, shown) < 1e-3


def test_noise_moves_it_less_than_who_believes_everything():
    policy = learned(FOURIER)
    random = np.random.default_rng(3)
    states = unseen()[0].states
    noisy = states + 0.1 * states.std(axis=0) * random.normal(size=states.shape)
    noisy[0] = states[0]
    assert error_of(policy, noisy) < 0.5 * error_of(believing(policy, 1e15), noisy)


@pytest.mark.parametrize("delay", [1, 3])
def test_late_measurements_are_allowed_for(policy, delay):
    policy = believing(policy, 1e15)  # else nothing that is measured matters here
    late = with_inner(policy, delay=delay)
    states = unseen()[0].states
    shown = np.concatenate([np.full((delay, LAYOUT.size), np.nan), states[:-delay]])
    assert error_of(late, shown) < 1e-3
    assert error_of(policy, shown) > 0.05


def beside(policy, episode, context, shown, other, theirs):
    """Return the actions of `episode` while `other` is run in the same batch."""
    both = np.stack([episode.states[0], other.states[0]])
    memory = policy.begin(both, np.array([context[0], [other.context["side"]]]))
    found = []
    for mine, beside_it in zip(shown[:-1], theirs[:-1], strict=True):
        step = policy.step(memory, np.stack([mine, beside_it]))
        memory = step.memory
        found.append(step.actions[0])
    return np.array(found)


def test_an_episode_depends_on_what_is_missing_in_itself_alone(policy):
    (one, context), other = unseen(), demonstration(5)
    shown = one.states.copy()
    shown[2::3] = np.nan
    found = beside(policy, one, context, shown, other, other.states)
    np.testing.assert_allclose(found, acted(policy, one.states, context, shown), atol=1e-9)


def test_an_episode_depends_on_the_noise_of_itself_alone():
    policy = learned(FOURIER)
    (one, context), other = unseen(), demonstration(5)
    spread = other.states.std(axis=0)
    noisy = other.states + spread * np.random.default_rng(2).normal(size=other.states.shape)
    calm = beside(policy, one, context, one.states, other, other.states)
    found = beside(policy, one, context, one.states, other, noisy)
    np.testing.assert_allclose(found, calm, rtol=0.0, atol=1e-14)  # but for a product's rounding


def test_one_robot_may_measure_nothing(policy):
    episode, context = unseen()
    session = Session(policy)
    session.reset(episode.states[0], context=episode.context)
    actions = [session.act() for _ in range(4)]
    np.testing.assert_allclose(
        actions, acted(policy, episode.states, context, blind())[:4], atol=1e-9
    )


class Following:
    """A controller whose action is the way that is left."""

    action_size = 2

    def act(self, current, desired):
        return desired - current


def fed_back(policy, states, shown, context):
    """Return what the controller adds to the actions, when every direction is disbelieved."""
    held = believing(policy, 0.0)
    with_it = with_inner(held, controller=Following())
    return acted(with_it, states, context, shown) - acted(held, states, context, shown)


def test_a_lag_that_persists_is_made_up_for(policy):
    episode, context = unseen()
    held_back = episode.states.copy()
    held_back[:, 0] -= 0.2
    added = fed_back(policy, episode.states, held_back, context)
    np.testing.assert_allclose(added[5:, 0], 0.2, rtol=0.1)
    np.testing.assert_allclose(added[:, 1], 0.0, atol=0.01)


def test_noise_is_not_fed_back(policy):
    episode, context = unseen()
    jumping = episode.states.copy()
    jumping[1:, 0] += 0.2 * (-1.0) ** np.arange(STEPS - 1)
    added = fed_back(policy, episode.states, jumping, context)
    np.testing.assert_allclose(added, 0.0, atol=0.01)


def test_late_lags_are_fed_back_in_as_many_parts(policy):
    episode, context = unseen()
    held_back = episode.states.copy()
    held_back[:, 0] -= 0.2
    late = np.concatenate([held_back[:1], held_back[:1], held_back[:1], held_back[:-3]])
    added = fed_back(with_inner(policy, delay=3), episode.states, late, context)
    np.testing.assert_allclose(added[8:, 0], 0.05, rtol=0.1)


def test_a_controller_is_learned_only_if_every_action_drives_a_joint():
    assert learned().inner.controller is not None
    wider = [
        replace(each, actions=np.column_stack([each.actions, each.actions[:, 0]])) for each in SHOWN
    ]
    assert KoopmanPolicyLearner(LINEAR).fit(wider).controller is None


def test_leaving_an_episode_out_is_the_same_as_learning_without_it():
    lifting = FOURIER.selected(SHOWN).lifting
    moments = TransitionMoments.with_actions(lifting, SHOWN, 2)
    ridge = Ridge(1e-3)
    damping = ridge.damping(moments.action_equations)
    for index in (0, 7):
        left_out = SHOWN[index]
        rest = [each for each in SHOWN if each is not left_out]
        lifted = lifting.lift(left_out.states[:-1])
        quick = left_out_errors(
            moments.action_equations, ridge, lifted, left_out.actions, 1.0 / len(SHOWN)
        )
        without = TransitionMoments.with_actions(lifting, rest, 2)
        gram = without.gram + len(SHOWN) * damping * np.eye(len(without.gram))
        slow = left_out.actions - lifted @ np.linalg.solve(gram, without.outputs.T)
        np.testing.assert_allclose(quick, slow, atol=1e-10)


def test_moments_subtract_as_they_add():
    lifting = LINEAR.selected(SHOWN).lifting
    whole, part = (TransitionMoments.with_actions(lifting, some, 2) for some in (SHOWN, SHOWN[:4]))
    rest = TransitionMoments.with_actions(lifting, SHOWN[4:], 2)
    np.testing.assert_allclose((whole - part).A, rest.A, atol=1e-12)
    np.testing.assert_allclose((whole - part).outputs, rest.outputs, atol=1e-12)
    assert (whole - part).demonstrations == 16


def test_the_ridges_are_selected_without_a_validation_set():
    some, one = (10.0, 1e-9), (1e-9,)
    chosen, fixed = (
        ConditionedLearner(
            KoopmanPolicyLearner(replace(LINEAR, ridges=ridges), operator_ridges=ridges)
        ).fit(SHOWN)
        for ridges in (some, one)
    )
    np.testing.assert_array_equal(chosen.inner.outputs, fixed.inner.outputs)
    np.testing.assert_array_equal(chosen.inner.dynamics.matrix, fixed.inner.dynamics.matrix)


def test_one_demonstration_is_enough_to_learn_something():
    policy = KoopmanPolicyLearner(LINEAR).fit(SHOWN[:1])
    assert np.isfinite(acted(policy, SHOWN[0].states)).all()


@pytest.mark.parametrize(
    "settings",
    [{"noise": 0.0}, {"pace": 0.0}, {"horizon": 0}, {"folds": 1}, {"operator_ridges": ()}],
)
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(InputError, match="found"):
        KoopmanPolicyLearner(**settings)


def test_an_episode_that_begins_outside_the_demonstrations_believes_what_it_measures(policy):
    episode, context = unseen()
    states = episode.states
    clone = LiftedPolicy(policy.inner.dynamics, policy.inner.outputs)
    far = states + 50.0 * np.ptp(states, axis=0).max()
    inside, outside = policy.begin(states[:1], context), policy.begin(far[:1], context)
    assert not inside.inner.outside[0]
    assert outside.inner.outside[0]
    shown = policy.context.augment(far[:1], policy.context.constants(far[:1], context))
    np.testing.assert_allclose(
        policy.step(outside, far[:1]).actions, clone.step(None, shown).actions, rtol=1e-9
    )


def left_out(policy):
    """Return episodes that no policy was learned from, as `can_act` is shown them."""
    shown = [policy.context.augmented(demonstration(seed)) for seed in (90, 91, 92)]
    lifting = policy.inner.dynamics.lifting
    return [Episode(each.states, lifting.lift(each.states), each.actions) for each in shown]


def test_an_operator_can_act_if_it_is_better_than_the_mean_action(policy):
    running_away = with_operator(believing(policy, 1e-3), 1.5 * policy.inner.dynamics.matrix)
    assert can_act([policy.inner], [left_out(policy)])
    assert not can_act([running_away.inner], [left_out(policy)])
    assert not can_act([policy.inner, running_away.inner], [left_out(policy)] * 2)


def test_an_operator_that_cannot_act_leaves_the_actions_to_measurements(monkeypatch):
    monkeypatch.setattr(koopman_learner, "can_act", lambda policies, episodes: False)
    policy = learned(FOURIER)
    cloned = replace(policy, inner=LiftedPolicy(policy.inner.dynamics, policy.inner.outputs))
    episode, context = unseen()
    np.testing.assert_allclose(
        acted(policy, episode.states, context), acted(cloned, episode.states, context), atol=1e-9
    )


def test_with_nothing_left_out_principal_features_act_as_all_features_do(monkeypatch):
    def fitted():
        learner = KoopmanPolicyLearner(replace(FOURIER, ridges=(1e-4,)), least=1e-300)
        return ConditionedLearner(learner).fit(SHOWN)

    turned = fitted()
    monkeypatch.setattr(koopman_learner, "principal", lambda lifting, states, least: lifting)
    plain = fitted()
    episode, context = unseen()
    assert type(plain.inner.dynamics.lifting.inner) is not type(turned.inner.dynamics.lifting.inner)
    np.testing.assert_allclose(
        acted(turned, episode.states, context), acted(plain, episode.states, context), atol=1e-6
    )


def test_how_much_is_learned_of_actions_is_asked_of_what_is_measured(policy):
    """A K that forgets leads every episode astray, and is no reason to record more of them."""
    forgetting = with_operator(policy, np.zeros_like(policy.inner.dynamics.matrix))
    assert unexplained(forgetting, SHOWN) < 1e-6
