"""The table of baselines: the paper's sizes for each task, and names that are nearly right."""

import pytest

from kodex.baselines import BASELINES, baseline_learner
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
    lstm = baseline_learner("lstm", setting, task)
    assert baseline_learner("nn", setting, task).hidden == NN[task]
    assert (lstm.inputs, lstm.hidden) == LSTM[task]
    assert baseline_learner("ndp", setting, task).hidden == (128, 256, 128)
    assert baseline_learner("ndp", setting, task).dmp.basis_functions == 30
    assert baseline_learner("ngf", setting, task).hidden == NGF[task]
    assert baseline_learner("ngf-time", setting, task).hidden == NGF[task]
    assert baseline_learner("bc", setting, task).hidden == (64, 128, 64)


@pytest.mark.parametrize(
    ("name", "batch_size", "epochs", "reset_optimiser"),
    [
        ("nn", 8, 200, "batch"),
        ("lstm", 4, 200, "batch"),
        ("ndp", 4, 200, "epoch"),
        ("ngf", None, 10_000, "never"),
        ("ngf-time", None, 10_000, "never"),
        ("bc", 8, 200, "never"),
    ],
)
def test_the_papers_training_is_the_papers(name, batch_size, epochs, reset_optimiser):
    learner = baseline_learner(name, "paper")
    config = learner.config
    assert (config.batch_size, config.epochs) == (batch_size, epochs)
    assert (config.reset_optimiser, config.learning_rate) == (reset_optimiser, 1e-3)
    assert config.patience is None
    assert not learner.standardise


@pytest.mark.parametrize("name", BASELINES)
def test_a_fair_training_has_one_adam_standard_units_and_an_early_stop(name):
    learner = baseline_learner(name, "fair")
    assert learner.standardise
    assert learner.config.reset_optimiser == "never"
    assert learner.config.patience is not None


def test_only_the_authors_variant_drives_where_it_should_damp():
    assert baseline_learner("ngf-time", "paper").damping_sign == 1
    assert baseline_learner("ngf-time", "fair").damping_sign == -1


def test_a_task_that_the_paper_does_not_have_gets_the_median_size():
    assert baseline_learner("nn", "paper", "juggling").hidden == (64, 128, 64)
    assert baseline_learner("nn", "paper").hidden == (64, 128, 64)


def test_a_size_that_is_said_goes_before_the_papers_choice():
    assert baseline_learner("nn", "fair", "door", size="small").hidden == (32, 64, 32)
    assert baseline_learner("ndp", "fair", "door", size="median").dmp.basis_functions == 20
    with pytest.raises(InputError, match="sizes are small, median, large; found 'huge'"):
        baseline_learner("nn", size="huge")
    with pytest.raises(InputError, match="bc has one size"):
        baseline_learner("bc", size="small")


def test_the_seed_is_handed_on():
    assert [baseline_learner(name, "fair", seed=7).seed for name in BASELINES] == [7] * len(
        BASELINES
    )


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(InputError, match="found 'LSTN'; did you mean lstm"):
        baseline_learner("LSTN")
    with pytest.raises(InputError, match="the settings are paper, fair; found 'pape'; did you"):
        baseline_learner("nn", "pape")
