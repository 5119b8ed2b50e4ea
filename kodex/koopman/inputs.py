"""Koopman dynamics with inputs (EDMDc): z' = A z + B u, with the actions as u.

Least squares of z' on z and u together, from sums: [A B] E[(z, u)(z, u)ᵀ] = E[z' (z, u)ᵀ].

Demonstrations of a deterministic expert cannot tell A from B. If u = F z, then
A z + B u = (A + (B - B̃) F) z + B̃ u for every B̃: whatever the expert's actions do can be put down
to the state that they follow from, the joint Gram matrix is singular, and B is what the solver
makes of it. The share of an action that z does *not* explain is all that B is learned from. It
comes from disturbed actions (`kodex collect --noise`), from several experts, or from what the
expert saw and z does not show. `Excitation` measures it, and a fit without it warns.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from scipy import linalg

from kodex.demonstrations import check_demonstrations
from kodex.errors import InputError
from kodex.interfaces import Array, Lifting, LiftingLearner
from kodex.koopman.moments import CHUNK_VALUES, sample_of
from kodex.least_squares import Moments, NormalEquations, Pinv, Ridge, Solver
from kodex.lifting import PaperPolynomialLearner, restore_lifting
from kodex.lifting.frame import windows
from kodex.storage import Stored
from kodex.trajectory import StateLayout, Trajectory

STORED_TYPE = "controlled-koopman"

UNEXCITED = 1e-6  # of an input's mean square: less than a thousandth of its size is its own


@dataclass(frozen=True, eq=False)
class Excitation:
    """What the observables do not explain of the inputs: all that B can be learned from."""

    shares: Array  # (m,) of each input's mean square
    weakest: float  # the least over all combinations of inputs, each in its own unit
    condition: float  # of the joint Gram matrix, every regressor in its own unit

    @classmethod
    def of(cls, moments: Moments, observables: int) -> Self:
        """Return it from the moments of [z, u], whose first `observables` are z."""
        G = moments.gram / moments.weight
        now, beside = G[:observables, :observables], G[observables:, :observables]
        inputs = G[observables:, observables:]
        explained = Pinv().solve(NormalEquations(now, beside)) @ beside.T
        own = inputs - 0.5 * (explained + explained.T)
        unit = _unit(inputs)
        own = own * np.outer(unit, unit)
        joint = G * np.outer(_unit(G), _unit(G))
        values = linalg.eigvalsh(joint)
        return cls(
            shares=np.clip(np.diag(own), 0.0, 1.0),
            weakest=float(np.clip(linalg.eigvalsh(own)[0], 0.0, 1.0)),
            condition=float(values[-1] / values[0]) if values[0] > 0.0 else float("inf"),
        )

    def worries(self) -> list[str]:
        """Return a sentence if B is not determined by the data."""
        if self.weakest > UNEXCITED:
            return []
        silent = np.flatnonzero(self.shares <= UNEXCITED).tolist()
        which = f"inputs {silent} follow" if silent else "a combination of the inputs follows"
        return [
            f"B is not determined: {which} from the observables (share of its own "
            f"{self.weakest:.1e}, condition of the joint Gram matrix {self.condition:.1e}), as a "
            "deterministic expert's actions do: learn from disturbed actions, or use z' = K z."
        ]


@dataclass(frozen=True, eq=False)
class ControlledKoopman:
    """A lifting, and the matrices A and B that move it on by one step under an input."""

    lifting: Lifting
    matrix: Array  # A, (p, p)
    input_matrix: Array  # B, (p, m)
    excitation: Excitation | None = None  # None: not fitted here

    def __post_init__(self) -> None:
        size = self.lifting.recovery.shape[1]
        if self.matrix.shape != (size, size) or self.input_matrix.shape[:-1] != (size,):
            raise InputError(
                f"A and B must be {(size, size)} and ({size}, m) for this lifting; "
                f"found {self.matrix.shape} and {self.input_matrix.shape}"
            )

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it predicts."""
        return self.lifting.layout

    def advance(self, lifted: Array, inputs: Array) -> Array:
        """Return the observables one step later, (..., p), (..., m) -> (..., p)."""
        return lifted @ self.matrix.T + inputs @ self.input_matrix.T

    def predict(self, first: Array, inputs: Array) -> Array:
        """Return states under given `inputs`, (..., n), (..., T - 1, m) -> (..., T, n)."""
        size, width = self.layout.size, self.input_matrix.shape[1]
        if first.shape[-1:] != (size,) or inputs.shape[-1] != width:
            raise InputError(
                f"a first state has {size} components and an input {width}; "
                f"found {first.shape} and {inputs.shape}"
            )
        lifted = self.lifting.lift(np.tile(first, (1,) * (first.ndim - 1) + (self.lifting.window,)))
        states = [np.broadcast_to(first, (*inputs.shape[:-2], size))]
        with np.errstate(over="ignore", invalid="ignore"):  # A may grow without bound
            for step in range(inputs.shape[-2]):
                lifted = self.advance(lifted, inputs[..., step, :])
                states.append(lifted @ self.lifting.recovery.T + self.lifting.offset)
        return np.stack(states, axis=-2)

    def stored(self) -> Stored:
        """Return what it is made of, without the excitation."""
        return Stored(
            type=STORED_TYPE,
            arrays={"matrix": self.matrix, "input_matrix": self.input_matrix},
            parts={"lifting": self.lifting.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            lifting=restore_lifting(stored.parts["lifting"]),
            matrix=stored.arrays["matrix"],
            input_matrix=stored.arrays["input_matrix"],
        )


@dataclass(frozen=True)
class ControlledKoopmanLearner:
    """Settings of a fit with inputs; a ridge is in units of the mean square of all regressors."""

    lifting: LiftingLearner = field(default_factory=lambda: PaperPolynomialLearner(number=3))
    solver: Solver = field(default_factory=Pinv)

    def __post_init__(self) -> None:
        if isinstance(self.solver, Ridge) and self.solver.toward == "identity":
            raise InputError("with inputs a ridge shrinks toward zero; found toward='identity'")

    def fit(
        self,
        training: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ControlledKoopman:
        """Return the dynamics learned from `training`, which must have actions.

        There is nothing to select by `validation`, and nothing that takes long enough to resume.
        """
        data = check_demonstrations(training, actions=True)
        lifting = self.lifting.fit(data.layout, sample_of(training, data.episodes))
        return self.fit_moments(lifting, input_moments(lifting, training))

    def fit_moments(self, lifting: Lifting, moments: Moments) -> ControlledKoopman:
        """Return the dynamics of `moments`, of `input_moments`; sums of several parts add."""
        observables = lifting.recovery.shape[1]
        excitation = Excitation.of(moments, observables)
        for sentence in excitation.worries():
            warnings.warn(sentence, stacklevel=3)
        both = self.solver.solve(moments.equations)
        return ControlledKoopman(
            lifting, both[:, :observables].copy(), both[:, observables:].copy(), excitation
        )


def input_moments(lifting: Lifting, demonstrations: Iterable[Trajectory]) -> Moments:
    """Return the moments of regressors [z, u] and targets z'; every demonstration weighs the same.

    They add, and at most 32 MiB of lifted states exist at a time.
    """
    total: Moments | None = None
    rows = max(2, CHUNK_VALUES // lifting.recovery.shape[1])
    for each in demonstrations:
        if each.actions is None:
            raise InputError("a demonstration has states but no actions; inputs are actions")
        seen = windows(each.states, lifting.window)
        for first in range(0, len(seen) - 1, rows - 1):  # pieces share the state where they meet
            lifted = lifting.lift(seen[first : first + rows])
            inputs = each.actions[first : first + len(lifted) - 1]
            weights = np.full(len(inputs), 1.0 / (len(seen) - 1))
            part = Moments.of(np.hstack([lifted[:-1], inputs]), lifted[1:], weights)
            total = part if total is None else total + part
    if total is None:
        raise InputError("there is nothing to learn from: no transition was given")
    return total


def lqr_gain(
    matrix: Array, input_matrix: Array, state_cost: Array, input_cost: Array, discount: float = 1.0
) -> Array:
    """Return F, (m, p), of the inputs u = -F z that cost the least: Σ discountᵗ (zᵀ Q z + uᵀ R u).

    `matrix` and `input_matrix` are A and B of z' = A z + B u. A cost Q of states is Cᵀ Q C of
    observables. With a `discount` below 1, modes at 1 that no input moves, such as a constant, are
    no obstacle.
    """
    if not 0.0 < discount <= 1.0:
        raise InputError(f"a discount must lie above 0, up to 1; found {discount}")
    root = np.sqrt(discount)
    A, B = root * matrix, root * input_matrix
    try:
        P = linalg.solve_discrete_are(A, B, state_cost, input_cost)
    except (linalg.LinAlgError, ValueError) as error:
        raise InputError(
            f"no feedback of finite cost was found ({error}): a mode that no input moves does not "
            "fade, such as a constant or the goal; use a discount below 1, such as 0.99"
        ) from None
    return np.asarray(linalg.solve(input_cost + B.T @ P @ B, B.T @ P @ A, assume_a="pos"))


def _unit(gram: Array) -> Array:
    """Return 1 / root mean square of each regressor, (p,); 0 for what never differs from 0."""
    size = np.sqrt(np.diag(gram))
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
