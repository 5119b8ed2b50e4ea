"""Every baseline keeps the same promises."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from toy_motions import (
    LAYOUT,
    MOTIONS,
    STEPS,
    action,
    demonstrations,
    firsts,
    states_of,
)

from kodex.baselines import (
    BASELINES,
    CloningLearner,
    LstmLearner,
    NdpLearner,
    NgfLearner,
    NgfTimeLearner,
    NnLearner,
    baseline_learner,
)
from kodex.baselines.dmp import Dmp
from kodex.baselines.ngf import WarmUp
from kodex.controllers import RidgeControllerLearner
from kodex.errors import InputError, MissingFeatureError
from kodex.interfaces import Policy, ReferenceDynamics
from kodex.networks.training import TrainingConfig
from kodex.policies import TrackingPolicy, load, save
from kodex.policies.files import DYNAMICS, POLICIES, restored, restored_dynamics
from kodex.storage import read_model, write_model
from kodex.trajectory import StateLayout, Trajectory


def fast(epochs, batch_size, learning_rate):
    return TrainingConfig(epochs, batch_size, learning_rate, cosine=True, clip=1.0)


# The fair settings with small networks, and what they may miss on average by joint and step;
# a reference that stays where it began misses 0.90 of the rotation, 0.73 of the oscillator.
SMALL = {
    "nn": NnLearner((32, 32), fast(60, 64, 5e-3), unroll=8, standardise=True),
    "lstm": LstmLearner(16, 32, fast(60, 20, 2e-2), teacher_forcing=False, standardise=True),
    "ndp": NdpLearner(
        (64, 64),
        Dmp(10),
        duration=1.0,
        velocity=None,
        goal_gain=1.0,
        weight_gain=100.0,
        config=fast(150, 10, 1e-2),
        standardise=True,
    ),
    "ngf": NgfLearner(
        (32, 16),
        activation="smooth",
        normalised=False,
        initial_std=None,
        diagonal=True,
        last_gain=0.1,
        initial_damping=0.7,
        period=1.0,
        integrator="energy",
        warm_ups=(WarmUp(4, fast(3, 40, 1e-2)), WarmUp(8, fast(2, 40, 5e-3))),
        config=fast(30, None, 1e-2),
        standardise=True,
    ),
    "ngf-time": NgfTimeLearner(
        16, (16, 16), period=0.1, damping_sign=-1, config=fast(60, 20, 1e-2), standardise=True
    ),
    "bc": CloningLearner(config=fast(40, 64, 5e-3), standardise=True),
}
ALLOWED = {"nn": 0.12, "lstm": 0.15, "ndp": 0.25, "ngf": 0.25, "ngf-time": 0.15, "bc": 0.05}
every_baseline = pytest.mark.parametrize("name", SMALL)
every_reference = pytest.mark.parametrize("name", [name for name in SMALL if name != "bc"])
every_setting = pytest.mark.parametrize(
    ("name", "setting"), [(name, setting) for name in BASELINES for setting in ("paper", "fair")]
)


def brief(learner, epochs=1):
    """Return `learner` with hardly any training."""
    return replace(learner, config=replace(learner.config, epochs=epochs))


def answers(fitted, first):
    """Return what `fitted` predicts: references, or actions of the first states."""
    if isinstance(fitted, Policy):
        return fitted.act(first)
    return fitted.predict(first, STEPS)


@pytest.fixture(scope="module")
def barely_fitted():
    some = demonstrations(MOTIONS["rotation"], 8)
    return {name: brief(learner).fit(some) for name, learner in SMALL.items()}


def test_every_baseline_is_tried_here():
    assert set(SMALL) == set(BASELINES) == set(ALLOWED)
    assert set(SMALL) - {"bc"} == set(DYNAMICS) - {"koopman", "observer"}
    assert "bc" in POLICIES


@every_baseline
@pytest.mark.parametrize("motion", MOTIONS)
def test_it_learns_a_motion_to_the_stated_error(name, motion):
    matrix = MOTIONS[motion]
    fitted = SMALL[name].fit(demonstrations(matrix, 40), demonstrations(matrix, 10, seed=1))
    unseen = states_of(matrix, firsts(30, seed=2))
    if name == "bc":
        error = fitted.act(unseen) - action(unseen)
    else:
        error = LAYOUT.robot_part(fitted.predict(unseen[:, 0], STEPS) - unseen)
    assert np.sqrt(np.mean(error**2)) < ALLOWED[name]


@every_setting
def test_both_settings_learn_something_in_an_epoch_or_two(name, setting):
    learner = brief(baseline_learner(name, setting, "door", show_progress=False), epochs=2)
    some = demonstrations(MOTIONS["damped oscillator"], 4)
    fitted = learner.fit(some)
    assert isinstance(fitted, Policy if name == "bc" else ReferenceDynamics)
    assert np.isfinite(answers(fitted, firsts(3, seed=5))).all()


@every_baseline
def test_the_same_seed_gives_the_same_and_another_seed_another(name):
    some, first = demonstrations(MOTIONS["rotation"], 4), firsts(2, seed=3)
    learner = brief(SMALL[name])
    same, again, other = (
        answers(each.fit(some), first) for each in (learner, learner, replace(learner, seed=1))
    )
    assert same.tobytes() == again.tobytes()
    assert same.tobytes() != other.tobytes()


@every_baseline
def test_saved_and_loaded_it_predicts_the_same(name, barely_fitted, tmp_path):
    fitted, first = barely_fitted[name], firsts(3, seed=4)
    write_model(fitted.stored(), tmp_path / "model")
    restore = restored if name == "bc" else restored_dynamics
    again = restore(read_model(tmp_path / "model"))
    assert again.layout == LAYOUT
    assert answers(again, first).tobytes() == answers(fitted, first).tobytes()


@every_baseline
def test_a_policy_of_it_is_saved_and_loaded_to_equal_actions(name, barely_fitted, tmp_path):
    policy = barely_fitted[name]
    if name != "bc":
        controller = RidgeControllerLearner().fit(demonstrations(MOTIONS["rotation"], 8))
        policy = TrackingPolicy(policy, controller)
    save(policy, tmp_path / "policy")
    loaded, seen = load(tmp_path / "policy"), firsts(3, seed=6)
    before, after = (each.step(each.begin(seen), seen)[0] for each in (policy, loaded))
    assert before.shape == (3, 2)
    assert before.tobytes() == after.tobytes()


@every_reference
def test_references_step_by_step_are_those_predicted_at_once(name, barely_fitted):
    dynamics, first = barely_fitted[name], firsts(3, seed=4)
    predicted = dynamics.predict(first, STEPS + 4)  # further than was demonstrated
    np.testing.assert_array_equal(predicted[:, 0], first)
    memory = dynamics.begin(first)
    for t in range(1, STEPS + 4):
        reference, memory = dynamics.step(memory, np.full_like(first, np.nan))  # open loop
        np.testing.assert_allclose(reference, predicted[:, t], rtol=1e-9, atol=1e-9)


@every_reference
def test_a_batch_of_any_shape_is_its_episodes(name, barely_fitted):
    dynamics, first = barely_fitted[name], firsts(6, seed=4)
    together = dynamics.predict(first.reshape(2, 3, 3), 9)
    assert together.shape == (2, 3, 9, 3)
    alone = np.stack([dynamics.predict(each, 9) for each in first])
    np.testing.assert_allclose(together.reshape(6, 9, 3), alone, rtol=1e-9, atol=1e-12)


@every_baseline
def test_demonstrations_of_unequal_lengths_are_learned_from(name):
    uneven = demonstrations(MOTIONS["rotation"], 6, lengths=(STEPS, 5, STEPS - 3, 2))
    fitted = brief(SMALL[name]).fit(uneven, uneven[2:])
    assert np.isfinite(answers(fitted, firsts(2, seed=3))).all()


@every_baseline
def test_one_demonstration_alone_is_enough_to_begin_with(name):
    fitted = brief(SMALL[name]).fit(demonstrations(MOTIONS["rotation"], 1))
    assert np.isfinite(answers(fitted, firsts(2, seed=3))).all()


@every_baseline
def test_where_nothing_is_held_out_all_demonstrations_are_learned_from(name):
    some, first = demonstrations(MOTIONS["rotation"], 3), firsts(2, seed=3)
    learner = replace(brief(SMALL[name]), held_out=0.0)
    alone, beside = (learner.fit(some, validation) for validation in (None, some))
    assert answers(alone, first).tobytes() == answers(beside, first).tobytes()
    fewer = replace(learner, held_out=0.34).fit(some)
    assert answers(alone, first).tobytes() != answers(fewer, first).tobytes()


@every_baseline
def test_a_training_resumes_from_its_checkpoint(name, tmp_path):
    some, first = demonstrations(MOTIONS["rotation"], 4), firsts(2, seed=3)
    learner = brief(SMALL[name])
    fitted = learner.fit(some, checkpoint=tmp_path / "at")
    assert [path.name for path in tmp_path.iterdir()] == ["at"]  # all of it is in one place
    again = learner.fit(some, checkpoint=tmp_path / "at")
    assert answers(again, first).tobytes() == answers(fitted, first).tobytes()
    with pytest.raises(InputError, match="other settings or other data"):
        replace(learner, held_out=0.5).fit(some, checkpoint=tmp_path / "at")


@every_baseline
def test_what_cannot_be_learned_from_is_refused_with_the_reason(name):
    learner, (good, *_) = SMALL[name], demonstrations(MOTIONS["rotation"], 1)
    other = StateLayout(robot=("wrist",), object=("ball", "goal"))
    for bad, reason in (
        ([], "no demonstration was given"),
        ([good, Trajectory(LAYOUT, good.states[:1])], "demonstration 1 has a single state"),
        ([Trajectory(LAYOUT, good.states * np.nan)], "demonstration 0 has states that are not"),
        ([good, Trajectory(other, good.states)], "demonstration 1 names its components unlike"),
    ):
        with pytest.raises(InputError, match=reason):
            learner.fit(bad)
    with pytest.raises(InputError, match="validation demonstration 0 names its components unlike"):
        learner.fit([good], [Trajectory(other, good.states)])


@every_reference
def test_a_first_state_of_another_size_is_refused(name, barely_fitted):
    with pytest.raises(InputError, match="must have 3 components"):
        barely_fitted[name].predict(np.zeros((2, 4)), 5)
    with pytest.raises(InputError, match="a horizon must be 1 or more"):
        barely_fitted[name].predict(np.zeros((2, 3)), 0)


@pytest.mark.parametrize("name", ["ngf", "ngf-time"])
def test_a_fabric_moves_the_robot_and_leaves_the_object_where_it_was(name, barely_fitted):
    first = firsts(3, seed=4)
    references = barely_fitted[name].predict(first, 9)
    np.testing.assert_allclose(
        LAYOUT.object_part(references), LAYOUT.object_part(references[:, :1]).repeat(9, axis=1)
    )


def test_cloning_without_actions_is_refused():
    (good, *_) = demonstrations(MOTIONS["rotation"], 1)
    with pytest.raises(InputError, match="demonstration 0 has states but no actions"):
        SMALL["bc"].fit([Trajectory(LAYOUT, good.states)])


@every_baseline
def test_without_torch_learning_says_how_to_get_it_and_acting_goes_on(
    name, barely_fitted, monkeypatch
):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert np.isfinite(answers(barely_fitted[name], firsts(2, seed=3))).all()
    shown = demonstrations(MOTIONS["rotation"], 2)
    if name == "bc":  # its gradients are written out, and NumPy trains it
        assert np.isfinite(answers(brief(SMALL["bc"]).fit(shown), firsts(2, seed=3))).all()
        return
    with pytest.raises(MissingFeatureError, match=f"training {name} needs torch: pip install"):
        SMALL[name].fit(shown)


def test_ndp_begins_as_fast_as_was_demonstrated_on_average():
    shown = demonstrations(MOTIONS["rotation"], 20)
    learner = replace(SMALL["ndp"], config=TrainingConfig(1, 10), show_progress=False)
    firsts_shown = np.stack([each.states[0] for each in shown])
    reached = learner.fit(shown, shown).predict(firsts_shown, 2)
    moved = np.mean([each.states[1] - each.states[0] for each in shown], axis=0)
    # Whatever the network says: Euler's first step knows the velocity only.
    np.testing.assert_allclose(reached[:, 1] - reached[:, 0], np.tile(moved, (20, 1)), atol=1e-9)
