"""The operator as scikit-learn knows estimators: `fit`, `predict`, `score`, and all that uses them.

    regressor = KoopmanRegressor().fit(states, next_states)
    regressor.predict(states)               # one step ahead
    regressor.forecast(first, horizon=50)   # K, again and again

It is a regressor of pairs, so that folds can be drawn without tearing episodes apart:
`GroupKFold` with the number of the episode as group leaves whole episodes out. scikit-learn comes
with the extra `sklearn`; nothing else of kodex needs it.
"""

from typing import Any, Self

import numpy as np

from kodex.errors import InputError, explaining
from kodex.interfaces import Array, LiftingLearner
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.least_squares import Moments, Ridge, Solver
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.trajectory import StateLayout

with explaining("a scikit-learn estimator"):
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data


class KoopmanRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on lifted states: y ≈ D φ(x), and z' = K z if y are states one step later.

    Targets with as many columns as the states are taken for the next states. Any other targets,
    such as actions, are outputs of the same observables, and there is no operator to forecast
    with.

    Parameters
    ----------
    lifting
        Learner of the lifting, such as `kodex.lifting.MonomialsLearner(2)`; None: 100 random
        Fourier features of standardised states.
    solver
        How the normal equations are solved; None: `kodex.koopman.Ridge(1e-6)`.

    Attributes
    ----------
    lifting_
        The fitted lifting φ.
    coefficients_
        D, (targets, observables); C K if the targets are next states.
    dynamics_
        `KoopmanDynamics` with the matrix K; None if the targets are not next states.
    """

    def __init__(self, lifting: LiftingLearner | None = None, solver: Solver | None = None) -> None:
        self.lifting = lifting
        self.solver = solver

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from states, (samples, n), and what is to be predicted from them.

        Parameters
        ----------
        X
            States, (samples, n).
        y
            The states one step later, (samples, n), or other targets, (samples,) or (samples, q).
        """
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        targets = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self._one_column = np.ndim(y) == 1
        learner = self.lifting or StandardisedLearner(FourierLearner(count=100, scale=0.5))
        solver = self.solver or Ridge(1e-6)
        lifting = learner.fit(self._layout(), X)
        if lifting.window > 1:
            raise InputError("rows are single states here: use a lifting without delays")
        lifted = lifting.lift(X)
        is_next = not self._one_column and targets.shape == X.shape
        aimed = lifting.lift(targets) if is_next else targets
        weights = np.full(len(X), 1.0 / len(X))
        solution = solver.solve(Moments.of(lifted, aimed, weights).equations)
        self.lifting_ = lifting
        self.dynamics_ = KoopmanDynamics(lifting, solution) if is_next else None
        self.coefficients_ = lifting.recovery @ solution if is_next else solution
        return self

    def predict(self, X: Any) -> Array:
        """Return what belongs to states, (samples, n) -> as y was in `fit`."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        predicted = self.lifting_.lift(X) @ self.coefficients_.T
        if self.dynamics_ is not None:
            predicted = predicted + self.lifting_.offset
        return np.asarray(predicted[:, 0] if self._one_column else predicted)

    def forecast(self, first: Any, horizon: int) -> Array:
        """Return states from `first`, (..., n) -> (..., horizon, n); row 0 is `first`."""
        check_is_fitted(self)
        if self.dynamics_ is None:
            raise InputError(
                "it was fitted to targets that are not the next states, so there is no operator "
                "to forecast with: fit it to states and the states one step later"
            )
        return self.dynamics_.predict(np.asarray(first, dtype=np.float64), horizon)

    def _layout(self) -> StateLayout:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(self.n_features_in_)]
        return StateLayout(robot=tuple(map(str, names)), object=())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
