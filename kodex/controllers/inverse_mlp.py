"""The paper's controller: a small network that predicts which action moves q to q_next.

Its gradient is written out, so neither training nor acting needs torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from kodex.controllers.transitions import Transitions, check_joints
from kodex.demonstrations import check_training
from kodex.demonstrations.trajectory_set import hold_out
from kodex.errors import InputError
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal
from kodex.networks.training import TrainingConfig, TrainingProblem, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class InverseMlpController:
    """A ReLU network from [q, q_next] to an action, in the single precision it was trained in."""

    network: Mlp

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return int(self.network.biases[-1].shape[0])

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., m)."""
        joints = self.network.weights[0].shape[0] // 2
        check_joints(current, desired, joints)
        if current.shape != desired.shape:
            current, desired = np.broadcast_arrays(current, desired)
        inputs = np.empty((*current.shape[:-1], 2 * joints), dtype=np.float32)
        inputs[..., :joints] = current
        inputs[..., joints:] = desired
        return np.asarray(self.network(inputs), dtype=np.float64)

    def stored(self) -> Stored:
        """Return what it is made of."""
        layers = list(zip(self.network.weights, self.network.biases, strict=True))
        arrays = {f"weights {number}": weights for number, (weights, _) in enumerate(layers)}
        arrays |= {f"bias {number}": bias for number, (_, bias) in enumerate(layers)}
        return Stored(type="inverse_mlp", config={"layers": len(layers)}, arrays=arrays)

    @classmethod
    def restore(cls, stored: Stored) -> "InverseMlpController":
        """Return what `stored` was made from."""
        layers = range(stored.config["layers"])
        return cls(
            Mlp(
                weights=tuple(stored.arrays[f"weights {number}"] for number in layers),
                biases=tuple(stored.arrays[f"bias {number}"] for number in layers),
            )
        )


@dataclass(frozen=True)
class InverseMlpLearner:
    """The paper's hyper-parameters; a comment says so where the paper gives none."""

    requires: ClassVar[tuple[str, ...]] = ()

    hidden: tuple[int, int, int] = (4, 4, 2)  # multiples of the number of joints
    learning_rate: float = 1e-4
    # The paper says 300 iterations. As in its authors' other training scripts we read an iteration
    # as one pass over all pairs, shuffled.
    iterations: int = 300
    # Differs from the paper, which gives none (its authors' other scripts use 8): with 8, the
    # 20,000 pairs of 200 demonstrations would be 750,000 steps.
    batch_size: int = 128
    # The paper feeds raw joints and learns raw actions. True standardises both, which is folded
    # into the first and the last layer after training.
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True  # a bar, when stderr is a terminal

    def __post_init__(self) -> None:
        for name in ("learning_rate", "iterations", "batch_size"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be greater than 0; found {getattr(self, name)}")

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> InverseMlpController:
        """Return the network at the iteration with the least validation loss.

        Without `validation`, a share of the demonstrations is held out for it; if nothing is, the
        network of the last iteration is returned. The loss is the
        paper's: squared length of the action's error, each pair weighed by 1 / (N (T_n - 1)). A
        batch's sum is scaled to all pairs, so its expectation is that loss.
        """
        check_training(training, validation, actions=True)
        if validation is None and self.held_out > 0.0:
            training, validation = hold_out(
                training, self.held_out, self.seed, purpose="controller"
            )
        learned = Transitions.of(training)
        joints, actions = (
            Standardiser.of(each) if self.standardise else Standardiser.identity(each.shape[1])
            for each in (_inputs(learned), learned.actions)
        )

        def data(transitions: Transitions) -> dict[str, Array]:
            return {
                "joints": joints.apply(_inputs(transitions)),
                "actions": actions.apply(transitions.actions),
                "weights": transitions.weights * len(transitions),
            }

        size = learned.current.shape[1]
        sizes = (2 * size, *(factor * size for factor in self.hidden), learned.actions.shape[1])
        problem = TrainingProblem(
            name="the network controller",
            parameters=mlp_parameters("network", sizes, generator(self.seed, "controller", "mlp")),
            data=data(learned),
            validation={} if validation is None else data(Transitions.of(validation)),
            loss=_weighed_error,
            gradients=_weighed_error_gradients,
            seed=self.seed,
        )
        config = TrainingConfig(self.iterations, self.batch_size, self.learning_rate)
        parameters = train(problem, config, show=self.show_progress, checkpoint=checkpoint)
        return InverseMlpController(
            _in_their_own_units(Mlp.of(parameters, "network"), joints, actions)
        )


def _inputs(transitions: Transitions) -> Array:
    return np.concatenate([transitions.current, transitions.desired], axis=1)


def _weighed_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    error = Mlp.of(parameters, "network")(batch["joints"]) - batch["actions"]
    return (batch["weights"] * (error * error).sum(-1)).mean()


def _weighed_error_gradients(
    parameters: Mapping[str, Signal], batch: Mapping[str, Signal]
) -> dict[str, Signal]:
    def gradient_of(actions: Signal) -> Signal:
        weights = (2.0 / len(actions)) * batch["weights"]
        return weights[:, None] * (actions - batch["actions"])

    network = Mlp.of(parameters, "network")
    return network.parameter_gradients("network", batch["joints"], gradient_of)


def _in_their_own_units(network: Mlp, joints: Standardiser, actions: Standardiser) -> Mlp:
    """Return the network that takes raw joints and gives raw actions, in single precision."""
    weights, biases = list(network.weights), list(network.biases)
    weights[0] = weights[0] / joints.scale[:, None]
    biases[0] = biases[0] - joints.shift @ weights[0]
    weights[-1] = weights[-1] * actions.scale
    biases[-1] = biases[-1] * actions.scale + actions.shift
    return Mlp(
        tuple(np.ascontiguousarray(array, dtype=np.float32) for array in weights),
        tuple(np.ascontiguousarray(array, dtype=np.float32) for array in biases),
    )
