"""What a learned policy expects to happen, and how its operator moves: computed once, then stored.

References begin in the first state of demonstrations that were not learned from. A run writes its
analysis beside its results, so a report needs neither the policy nor the simulator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.koopman import Spectrum
from kodex.policies import context_of, dynamics_of
from kodex.storage import Stored, read_model, restoring, write_model
from kodex.trajectory import Array, StateLayout, Trajectory

TYPE = "analysis"
ALL_UP_TO = 1000  # observables; all eigenvalues of more take longer than the rest of a run
LARGEST = 40
ROUNDS = 10  # of 80 products with the matrix; what has not settled by then is left out
BOUND = 1e100  # a reference beyond is not a number any more


@dataclass(frozen=True, eq=False)
class Operator:
    """The size and the eigenvalues of a Koopman matrix."""

    observables: int
    relift: bool  # whether every prediction is lifted anew
    spectrum: Spectrum  # all eigenvalues, or the largest of a very large matrix


@dataclass(frozen=True, eq=False)
class Analysis:
    """Demonstrations, the references that should resemble them, and the operator."""

    layout: StateLayout
    states: tuple[Array, ...]  # (T_i, n) each
    references: tuple[Array, ...] | None  # (T_i, n) each; None: the policy has no reference
    operator: Operator | None  # None: the dynamics are not a Koopman operator

    @classmethod
    def of(
        cls,
        policy: Policy,
        demonstrations: Sequence[Trajectory],
        *,
        every_eigenvalue: bool = False,
    ) -> Self:
        """Return what `policy` expects of `demonstrations`, which must be of one layout."""
        if not demonstrations:
            raise InputError("an analysis needs demonstrations that were not learned from")
        predict = _prediction_of(policy, demonstrations)
        dynamics = dynamics_of(policy)
        return cls(
            layout=demonstrations[0].layout,
            states=tuple(each.states for each in demonstrations),
            references=None if predict is None else predicted(predict, demonstrations),
            operator=None
            if dynamics is None
            else Operator(
                len(dynamics.matrix),
                dynamics.relift,
                affordable_spectrum(
                    dynamics.matrix, len(dynamics.matrix) if every_eigenvalue else ALL_UP_TO
                ),
            ),
        )

    @property
    def horizon(self) -> int:
        """The number of states of the longest demonstration."""
        return max(map(len, self.states))

    def error(self, components: slice | Sequence[int]) -> Array:
        """Return mean absolute errors by step, (episodes, horizon); NaN after an episode's end."""
        errors = np.full((len(self.states), self.horizon), np.nan)
        for row, states, reference in zip(errors, self.states, self.references or (), strict=False):
            difference = np.abs(reference - states)[:, components]
            if difference.shape[1]:
                row[: len(states)] = difference.mean(axis=1)
        return errors

    @property
    def robot_error(self) -> Array:
        """The errors of the joints, (episodes, horizon)."""
        return self.error(slice(len(self.layout.robot)))

    @property
    def object_error(self) -> Array:
        """The errors of the object, (episodes, horizon)."""
        return self.error(slice(len(self.layout.robot), None))

    def best_median_worst(self) -> tuple[int, ...]:
        """Return the indices of the best, the median and the worst reference, by joint error."""
        error = np.nan_to_num(np.nansum(self.robot_error, axis=1), nan=np.inf)
        diverged = [not np.isfinite(reference).all() for reference in self.references or ()]
        order = np.lexsort((error, diverged))
        chosen = dict.fromkeys((order[0], order[len(order) // 2], order[-1]))
        return tuple(int(index) for index in chosen)

    def stored(self) -> Stored:
        """Return what it is made of, ready for disk."""
        config: dict[str, Any] = {
            **self.layout.as_config(),
            "lengths": [len(states) for states in self.states],
        }
        arrays: dict[str, NDArray[Any]] = {"states": np.concatenate(self.states)}
        if self.references is not None:
            arrays["references"] = np.concatenate(self.references)
        if self.operator is not None:
            values = self.operator.spectrum.values
            arrays["eigenvalues"] = np.stack([values.real, values.imag], axis=1)
            config |= {
                "observables": self.operator.observables,
                "relift": self.operator.relift,
            }
        return Stored(TYPE, config, arrays)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return the analysis that `stored` describes."""
        if stored.type != TYPE:
            raise InputError(f"expected an analysis; found {stored.type!r}")
        config, arrays = stored.config, stored.arrays
        layout = StateLayout.of_config(config)
        _check_arrays(config, arrays, layout.size)
        cuts = np.cumsum(config["lengths"])[:-1]
        operator = None
        if "eigenvalues" in arrays:
            real, imaginary = arrays["eigenvalues"].T
            spectrum = Spectrum(real + 1j * imaginary)
            operator = Operator(config["observables"], config["relift"], spectrum)
        return cls(
            layout=layout,
            states=tuple(np.split(arrays["states"], cuts)),
            references=tuple(np.split(arrays["references"], cuts))
            if "references" in arrays
            else None,
            operator=operator,
        )


def _check_arrays(config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], size: int) -> None:
    """Refuse arrays that do not fit each other; a reference may have diverged, and be NaN."""
    lengths = config["lengths"]
    if not lengths or not all(type(each) is int and each > 0 for each in lengths):
        raise InputError(f"lengths must be those of episodes; found {lengths!r:.60}")
    shapes = {"states": (sum(lengths), size), "references": (sum(lengths), size)}
    shapes["eigenvalues"] = (len(arrays.get("eigenvalues", ())), 2)
    for name, array in arrays.items():
        if array.dtype.kind != "f" or array.shape != shapes.get(name):
            raise InputError(f"{name} must be numbers of shape {shapes.get(name)}")
        if name != "references" and not (np.abs(array) < BOUND).all():
            raise InputError(f"{name} must be finite numbers below {BOUND:g}")
    if "eigenvalues" in arrays and not (
        type(config["observables"]) is int and type(config["relift"]) is bool
    ):
        raise InputError("observables must be a count, and relift true or false")


def write_analysis(folder: str | Path, analysis: Analysis) -> Path:
    """Write `analysis` to `folder`, whole or not at all."""
    return write_model(analysis.stored(), folder, replace=True)


def read_analysis(folder: str | Path) -> Analysis:
    """Return the analysis in `folder`; refuse what is damaged or something else."""
    with restoring(f"{folder} is not a whole analysis"):
        return Analysis.restore(read_model(folder))


def predicted(
    predict: Callable[[Array, int], Array], demonstrations: Sequence[Trajectory]
) -> tuple[Array, ...]:
    """Return what is predicted for each demonstration from its first state, (T_i, n) each."""
    first = np.stack([each.states[0] for each in demonstrations])
    with np.errstate(all="ignore"):  # a reference may explode, and the picture should show it
        references = predict(first, max(map(len, demonstrations)))
        references = np.where(np.abs(references) < BOUND, references, np.nan)
    return tuple(rows[: len(each)] for rows, each in zip(references, demonstrations, strict=True))


def affordable_spectrum(matrix: Array, all_up_to: int = ALL_UP_TO) -> Spectrum:
    """Return eigenvalues of `matrix`, (p, p), largest magnitude first.

    There are none if the matrix is not finite, or if none could be found in good time.
    """
    if not np.isfinite(matrix).all():
        return Spectrum(np.empty(0, dtype=np.complex128))
    values = linalg.eigvals(matrix) if len(matrix) <= all_up_to else _largest(matrix)
    order = np.argsort(-np.abs(values), kind="stable")
    return Spectrum(np.asarray(values[order], dtype=np.complex128))


def _largest(matrix: Array) -> NDArray[Any]:
    try:
        # A fixed first vector, so that the same matrix gives the same picture.
        return np.asarray(
            eigs(
                matrix,
                k=LARGEST,
                ncv=3 * LARGEST,
                v0=np.ones(len(matrix)),
                maxiter=ROUNDS,
                tol=1e-6,
                return_eigenvectors=False,
            )
        )
    except ArpackNoConvergence as error:
        return np.asarray(error.eigenvalues)


def _prediction_of(
    policy: Policy, demonstrations: Sequence[Trajectory]
) -> Callable[[Array, int], Array] | None:
    """Return what predicts states from the first ones, given the context of their starts."""
    if not policy.spec.reference:
        return None
    return partial(policy.predict, context=context_of(policy.spec.context, demonstrations))
