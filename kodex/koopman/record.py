"""What a fit knew when it was made: kept with the model, so that `kodex inspect` can assess it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from kodex.interfaces import Array
from kodex.koopman.moments import TransitionMoments
from kodex.least_squares import numerical_rank
from kodex.storage import Stored


@dataclass(frozen=True, eq=False)
class FitRecord:
    """How much data there was, how well it spanned the observables, and how well K fits it."""

    demonstrations: int
    transitions: int
    solver: str  # as one would write it, such as Ridge(strength=1e-06)
    gram_eigenvalues: Array  # (p,) of G, falling
    observable_scale: Array  # (p,) root mean square of each observable
    one_step_error: Array  # (n,) root mean square of C K z + c - x'
    one_step_change: Array  # (n,) root mean square of x' - x: the error of predicting no motion
    scores: Mapping[str, float] = field(default_factory=dict)  # of each candidate that was tried
    clipped_from: float | None = None  # the spectral radius before clipping

    @classmethod
    def of(
        cls,
        moments: TransitionMoments,
        matrix: Array,
        recovery: Array,
        gram_eigenvalues: Array,
        solver: str,
        *,
        scores: Mapping[str, float] | None = None,
        clipped_from: float | None = None,
    ) -> Self:
        """Return the record of a K = `matrix` that was fitted to `moments`."""
        G, A = moments.G, moments.A
        rows = recovery @ matrix
        # E|C z' - C K z|², multiplied out: the data is not needed again.
        squares = moments.targets / moments.demonstrations
        squares = squares - 2.0 * np.einsum("ij,ij->i", recovery @ A, rows)
        squares = squares + np.einsum("ij,ij->i", rows @ G, rows)
        return cls(
            demonstrations=moments.demonstrations,
            transitions=moments.transitions,
            solver=solver,
            gram_eigenvalues=gram_eigenvalues,
            observable_scale=np.sqrt(np.diag(G)),
            one_step_error=np.sqrt(np.maximum(squares, 0.0)),
            one_step_change=np.sqrt(moments.changes / moments.demonstrations),
            scores=dict(scores or {}),
            clipped_from=clipped_from,
        )

    @property
    def rank(self) -> int:
        """The number of directions that the data spans, by the cut-off of `Pinv`."""
        return numerical_rank(self.gram_eigenvalues)

    @property
    def effective_rank(self) -> float:
        """The number of directions that carry the data: exp of the entropy of the eigenvalues."""
        values = np.maximum(self.gram_eigenvalues, 0.0)
        shares = values[values > 0.0] / values.sum()
        return float(np.exp(-np.sum(shares * np.log(shares))))

    @property
    def condition(self) -> float:
        """The largest eigenvalue of G over the smallest that `Pinv` keeps."""
        return float(self.gram_eigenvalues[0] / self.gram_eigenvalues[: self.rank][-1])

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="koopman_fit_record",
            config={
                "demonstrations": self.demonstrations,
                "transitions": self.transitions,
                "solver": self.solver,
                "scores": {
                    name: score if np.isfinite(score) else None
                    for name, score in self.scores.items()
                },
                "clipped_from": self.clipped_from,
            },
            arrays={
                "gram_eigenvalues": self.gram_eigenvalues,
                "observable_scale": self.observable_scale,
                "one_step_error": self.one_step_error,
                "one_step_change": self.one_step_change,
            },
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        config, arrays = stored.config, stored.arrays
        return cls(
            demonstrations=config["demonstrations"],
            transitions=config["transitions"],
            solver=config["solver"],
            gram_eigenvalues=arrays["gram_eigenvalues"],
            observable_scale=arrays["observable_scale"],
            one_step_error=arrays["one_step_error"],
            one_step_change=arrays["one_step_change"],
            scores={
                name: float("inf") if score is None else score
                for name, score in config["scores"].items()
            },
            clipped_from=config["clipped_from"],
        )
