"""What is said of K is what happens when K is taken away."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.koopman import Correction, KoopmanDynamics, KoopmanLearner, ObserverLearner, Ridge
from kodex.lifting import FourierLearner, Monomials, StandardisedLearner
from kodex.policies import (
    ConditionedLearner,
    KoopmanPolicy,
    KoopmanPolicyLearner,
    LiftedLearner,
    TrackingLearner,
    fit,
    monitored,
)
from kodex.policies.diagnostics import believed_shares, fading, operator_role
from kodex.policies.files import restored
from kodex.policies.parts import dynamics_of
from kodex.policies.recipes import recipe
from tests.policies.briefly import brief_training
from tests.policies.toy_skill import LAYOUT, demonstrations

SHOWN = demonstrations()
FEW = LiftedLearner(StandardisedLearner(FourierLearner(count=30, scale=0.5), clip=6.0))
LEARNERS = {
    "default": ConditionedLearner(FEW),
    "koopman": ConditionedLearner(KoopmanPolicyLearner(features=FEW)),
    "observer": TrackingLearner(ObserverLearner(KoopmanLearner(FEW.lifting, Ridge(1e-4)))),
    **{name: recipe(name).learner for name in ("set3", "knn", "bc")},
}


@pytest.fixture(scope="module", params=LEARNERS)
def policy(request):
    with pytest.MonkeyPatch.context() as patch:
        brief_training(patch)
        return LEARNERS[request.param].fit(SHOWN)


def without_operator(stored):
    """Return what was stored with K = 0."""
    arrays = dict(stored.arrays)
    if stored.type == "koopman":
        arrays["matrix"] = np.zeros_like(arrays["matrix"])
    parts = {name: without_operator(part) for name, part in stored.parts.items()}
    return replace(stored, arrays=arrays, parts=parts)


def actions_of(policy, shown):
    """Return the actions for the states of a demonstration."""
    context = np.array([[shown.context[name] for name in policy.spec.context]])
    memory = policy.begin(shown.states[:1], context if policy.spec.context else None)
    found = []
    for state in shown.states[:-1]:
        step = policy.step(memory, state[None])
        memory = step.memory
        found.append(step.actions[0])
    return np.array(found)


def test_actions_depend_on_the_operator_where_it_is_said_and_nowhere_else(policy):
    shown = SHOWN[3]  # one that begins inside: outside every measurement is believed
    bare = restored(without_operator(policy.stored()))
    change = np.abs(actions_of(policy, shown) - actions_of(bare, shown)).max()
    if operator_role(policy).acts:
        assert change > 0.01
    else:
        assert change == 0.0


def test_a_policy_without_an_operator_says_so(policy):
    said = operator_role(policy).sentence
    assert said.startswith("Nothing: this policy has no K") == (dynamics_of(policy) is None)


def test_a_monitor_changes_no_role():
    plain = LEARNERS["default"].fit(SHOWN)
    watched = operator_role(monitored(plain, SHOWN))
    assert (watched.acts, watched.sentence) == (False, operator_role(plain).sentence)
    assert watched.facts[-1][0] == "monitor"


def test_belief_is_the_gain_of_a_kalman_filter_where_the_lifting_is_the_state():
    # E = diag(3, 1, 1/4) and R = I: gains λ / (λ + 1). The third never changes: it is known.
    correction = Correction.of(np.diag([3.0, 1.0, 0.25]), np.eye(3))
    policy = KoopmanPolicy(
        dynamics=KoopmanDynamics(Monomials(LAYOUT, degree=1), np.eye(3)),
        outputs=np.eye(2, 3),
        correction=correction,
        controller=None,
        changing=np.array([True, True, False]),
        begins=np.array([[-9.0] * 3, [9.0] * 3]),
    )
    np.testing.assert_allclose(believed_shares(policy, SHOWN), [0.75, 0.5, np.nan], atol=1e-3)
    assert believed_shares(fit(SHOWN, recipe="knn"), SHOWN) is None


def test_fading_is_put_into_words():
    assert fading(0.5 * np.eye(2)).startswith("fade, the largest mode is 0.5000, certified: by 0.5")
    assert fading(np.diag([1.2, 0.1])) == "do not fade: the largest mode is 1.2000"
    assert fading(np.diag([1.0, 0.1])).endswith("1 modes at 1 are held")
    assert fading(np.full((2, 2), np.inf)) == "grow beyond every number"


def test_inspect_shows_every_policy_what_its_operator_does(policy, tmp_path, capsys):
    policy.save(tmp_path / "policy")
    assert main(["inspect", str(tmp_path / "policy")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert operator_role(policy).sentence[:40] in said
    assert ("Modes of K" in said) == (dynamics_of(policy) is not None)


def test_inspect_takes_a_run_and_tries_its_validation_demonstrations(tmp_path, capsys):
    LEARNERS["koopman"].fit(SHOWN[:15]).save(
        tmp_path / "policy", provenance={"counts": {"training": 15, "validation": 5}}
    )
    write(tmp_path / "demonstrations.h5", TrajectorySet(SHOWN))
    assert main(["inspect", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "K drives it",
        "believed by more than 90 %",
        "measured at every 10th",
        "Eigenpairs (ResDMD), on 5 validation demonstrations of the run",
        "residual below 0.1",
        "out of their span",
        "How much of an innovation is believed",
        "object, median",
    ):
        assert part in said
