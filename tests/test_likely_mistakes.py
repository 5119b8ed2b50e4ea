"""Likely mistakes in Python are answered with what is needed, and no traceback of kodex's own."""

import re

import pytest

import kodex
from tests.policies.toy_skill import demonstrations

TASK, POLICY = kodex.task("door"), kodex.fit(demonstrations(8))
STARTS = TASK.starts("in", count=1, seed=0)
FOUND = {
    "collect": (lambda: kodex.collect("door"), "a task is needed: kodex.task('door')"),
    "roll out a name": (
        lambda: kodex.roll_out("door", POLICY, STARTS),
        "a task is needed: kodex.task('door')",
    ),
    "roll out a folder": (
        lambda: kodex.roll_out(TASK, "reach-policy", STARTS),
        "a policy is needed: kodex.load('reach-policy')",
    ),
    "roll out a number": (
        lambda: kodex.roll_out(TASK, POLICY, 3),
        "starts are needed: task.starts('in', count=100, seed=0); found 3",
    ),
    "replay": (
        lambda: kodex.replay("door", demonstrations(1)[0]),
        "a task is needed: kodex.task('door')",
    ),
    "session": (
        lambda: kodex.Session("reach-policy"),
        "a policy is needed: kodex.load('reach-policy')",
    ),
    "predictor": (
        lambda: kodex.Predictor("reach-policy"),
        "a policy is needed: kodex.load('reach-policy')",
    ),
    "monitored": (
        lambda: kodex.monitored("reach-policy", demonstrations(8)),
        "a policy is needed: kodex.load('reach-policy')",
    ),
    "save": (
        lambda: kodex.save("reach-policy", POLICY),
        "a policy is needed: kodex.save(policy, folder); found 'reach-policy'",
    ),
    "write twice": (
        lambda: [kodex.write("door.h5", demonstrations(1)) for _ in range(2)],
        "door.h5 exists already; choose another name, or say replace=True (--replace)",
    ),
    "no task": (lambda: kodex.collect(None), "a task is needed: kodex.task('door'); found None"),
}


@pytest.mark.parametrize(("use", "sentence"), FOUND.values(), ids=FOUND)
def test_a_likely_mistake_is_answered_with_what_is_needed(use, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kodex.InputError, match=re.escape(sentence)):
        use()


def test_an_expert_is_asked_for_by_the_task_or_by_its_name():
    assert type(kodex.expert(TASK)) is type(kodex.expert("door"))
    assert kodex.expert(TASK).spec == kodex.expert("door").spec
