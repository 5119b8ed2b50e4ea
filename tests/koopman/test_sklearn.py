"""The scikit-learn face of the operator."""

import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
from known_systems import (
    PARABOLA,
    PARABOLA_LIFTING,
    ROTATION,
    linear_demonstrations,
    parabola_demonstrations,
)

from kodex.errors import InputError, MissingFeatureError
from kodex.koopman import KoopmanLearner, Pinv, Ridge
from kodex.lifting import DelayLearner, MonomialsLearner

sklearn = pytest.importorskip("sklearn")
from sklearn.model_selection import GridSearchCV, GroupKFold  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from kodex.koopman.sklearn import KoopmanRegressor  # noqa: E402


def pairs(demonstrations):
    """Return states, next states and the number of the episode."""
    now = np.concatenate([each.states[:-1] for each in demonstrations])
    after = np.concatenate([each.states[1:] for each in demonstrations])
    groups = np.repeat(np.arange(len(demonstrations)), [len(each) - 1 for each in demonstrations])
    return now, after, groups


def test_scikit_learn_finds_it_a_proper_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checks that need pandas are skipped with a warning
        results = check_estimator(KoopmanRegressor(), on_fail=None)
    failed = [
        (each["check_name"], str(each["exception"]))
        for each in results
        if each["status"] == "failed"
    ]
    assert failed == []
    assert sum(each["status"] == "passed" for each in results) > 40


def test_the_operator_of_a_nonlinear_system_is_found_and_forecasts():
    now, after, _ = pairs(parabola_demonstrations())
    model = KoopmanRegressor(PARABOLA_LIFTING, Pinv()).fit(now, after)
    np.testing.assert_allclose(model.dynamics_.matrix, PARABOLA, atol=1e-12)
    np.testing.assert_allclose(model.predict(now), after, atol=1e-12)
    assert model.score(now, after) == pytest.approx(1.0)
    fresh = parabola_demonstrations(1, steps=40, seed=5)[0].states
    np.testing.assert_allclose(model.forecast(fresh[0], 40), fresh, atol=1e-12)


def test_it_is_the_learner_of_kodex_where_episodes_are_equally_long():
    demonstrations = linear_demonstrations(0.9 * ROTATION, 6, 9, noise=0.05)
    now, after, _ = pairs(demonstrations)
    ours = KoopmanLearner(MonomialsLearner(2), Ridge(1e-3)).fit(demonstrations)
    model = KoopmanRegressor(MonomialsLearner(2), Ridge(1e-3)).fit(now, after)
    np.testing.assert_allclose(model.dynamics_.matrix, ours.matrix, atol=1e-12)
    np.testing.assert_allclose(model.predict(now), ours.next_state(now), atol=1e-12)


def test_a_grid_search_over_episodes_chooses_the_lifting_that_is_invariant():
    now, after, groups = pairs(parabola_demonstrations())
    liftings = [MonomialsLearner(1), PARABOLA_LIFTING]
    search = GridSearchCV(KoopmanRegressor(solver=Pinv()), {"lifting": liftings}, cv=GroupKFold(5))
    search.fit(now, after, groups=groups)
    assert search.best_params_ == {"lifting": PARABOLA_LIFTING}


def test_other_targets_are_outputs_without_an_operator():
    now, _, _ = pairs(parabola_demonstrations())
    model = KoopmanRegressor(PARABOLA_LIFTING, Pinv()).fit(now, 2.0 * now[:, 0] ** 2 - now[:, 1])
    np.testing.assert_allclose(model.coefficients_, [[0.0, -1.0, 2.0]], atol=1e-12)
    assert model.predict(now).shape == (len(now),)
    with pytest.raises(InputError, match="no operator to forecast with"):
        model.forecast(now[0], 5)


def test_delays_are_refused():
    now, after, _ = pairs(parabola_demonstrations(2))
    with pytest.raises(InputError, match="without delays"):
        KoopmanRegressor(DelayLearner(window=2)).fit(now, after)


def test_without_scikit_learn_it_says_so_in_one_sentence(monkeypatch):
    monkeypatch.delitem(sys.modules, "kodex.koopman.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingFeatureError, match=r"needs sklearn.*: pip install .*\[sklearn\]"):
        import_module("kodex.koopman.sklearn")
