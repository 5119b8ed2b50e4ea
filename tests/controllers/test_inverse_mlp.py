"""The paper's network: its shape, its training, and NumPy acting as torch does."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kodex.controllers import InverseMlpController, InverseMlpLearner
from kodex.controllers.transitions import Transitions
from kodex.errors import InputError
from kodex.networks.mlp import Mlp
from tests.controllers.known_servos import affine_action, demonstrations

QUICK = {"iterations": 60, "learning_rate": 2e-2, "batch_size": 64, "show_progress": False}


def error(controller, seed=1):
    unseen = Transitions.of(demonstrations(affine_action, seed=seed))
    missed = controller.act(unseen.current, unseen.desired) - unseen.actions
    return np.mean(missed**2) / np.mean((unseen.actions - unseen.actions.mean(axis=0)) ** 2)


def test_the_defaults_are_the_papers():
    learner = InverseMlpLearner()
    assert (learner.hidden, learner.learning_rate, learner.iterations) == ((4, 4, 2), 1e-4, 300)
    assert not learner.standardise


def test_hidden_layers_are_multiples_of_the_joints():
    controller = InverseMlpLearner(iterations=1, show_progress=False).fit(
        demonstrations(affine_action)
    )
    assert [weights.shape for weights in controller.network.weights] == [
        (6, 12),
        (12, 12),
        (12, 6),
        (6, 3),
    ]


@pytest.mark.parametrize("standardise", [False, True])
def test_training_learns_the_law(standardise):
    controller = InverseMlpLearner(**QUICK, standardise=standardise).fit(
        demonstrations(affine_action)
    )
    assert error(controller) < 0.05


def test_without_anything_held_out_every_demonstration_is_learned_from():
    some = demonstrations(affine_action)
    everything = InverseMlpLearner(**QUICK, held_out=0.0).fit(some)
    assert error(everything) < 0.05
    with_doubt = InverseMlpLearner(**QUICK, held_out=0.0).fit(some[:-1])
    first, second = (each.network.weights[0] for each in (everything, with_doubt))
    assert np.abs(first - second).max() > 0.0  # the last one counts


def test_numpy_acts_as_torch_does():
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(0)
    sizes = (60, 120, 120, 60, 30)
    mlp = Mlp(
        weights=tuple(
            (generator.normal(size=pair) / np.sqrt(pair[0])).astype(np.float32)
            for pair in pairwise(sizes)
        ),
        biases=tuple(generator.normal(size=size).astype(np.float32) for size in sizes[1:]),
    )
    controller = InverseMlpController(mlp)
    layers = []
    for weights, bias in zip(mlp.weights, mlp.biases, strict=True):
        linear = torch.nn.Linear(*weights.shape)
        linear.weight.data, linear.bias.data = (
            torch.from_numpy(weights.T.copy()),
            torch.from_numpy(bias),
        )
        layers += [linear, torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    current, desired = generator.normal(size=(2, 50, 30))
    inputs = torch.from_numpy(np.concatenate([current, desired], axis=1)).float()
    expected = network(inputs).detach().numpy()
    np.testing.assert_allclose(controller.act(current, desired), expected, atol=1e-5)


def test_the_best_validation_checkpoint_is_kept():
    demos = demonstrations(affine_action)
    # With a rate this high training wanders, and the last iteration is seldom the best.
    wild = {**QUICK, "learning_rate": 0.3}
    validation = demonstrations(affine_action, seed=2)
    by_length = [
        error(InverseMlpLearner(**{**wild, "iterations": count}).fit(demos, validation), seed=2)
        for count in (1, 4, 16)
    ]
    assert by_length == sorted(by_length, reverse=True)


def test_another_seed_gives_another_network():
    demos = demonstrations(affine_action, count=2)
    networks = [
        InverseMlpLearner(iterations=1, seed=seed, show_progress=False).fit(demos)
        for seed in (0, 1)
    ]
    assert not np.array_equal(networks[0].network.weights[0], networks[1].network.weights[0])


def test_training_leaves_torchs_own_randomness_and_threads_alone():
    torch = pytest.importorskip("torch")
    before = torch.random.get_rng_state().clone(), torch.get_num_threads()
    InverseMlpLearner(iterations=1, show_progress=False).fit(demonstrations(affine_action, count=2))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert torch.get_num_threads() == before[1]


def test_settings_that_cannot_train_are_refused():
    with pytest.raises(InputError, match="batch_size must be greater than 0; found 0"):
        InverseMlpLearner(batch_size=0)


PROGRAM_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # what an import finds where torch is not installed
from kodex.controllers import InverseMlpLearner
from tests.controllers.known_servos import affine_action, demonstrations
shown = demonstrations(affine_action, count=3)
controller = InverseMlpLearner(iterations=2, show_progress=False).fit(shown)
print(controller.network.weights[0].shape)
"""


def test_it_is_trained_without_torch():
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM_WITHOUT_TORCH],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert answer.stdout.startswith("(")
