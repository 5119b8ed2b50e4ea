"""The table of baselines: the paper's sizes for each task, and names that are nearly right."""

import pytest

from kodex.baselines import METHODS, method
from kodex.errors import InputError

# The sizes that won on the paper's validation sets (its appendix F).
NN = {
    "tool": (32, 64, 32),
    "door": (64, 128, 64),
    "relocation": (64, 128, 64),
    "reorientation": (64, 128, 64),
}
LSTM = {
    "tool": (175, 250),
    "door": (100, 200),
    "relocation": (250, 300),
    "reorientation": (100, 200),
}
NGF = {
    "tool": (128, 64),
    "door": (256, 128),
    "relocation": (256, 128),
    "reorientation": (256, 128),
}
every_task = pytest.mark.parametrize("task", NN)
every_setting = pytest.mark.parametrize("setting", ["paper", "fair"])


@every_task
@every_setting
def test_the_networks_are_as_large_as_the_paper_chose_them(task, setting):
    lstm = method("lstm", setting, task)
    assert method("nn", setting, task).hidden == NN[task]
    assert (lstm.inputs, lstm.hidden) == LSTM[task]
    assert method("ndp", setting, task).hidden == (128, 256, 128)
    assert method("ndp", setting, task).dmp.bumps == 30
    assert method("ngf", setting, task).hidden == NGF[task]
    assert method("ngf-time", setting, task).hidden == NGF[task]
    assert method("bc", setting, task).hidden == (64, 128, 64)


@pytest.mark.parametrize(
    ("name", "batch_size", "epochs", "fresh_adam"),
    [
        ("nn", 8, 200, "batch"),
        ("lstm", 4, 200, "batch"),
        ("ndp", 4, 200, "epoch"),
        ("ngf", None, 10_000, "never"),
        ("ngf-time", None, 10_000, "never"),
        ("bc", 8, 200, "never"),
    ],
)
def test_the_papers_training_is_the_papers(name, batch_size, epochs, fresh_adam):
    learner = method(name, "paper")
    descent = learner.descent
    assert (descent.batch_size, descent.epochs) == (batch_size, epochs)
    assert (descent.fresh_adam, descent.learning_rate) == (fresh_adam, 1e-3)
    assert descent.patience is None
    assert not learner.standardise


@pytest.mark.parametrize("name", METHODS)
def test_a_fair_training_has_one_adam_standard_units_and_an_early_stop(name):
    learner = method(name, "fair")
    assert learner.standardise
    assert learner.descent.fresh_adam == "never"
    assert learner.descent.patience is not None


def test_only_the_authors_variant_drives_where_it_should_damp():
    assert method("ngf-time", "paper").damping_sign == 1
    assert method("ngf-time", "fair").damping_sign == -1


def test_a_task_that_the_paper_does_not_have_gets_the_median_size():
    assert method("nn", "paper", "juggling").hidden == (64, 128, 64)
    assert method("nn", "paper").hidden == (64, 128, 64)


def test_a_size_that_is_said_goes_before_the_papers_choice():
    assert method("nn", "fair", "door", size="small").hidden == (32, 64, 32)
    assert method("ndp", "fair", "door", size="median").dmp.bumps == 20
    with pytest.raises(InputError, match="sizes are small, median, large; found 'huge'"):
        method("nn", size="huge")
    with pytest.raises(InputError, match="bc has one size"):
        method("bc", size="small")


def test_the_seed_is_handed_on():
    assert [method(name, "fair", seed=7).seed for name in METHODS] == [7] * len(METHODS)


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(InputError, match="found 'LSTN'; did you mean lstm"):
        method("LSTN")
    with pytest.raises(InputError, match="the settings are paper, fair; found 'pape'; did you"):
        method("nn", "pape")
