"""The contract of every policy: each recipe, both settings of each baseline, experts, replays."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kodex.baselines import BASELINES, SIZES
from kodex.errors import InputError
from kodex.experts.actor import Actor
from kodex.policies import Conditioned, Session, fit, load, save
from kodex.policies.recipes import RECIPES, recipe
from kodex.rollout.open_loop import RecordedActions
from kodex.testing import check_policy
from tests.policies.briefly import brief_training
from tests.policies.toy_skill import LAYOUT, demonstrations

SHOWN = demonstrations()
TRAINED = [name for name in RECIPES if name.removesuffix("-paper") in BASELINES] + [
    "paper",
    "bc-10-epochs",
]
CLOSED_FORM = [name for name in RECIPES if name not in TRAINED]
NAMES = [
    *CLOSED_FORM,
    *(f"{name}+context" for name in ("set3", "observer")),
    *(f"{name}-context" for name in ("default", "lifted")),
    *TRAINED,
    *(f"{name}-context" for name in BASELINES),
    *(f"{name}-paper+context" for name in BASELINES),
]


def quick(name):
    """Return the recipe with as little training as shows what its policy is like."""
    found = recipe(name)
    learner = found.learner
    for part, value in (
        ("size", SIZES["small"]),
        ("iterations", 2),
    ):
        learner = _with(learner, part, value)
    return replace(found, learner=learner)


def _with(learner, part, value):
    fields = getattr(type(learner), "__dataclass_fields__", {})
    if part in fields:
        bare = getattr(learner, "name", "") == "bc" and part == "size"
        return learner if bare else replace(learner, **{part: value})
    changed = {
        inside: _with(getattr(learner, inside), part, value)
        for inside in ("inner", "dynamics", "controller")
        if inside in fields
    }
    return replace(learner, **changed) if changed else learner


@pytest.fixture(scope="module")
def learned(request):
    """Return a function from a recipe's name to its policy, each learned once."""
    known = {}

    def policy(name):
        if name not in known:
            with pytest.MonkeyPatch.context() as patch:
                brief_training(patch)
                known[name] = fit(SHOWN, SHOWN[:3], recipe=quick(name))
        return known[name]

    return policy


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_keeps_the_contract(learned, name, tmp_path):
    policy = learned(name)
    check_policy(policy, SHOWN[:4])
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert again.spec == policy.spec
    context = None if not policy.spec.context else np.array([[0.3], [-0.4]])
    first = np.stack([each.states[0] for each in SHOWN[:2]])
    ours = policy.step(policy.begin(first, context), first)
    theirs = again.step(again.begin(first, context), first)
    np.testing.assert_array_equal(ours.actions, theirs.actions)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_shows_whether_the_context_is_given(learned, name):
    given = name.endswith("+context") or (
        not name.endswith(("-context", "-paper"))
        and name
        in ("default", "lifted", "koopman", "knn", "kernel-ridge", "bc-10-epochs", *BASELINES)
    )
    assert learned(name).spec.context == (("side",) if given else ())


@pytest.mark.parametrize("name", NAMES)
def test_one_robot_is_a_batch_of_one_prepared_or_not_and_reset_forgets(learned, name):
    policy = learned(name)
    pair = SHOWN[4:6]
    rows = np.stack([each.states for each in pair], axis=1)
    context = np.array([[each.context["side"]] for each in pair]) if policy.spec.context else None
    memory, sessions = policy.begin(rows[0], context), (Session(policy), Session(policy))
    known = [{name: each.context[name] for name in policy.spec.context} for each in pair]
    sessions[1].reset(rows[0, 0], context=known[0])
    sessions[1].act(rows[0, 0])  # an episode that was broken off
    sessions[0].reset(rows[0, 1], context=known[1], horizon=len(rows))
    sessions[1].reset(rows[0, 1], context=known[1])
    for observed in rows[:5]:
        step = policy.step(memory, observed)
        memory = step.memory
        for session in sessions:
            np.testing.assert_allclose(
                session.act(observed[1]), step.actions[1], rtol=1e-6, atol=1e-8
            )


def test_substeps_inside_a_wrapper_are_those_of_the_inner_policy(learned):
    policy = learned("set3+context")
    often = Conditioned(replace(policy.inner, substeps=5), policy.context)
    assert often.spec.substeps == 5
    first = SHOWN[0].states[:1]
    memory, references = often.begin(first, np.array([[0.5]])), []
    for _ in range(10):
        step = often.step(memory, first)
        memory = step.memory
        references.append(step.reference[0])
    advanced = [not np.array_equal(a, b) for a, b in pairwise(references)]
    assert np.flatnonzero(advanced).tolist() == [4]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_shapes_are_refused_with_what_was_expected(learned, name):
    policy = learned(name)
    session = Session(policy)
    context = dict.fromkeys(policy.spec.context, 0.1)
    with pytest.raises(InputError, match=r"call reset\(state\) first"):
        session.act(np.zeros(3))
    with pytest.raises(InputError, match="must be 3 numbers: joint_0, joint_1, gap; found 5"):
        session.reset(np.zeros(5), context)
    session.reset(np.zeros(3), context)
    with pytest.raises(InputError, match=r"joint_0, joint_1, gap; found shape \(1, 3\)"):
        session.act(np.zeros((1, 3)))
    for odd in ("abc", [[1.0], [1.0, 2.0]], {}, np.zeros((1, 3)), np.ma.masked_all(3), [1j, 0, 0]):
        with pytest.raises(InputError):
            session.act(odd)
    if not policy.spec.accepts_missing:
        with pytest.raises(InputError, match=r"not a finite number.*: joint_1 is nan"):
            session.act([0.0, np.nan, 0.0])
    session.act(np.zeros(3))
    batch = np.zeros((2, 3))
    memory = policy.begin(batch, np.zeros((2, 1)) if policy.spec.context else None)
    with pytest.raises(InputError, match="3"):
        policy.step(memory, np.zeros((2, 4)))


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("+context")])
def test_context_is_given_by_name_and_what_is_missing_is_named(learned, name):
    session = Session(learned(name))
    for context in (None, {}, {"goal": 0.1}):
        with pytest.raises(InputError, match="must have side; missing: side"):
            session.reset(SHOWN[0].states[0], context)
    for odd in (np.nan, "left", None):
        with pytest.raises(InputError, match="side must be finite numbers"):
            session.reset(SHOWN[0].states[0], {"side": odd})
    for odd in (3, [0.3], "side"):
        with pytest.raises(InputError, match="must be numbers by name; found"):
            session.reset(SHOWN[0].states[0], odd)
    with pytest.raises(InputError, match="knows the context side; found and"):
        session.reset(SHOWN[0].states[0], {"side": 0.3, "and": "more"})


def test_joints_alone_are_enough_where_a_reference_knows_the_object(learned):
    policy = learned("set3")
    states = SHOWN[0].states
    sessions = Session(policy), Session(policy)
    for session in sessions:
        session.reset(states[0])
    for row in states[:4]:
        np.testing.assert_array_equal(sessions[0].act(row[:2]), sessions[1].act(row))
    blind = Session(learned("bc-paper"))
    blind.reset(states[0])
    with pytest.raises(InputError, match="must be 3 numbers: joint_0, joint_1, gap; found 2"):
        blind.act(states[0][:2])


def test_policies_without_a_reference_refuse_to_predict(learned):
    actor = Actor.untrained(np.zeros((4, 6)), np.ones((4, 2)), hidden=(3,))
    for policy in (learned("bc"), actor, RecordedActions(np.zeros((1, 4, 2)))):
        assert not policy.spec.reference
        with pytest.raises(InputError, match="reference"):
            context = np.zeros((1, 1)) if policy.spec.context else None
            policy.predict(np.zeros((1, 3)), 5, context)


def test_a_policy_has_a_short_name(learned):
    for name in ("default", "set3", "bc", "paper"):
        assert len(repr(learned(name))) < 200
        assert "array" not in repr(learned(name))


def test_another_task_layout_or_action_size_is_refused(learned):
    spec = learned("default").spec
    spec.check_task("door", LAYOUT, 2)
    with pytest.raises(InputError, match="learned for door; the task is tool"):
        spec.check_task("tool", LAYOUT, 2)
    with pytest.raises(InputError, match="states than those of door, which has 'joint_1' as robot"):
        spec.check_task("door", OTHER, 2)
    with pytest.raises(InputError, match="actions of 2 components; door takes 5"):
        spec.check_task("door", LAYOUT, 5)


def _spoiled(number, **fields):
    shown = list(SHOWN)
    shown[number] = replace(shown[number], **fields)
    return shown


def _with_nan(field):
    values = np.array(getattr(SHOWN[3], field))
    values[2, 0] = np.nan
    return {field: values}


START = replace(SHOWN[3].start, values={"side": np.nan})
OTHER = replace(LAYOUT, robot=("joint_1", "joint_0"))
ODD = {
    "none": ([], "no demonstration was given"),
    "no list": (None, "must be a trajectory; found NoneType"),
    "a NaN in a start": (_spoiled(3, start=START), "is not a finite number"),
    "a NaN in a state": (_spoiled(3, **_with_nan("states")), "not finite numbers"),
    "other names": (_spoiled(3, layout=OTHER), "names its components unlike"),
    "another task": (_spoiled(3, start=replace(SHOWN[3].start, task="tool")), "of one task"),
    "a NaN in an action": (_spoiled(3, **_with_nan("actions")), "not finite numbers"),
    "other actions": (_spoiled(3, actions=np.zeros((15, 3))), "of 3 components"),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_refuses_odd_demonstrations_with_the_same_sentence(name, monkeypatch):
    brief_training(monkeypatch)
    for odd, reason in ODD.values():
        with pytest.raises(InputError, match=reason):
            fit(odd, SHOWN[:3], recipe=quick(name))
    for odd, reason in list(ODD.values())[2:6]:  # whether or not it selects by them
        with pytest.raises(InputError, match=reason):
            fit(SHOWN, odd[2:5], recipe=quick(name))


def test_counts_are_numbers_as_well(monkeypatch):
    whole = [
        replace(each, states=np.rint(9 * each.states).astype(int), actions=each.actions)
        for each in SHOWN
    ]
    for name in CLOSED_FORM:
        fit(whole, recipe=name)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_shown_in_one_line(learned, name):
    shown = repr(learned(name))
    assert "\n" not in shown
    assert len(shown) < 250


HUGE = np.full(LAYOUT.size, 1e300)
NO_STATES = ["abc", [1.0, [2.0]], {}, np.nan, HUGE, -HUGE, HUGE * np.inf, HUGE * 1j, [10**400] * 3]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_refuses_what_is_no_measurement(learned, name):
    policy = learned(name)
    context = dict.fromkeys(policy.spec.context, 0.1)
    session = Session(policy)
    session.reset(SHOWN[0].states[0], context, horizon=5)
    for odd in NO_STATES:
        with pytest.raises(InputError):
            session.act(odd)
        with pytest.raises(InputError):
            session.reset(odd, context)
    for horizon in (0, -1, 2.5, "10", HUGE):
        with pytest.raises(InputError, match="horizon must be a whole number"):
            session.reset(SHOWN[0].states[0], context, horizon=horizon)
    assert np.isfinite(session.act(SHOWN[0].states[0])).all()
