"""Principal components of features: what demonstrations move of a lifting, and nothing beside it.

Random features are drawn before the demonstrations are seen closely, and many of their combinations
hardly move in them: an operator of all of them is larger than the motion it describes. Kept are
the state, the constant, and those orthonormal combinations of the features that move by more than
a share of what an observable does, beyond what an affine function of the state explains already.
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Lifting, LiftingLearner
from kodex.lifting.frame import StateFirst, expect_positive, numbered
from kodex.lifting.random_features import FourierFeatures, FourierLearner, ReluFeatures
from kodex.lifting.standardised import Standardised
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

STATES = 8000  # are enough to say what moves
FLOOR = 1e-8  # of the mean square of a component: what explains features affinely is no less


@dataclass(frozen=True, eq=False)
class PrincipalFeatures(StateFirst):
    """[x, 1, Bᵀ f(x)] with the features f of the inner lifting, which begins with [x, 1] too."""

    inner: FourierFeatures | ReluFeatures
    basis: Array  # B, (features, r), orthonormal columns

    def __post_init__(self) -> None:
        count = len(self.inner.feature_names)
        if self.basis.ndim != 2 or len(self.basis) != count:
            raise InputError(f"a basis must be ({count}, r); found {self.basis.shape}")

    @property
    def layout(self) -> StateLayout:  # type: ignore[override]
        """As the inner lifting's."""
        return self.inner.layout

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """As the inner lifting's."""
        return self.inner.constant

    @property
    def feature_names(self) -> tuple[str, ...]:
        """`principal_0` and so on, the one that moves most first."""
        return numbered("principal", self.basis.shape[1])

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, r), for the states `rows`, (rows, n)."""
        every = np.empty((len(rows), len(self.basis)))
        self.inner.write(rows, every)
        np.matmul(every, self.basis, out=features)

    def stored(self) -> Stored:
        """Return the basis and the inner lifting."""
        return Stored(
            type="principal",
            config={"kept": self.basis.shape[1]},
            arrays={"basis": self.basis},
            parts={"inner": self.inner.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        from kodex.lifting import restore_lifting  # late: the table lists this class

        inner = restore_lifting(stored.parts["inner"])
        if not isinstance(inner, FourierFeatures | ReluFeatures):
            raise InputError(f"principal features of {type(inner).__name__} are not known")
        basis = stored.arrays["basis"]
        if basis.shape[-1] != stored.config["kept"]:
            raise InputError(f"{stored.config['kept']} principal features; found {basis.shape}")
        return cls(inner, basis)


@dataclass(frozen=True)
class PrincipalLearner:
    """Fits the inner lifting, and keeps what moves of its features."""

    inner: LiftingLearner = field(default_factory=FourierLearner)
    least: float = 3e-5  # mean square of a combination that is kept, in that of an observable

    def __post_init__(self) -> None:
        expect_positive("the least mean square of a principal feature", self.least)

    def fit(self, layout: StateLayout, states: Array) -> Lifting:
        """Return the lifting for states that spread like `states`, (samples, n)."""
        return principal(self.inner.fit(layout, states), states, self.least)


def principal(lifting: Lifting, states: Array, least: float) -> Lifting:
    """Return `lifting` with the principal components of its features in `states`, (samples, n).

    A lifting that is not made of random features is returned as it is.
    """
    inner = lifting.inner if isinstance(lifting, Standardised) else lifting
    if not isinstance(inner, FourierFeatures | ReluFeatures):
        return lifting
    lifted = lifting.lift(states[:: max(1, len(states) // STATES)])
    first = inner.layout.size + inner.constant
    basis = _basis(lifted[:, :first], lifted[:, first:], least * float(np.mean(lifted**2)))
    kept = PrincipalFeatures(inner, basis)
    return replace(lifting, inner=kept) if isinstance(lifting, Standardised) else kept


def reduction(lifting: Lifting) -> Array | None:
    """Return M with φ(x) = M ψ(x), (p, features of ψ), if φ are principal components of ψ."""
    inner = lifting.inner if isinstance(lifting, Standardised) else lifting
    if not isinstance(inner, PrincipalFeatures):
        return None
    first = inner.layout.size + inner.constant
    return np.asarray(linalg.block_diag(np.eye(first), inner.basis.T))


def _basis(straight: Array, features: Array, least: float) -> Array:
    """Return the orthonormal combinations, (features, r), whose residuals exceed `least`."""
    gram = straight.T @ straight
    gram += FLOOR * np.trace(gram) / len(gram) * np.eye(len(gram))
    rest = features - straight @ linalg.solve(gram, straight.T @ features, assume_a="pos")
    sizes, directions = linalg.eigh(rest.T @ rest / len(rest), driver="evd", check_finite=False)
    kept = np.flatnonzero(sizes > least)[::-1]
    return np.ascontiguousarray(directions[:, kept])
