"""The public checkers: kodex's own parts pass, and each broken promise is found."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from kodex.controllers import PdControllerLearner, RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.lifting import DelayLearner, FourierLearner, PaperPolynomialLearner, StandardisedLearner
from kodex.tasks import TASKS, task
from kodex.testing import check_controller, check_lifting, check_policy, check_task
from tests.controllers.known_servos import SERVOS, affine_action
from tests.controllers.known_servos import demonstrations as tracked
from tests.policies.toy_skill import LAYOUT, demonstrations

SHOWN = demonstrations()[:3]
STATES = np.concatenate([each.states[:10] for each in SHOWN])
TRACKED = tracked(affine_action)


class Zeros:
    """A policy that does nothing, as short as one can be."""

    spec = PolicySpec(layout=LAYOUT, action_size=2)

    def begin(self, first, context=None):
        return 0

    def step(self, memory, observed):
        if observed.shape[1:] != (LAYOUT.size,):
            raise InputError(f"a state is {LAYOUT.size} numbers; found {observed.shape}")
        return Step(np.zeros((len(observed), 2)), memory + 1)

    def predict(self, first, horizon, context=None):
        raise InputError("it has no reference")


class Careless(Zeros):
    """Takes an observation of any size."""

    def step(self, memory, observed):
        return Step(np.zeros((len(observed), 2)), memory)


class Forgetful(Zeros):
    """Keeps its memory inside."""

    count = 0

    def step(self, memory, observed):
        self.count += 1
        return replace_actions(super().step(memory, observed), self.count)


class Crowded(Zeros):
    """Acts on the mean of the batch."""

    def step(self, memory, observed):
        return replace_actions(super().step(memory, observed), observed.mean())


class Boastful(Zeros):
    """Promises a reference that it does not have."""

    spec = replace(Zeros.spec, reference=True)


def replace_actions(step, number):
    return step._replace(actions=step.actions + number)


def test_the_shortest_policy_passes():
    check_policy(Zeros(), SHOWN)


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (object(), "lacks a part"),
        (Careless(), "must refuse an observation of another size"),
        (Forgetful(), "(?s)must not be kept inside|must not depend"),
        (Crowded(), "must not depend on those beside it"),
        (Boastful(), "must match `step`"),
    ],
)
def test_a_policy_that_breaks_a_promise_is_found(policy, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_policy(policy, SHOWN)


@pytest.mark.parametrize(
    "learner",
    [
        PaperPolynomialLearner(3),
        StandardisedLearner(FourierLearner(count=20), clip=6.0),
        DelayLearner(3),
    ],
)
def test_liftings_pass(learner):
    check_lifting(learner.fit(LAYOUT, STATES), STATES)


@dataclass(frozen=True)
class Changed:
    """A lifting of which some parts are replaced."""

    inner: object
    changes: dict

    def __getattr__(self, name):
        changes = object.__getattribute__(self, "changes")
        return changes[name] if name in changes else getattr(self.inner, name)

    def lift(self, states):
        return self.changes.get("lift", self.inner.lift)(states)

    def stored(self):
        return self.inner.stored()

    @classmethod
    def restore(cls, stored):
        return PaperPolynomialLearner(3).fit(LAYOUT, STATES)


FITTED = PaperPolynomialLearner(3).fit(LAYOUT, STATES)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"names": ("same",) * len(FITTED.names)}, "a name of its own"),
        ({"names": FITTED.names[:-1]}, r"lift gives \(..., p\)"),
        ({"offset": FITTED.offset + 1.0}, "must be the newest state"),
        ({"lift": lambda states: FITTED.lift(states[..., : LAYOUT.size])}, "must refuse states"),
        ({"lift": lambda states: FITTED.lift(states).astype("f4")}, "float64"),
        ({"lift": lambda states: FITTED.lift(states) + (states.ndim == 1)}, "alone and beside"),
    ],
)
def test_a_lifting_that_breaks_a_promise_is_found(changes, sentence):
    check_lifting(Changed(FITTED, {}), STATES)
    with pytest.raises(AssertionError, match=sentence):
        check_lifting(Changed(FITTED, changes), STATES)


@pytest.mark.parametrize("learner", [RidgeControllerLearner(), PdControllerLearner(SERVOS)])
def test_controllers_pass(learner):
    check_controller(learner.fit(TRACKED), TRACKED)


def test_a_controller_that_breaks_a_promise_is_found():
    whole = PdControllerLearner(SERVOS).fit(TRACKED)

    class Broken:
        action_size = 3

        def __init__(self, act):
            self.act = act

        def stored(self):
            return whole.stored()

        @classmethod
        def restore(cls, stored):
            return whole

    check_controller(Broken(whole.act), TRACKED)
    for act, sentence in (
        (lambda now, then: whole.act(now, then)[..., :2], "actions must be"),
        (lambda now, then: whole.act(now, then) * np.nan, "finite"),
        (lambda now, then: whole.act(now, then) + now.mean(), "must not depend"),
        (lambda now, then: whole.act(now, then) + 1.0, "bit for bit"),
        (lambda now, then: np.zeros((*now.shape[:-1], 3)), "must refuse joints"),
    ):
        with pytest.raises(AssertionError, match=sentence):
            check_controller(Broken(act), TRACKED)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_pass(name):
    check_task(task(name))


def test_a_task_that_breaks_a_promise_is_found():
    door = task("door")
    with pytest.raises(AssertionError, match="lacks a part"):
        check_task(object())
    always = replace(door, succeeded=lambda progress: np.ones_like(progress, dtype=bool))
    with pytest.raises(AssertionError, match=r"maps progress \(..., T\) to"):
        check_task(always)
    still = {"in": lambda uniform: np.zeros_like(uniform)}
    with pytest.raises(AssertionError, match="another seed must give other starts"):
        check_task(replace(door, draw=still))
    seen = iter(range(10**6))
    counting = replace(door, reward=lambda physics: door.reward(physics) + next(seen))
    with pytest.raises(AssertionError, match="forget all that was"):
        check_task(counting)
