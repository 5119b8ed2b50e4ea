"""The description of acting that everything else is written from does what the policy does."""

import sys

import numpy as np
import pytest

from kodex.baselines import NgfTimeDynamics
from kodex.demonstrations import demonstrations_from
from kodex.errors import InputError
from kodex.export import program_of, samples_of
from kodex.export.samples import act_along, largest_difference, refuse_above, tolerance
from kodex.koopman import KoopmanLearner
from kodex.lifting import DelayLearner
from kodex.policies import fit
from kodex.policies.monitor import monitored
from kodex.policies.parts import with_part
from tests.export.policies import DEMONSTRATIONS, KINDS, KOOPMAN, SINGLE, made, tracking


@pytest.mark.parametrize("kind", [*KINDS, SINGLE])
def test_a_program_acts_as_its_policy(kind):
    policy = made(kind)
    samples, program = samples_of(policy), program_of(policy)
    memory, actions = program.begin(samples.states[:, 0], samples.context), []
    for at in range(samples.states.shape[1]):
        action, memory = program.step(memory, samples.states[:, at])
        actions.append(action)
    scale = np.abs(samples.actions).max()
    assert largest_difference(np.stack(actions, axis=1), samples.actions) <= (
        1e-5 * scale if kind == SINGLE else 1e-12 * scale
    )


def test_an_operator_that_acts_does_so_whatever_was_not_measured():
    policy = made(KOOPMAN)
    samples, program = samples_of(policy), program_of(policy)
    states = samples.states.copy()
    missing = np.random.default_rng(0).random(states.shape) < 0.3
    missing[:, ::3] = False
    missing[:, 4:9] = True  # nothing at all, for longer than the correction's horizon
    missing[:, 0] = False
    states[missing] = np.nan
    wanted = act_along(policy, states, samples.context).actions
    memory, actions = program.begin(states[:, 0], samples.context), []
    for at in range(states.shape[1]):
        action, memory = program.step(memory, states[:, at])
        actions.append(action)
    np.testing.assert_allclose(np.stack(actions, axis=1), wanted, atol=1e-11)
    assert np.abs(wanted - samples.actions).max() > 1e-3


def test_an_operator_for_late_measurements_is_refused():
    policy = made(KOOPMAN)
    with pytest.raises(InputError, match="late measurements"):
        program_of(with_part(policy, "delay", 2))


def test_a_monitor_is_left_behind():
    policy = made("set3: open loop, ridge controller")
    watched = monitored(policy, DEMONSTRATIONS)
    samples = samples_of(watched)
    np.testing.assert_array_equal(samples.actions, samples_of(policy).actions)


def test_a_policy_of_another_kind_is_refused_by_its_name():
    policy = tracking(KoopmanLearner())
    stranger = NgfTimeDynamics.__new__(NgfTimeDynamics)
    with pytest.raises(InputError, match="NgfTimeDynamics cannot be exported"):
        program_of(_with(policy, stranger))


def test_a_delay_embedding_is_refused():
    with pytest.raises(InputError, match="lifting of one state"):
        program_of(
            _with(tracking(KoopmanLearner()), KoopmanLearner(DelayLearner(2)).fit(DEMONSTRATIONS))
        )


@pytest.mark.parametrize("difference", [1e-3, np.inf, np.nan])
def test_an_export_that_does_something_else_is_refused(difference):
    with pytest.raises(InputError, match="nothing was written"):
        refuse_above(difference, 1e-9, "C")


def test_what_is_not_a_number_is_refused_even_if_numpy_rounds_without_bound():
    with pytest.raises(InputError):
        refuse_above(np.inf, np.inf, "C")


def test_float64_may_differ_by_rounding_and_by_no_more():
    exact = samples_of(made("knn with context"))
    assert exact.rounding == 0.0
    assert tolerance(exact, "float64") == pytest.approx(1e-12 * np.abs(exact.actions).max())
    single = samples_of(made(SINGLE))
    assert 1e-8 < single.rounding < 1e-5  # its network sums in float32
    assert tolerance(single, "float64") == 10.0 * single.rounding


def test_nan_counts_as_an_infinite_difference():
    assert largest_difference(np.array([np.nan]), np.array([1.0])) == np.inf


def _with(policy, dynamics):
    object.__setattr__(policy, "dynamics", dynamics)  # as the constructor would ask for a layout
    return policy


def test_a_skill_of_ones_own_may_have_the_name_of_a_task_and_needs_no_simulator(monkeypatch):
    random = np.random.default_rng(0)
    states, actions = random.normal(size=(6, 30, 3)), random.normal(size=(6, 29, 2))
    own = fit(demonstrations_from(states, actions, task="door"))
    assert samples_of(own).states.shape[2] == 3
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for name in [each for each in sys.modules if each.startswith("kodex.tasks")]:
        monkeypatch.delitem(sys.modules, name)
    assert samples_of(own).states.shape[2] == 3
