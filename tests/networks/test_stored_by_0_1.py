"""What kodex 0.1 stored is read today, and predicts the same.

`tests/fixtures/stored_by_0_1` was written by version 0.1, with `expected.npz`: what each model then
predicted from `first`.
"""

from pathlib import Path

import numpy as np
import pytest

from kodex.baselines import (
    ClonedPolicy,
    CloningLearner,
    LstmDynamics,
    NdpDynamics,
    NgfDynamics,
    NgfTimeDynamics,
    NnDynamics,
)
from kodex.controllers import InverseMlpController
from kodex.errors import InputError
from kodex.experts import Actor
from kodex.networks.checkpoint import read_checkpoint
from kodex.storage import read_model

FOLDER = Path(__file__).parents[1] / "fixtures" / "stored_by_0_1"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
FIRST = EXPECTED["first"]
REFERENCES = {
    "nn": NnDynamics,
    "lstm": LstmDynamics,
    "ndp": NdpDynamics,
    "ngf": NgfDynamics,
    "ngf-time": NgfTimeDynamics,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references_are_predicted_as_before(name):
    restored = REFERENCES[name].restore(read_model(FOLDER / name))
    np.testing.assert_allclose(restored.predict(FIRST, 6), EXPECTED[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["ndp", "ngf-time"])
def test_what_is_stored_again_has_the_names_of_today(name):
    stored = REFERENCES[name].restore(read_model(FOLDER / name)).stored()
    assert "bumps" not in stored.config
    assert not any("narrow" in parameter for parameter in stored.arrays)
    again = REFERENCES[name].restore(stored).predict(FIRST, 6)
    np.testing.assert_allclose(again, EXPECTED[name], rtol=1e-12, atol=1e-14)


def test_a_cloned_policy_acts_as_before():
    policy = ClonedPolicy.restore(read_model(FOLDER / "bc"))
    np.testing.assert_allclose(policy.act(FIRST), EXPECTED["bc"], rtol=1e-12)


def test_a_network_controller_acts_as_before():
    controller = InverseMlpController.restore(read_model(FOLDER / "inverse_mlp"))
    actions = controller.act(FIRST[:, :2], FIRST[::-1, :2])
    np.testing.assert_allclose(actions, EXPECTED["inverse_mlp"], rtol=1e-6)


def test_an_expert_acts_as_before():
    for folder in (read_model(FOLDER / "actor"), read_model(FOLDER / "dapg_checkpoint")):
        actor = Actor.restore(folder.parts.get("actor", folder))
        np.testing.assert_allclose(actor.act(FIRST[:, :2]), EXPECTED["actor"], rtol=1e-12)


@pytest.mark.parametrize("name", ["bc_checkpoint", "dapg_checkpoint"])
def test_a_training_of_before_is_not_resumed_and_the_reason_is_given(name):
    with pytest.raises(InputError, match=r"only kodex 0\.1 can resume: begin again"):
        read_checkpoint(FOLDER / name, CloningLearner().__dict__)
