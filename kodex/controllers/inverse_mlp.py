"""The paper's controller: a small network that answers which action moves q to q_next.

Torch trains it (`kodex.controllers.train_mlp`); acting is NumPy, so a robot needs no torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kodex.controllers.joints import check_joints
from kodex.controllers.transitions import Transitions
from kodex.demonstrations.holding_out import hold_out
from kodex.errors import InputError
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory

Single = NDArray[np.float32]  # torch trains in single precision; acting keeps it


@dataclass(frozen=True, eq=False)
class InverseMlpController:
    """Affine layers with ReLU between them, from [q, q_next] to an action."""

    weights: tuple[Single, ...]  # (inputs, outputs) each
    biases: tuple[Single, ...]  # (outputs,) each

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return int(self.biases[-1].shape[0])

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., m)."""
        joints = self.weights[0].shape[0] // 2
        check_joints(current, desired, joints)
        if current.shape != desired.shape:
            current, desired = np.broadcast_arrays(current, desired)
        layer = np.empty((*current.shape[:-1], 2 * joints), dtype=np.float32)
        layer[..., :joints] = current
        layer[..., joints:] = desired
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layer = layer @ weights
            layer += bias
            np.maximum(layer, 0.0, out=layer)
        actions: Array = (layer @ self.weights[-1] + self.biases[-1]).astype(np.float64)
        return actions

    def stored(self) -> Stored:
        """Return what it is made of."""
        arrays: dict[str, Single] = {}
        for number, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"weights {number}"] = weights
            arrays[f"bias {number}"] = bias
        return Stored(type="inverse_mlp", config={"layers": len(self.weights)}, arrays=arrays)

    @classmethod
    def restore(cls, stored: Stored) -> "InverseMlpController":
        """Return what `stored` was made from."""
        layers = range(stored.config["layers"])
        return cls(
            weights=tuple(stored.arrays[f"weights {number}"] for number in layers),
            biases=tuple(stored.arrays[f"bias {number}"] for number in layers),
        )


@dataclass(frozen=True)
class InverseMlpLearner:
    """The paper's hyper-parameters; what it does not give is said beside the field."""

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
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    seed: int = 0
    show_progress: bool = True  # a bar, when stderr is a terminal

    def __post_init__(self) -> None:
        for name in ("learning_rate", "iterations", "batch_size"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be greater than 0; found {getattr(self, name)}")

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> InverseMlpController:
        """Return the network at the iteration with the least validation error.

        Without `validation`, a share of the demonstrations is held out for it.
        """
        everything = Transitions.of(demonstrations)
        if validation is not None:
            learn, judge = everything, Transitions.of(validation)
        elif len(demonstrations) > 1:
            parts = hold_out(demonstrations, self.held_out, self.seed, purpose="controller")
            learn, judge = Transitions.of(parts[0]), Transitions.of(parts[1])
        else:
            learn = judge = everything
        from kodex.controllers.train_mlp import train  # torch is wanted only from here on

        weights, biases = train(
            learn,
            judge,
            hidden=tuple(factor * learn.current.shape[1] for factor in self.hidden),
            learning_rate=self.learning_rate,
            iterations=self.iterations,
            batch_size=self.batch_size,
            standardise=self.standardise,
            seed=self.seed,
            show_progress=self.show_progress,
        )
        return InverseMlpController(weights=weights, biases=biases)
