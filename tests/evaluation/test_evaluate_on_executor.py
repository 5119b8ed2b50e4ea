"""Evaluations and collections on an executor: the same bits, whoever simulates."""

import pickle

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.evaluation import evaluate
from kodex.experts import collect, expert
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.policies import ConditionedLearner, LiftedLearner, load
from kodex.policies.files import AsItIs, Parcel, packed
from kodex.rollout import Sensors
from kodex.storage import bytes_of_model, model_of_bytes
from kodex.tasks import TASKS, task
from tests.made_executors import Travelling

DOOR = task("door", "heavy-object")
STARTS = DOOR.starts("in", count=5, seed=3)
FOURIER = StandardisedLearner(FourierLearner(count=12, scale=0.5), clip=6.0)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    shown = collect(task("door"), 6, seed=0)
    folder = tmp_path_factory.mktemp("policies") / "door"
    return load(ConditionedLearner(LiftedLearner(FOURIER)).fit(shown).save(folder))


def content(episodes):
    return [
        (each.states.tobytes(), each.actions.tobytes(), each.start, each.succeeded)
        for each in episodes
    ]


@pytest.mark.parametrize("behind", [Sensors(), Sensors(noise=0.1, object_lost=0.2)])
def test_workers_score_and_keep_what_this_process_does(policy, behind):
    sensed = behind.between(policy, np.full(DOOR.layout.size, 0.1), DOOR.horizon)
    found, kept, executor = [], [], Travelling()
    for each in (None, executor):
        episodes, masters = [], []
        found.append(
            evaluate(
                DOOR,
                sensed,
                STARTS,
                expert=expert("door"),
                keep=episodes.extend,
                keep_expert=masters.extend,
                batch_size=2,
                executor=each,
            )
        )
        kept.append((content(episodes), content(masters)))
    assert executor.pieces == 3
    assert kept[0] == kept[1]
    assert (found[0].score, found[0].expert) == (found[1].score, found[1].expert)


def test_scores_come_back_without_the_episodes_unless_they_are_kept(policy):
    executor = Travelling()
    evaluate(DOOR, policy, STARTS, batch_size=5, executor=executor)
    assert executor.received < 10_000


def test_recorded_rollouts_of_an_expert_travel_with_their_starts(policy):
    masters = []
    alone = evaluate(DOOR, policy, STARTS, expert=expert("door"), keep_expert=masters.extend)
    spread = evaluate(DOOR, policy, STARTS, expert=masters, executor=Travelling())
    assert (alone.score, alone.expert) == (spread.score, spread.expert)


def test_workers_collect_the_same_demonstrations():
    found = [collect(task("door"), 27, seed=1, executor=each) for each in (None, Travelling())]
    assert content(found[0]) == content(found[1])


@pytest.mark.parametrize("name", TASKS)
def test_a_task_travels_as_its_name(name):
    sent = pickle.dumps(task(name, "light-hand"))
    assert len(sent) < 100
    received = pickle.loads(sent)
    assert (received.name, received.variation) == (name, "light-hand")
    assert received.succeeded is task(name).succeeded


def test_a_policy_travels_as_its_own_bytes_and_an_expert_as_it_is(policy):
    parcel = packed(policy)
    assert isinstance(parcel, Parcel)
    assert b"kodex" not in parcel.content  # nothing that could be imported or called
    again = pickle.loads(pickle.dumps(parcel)).opened()
    assert again.inner.outputs.tobytes() == policy.inner.outputs.tobytes()
    assert isinstance(packed(expert("door")), AsItIs)


def test_bytes_that_are_no_model_are_refused(policy):
    whole = bytes_of_model(policy.stored())
    for content in (b"", b"nonsense", whole[:50], whole[:-9]):
        with pytest.raises(InputError, match="do not describe a model"):
            model_of_bytes(content)


class Own:
    """A policy that cannot travel."""

    def __init__(self, policy):
        self.spec, self.step = policy.spec, lambda memory, observed: policy.step(memory, observed)
        self.begin = policy.begin


def test_what_cannot_travel_is_one_sentence(policy):
    with pytest.raises(InputError, match="cannot travel to another process"):
        evaluate(DOOR, Own(policy), STARTS, executor=Travelling())
