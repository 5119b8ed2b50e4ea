"""Koopman models on disk, and what `kodex inspect` says of them."""

from dataclasses import replace

import numpy as np
import pytest
from known_systems import ROTATION, linear_demonstrations

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.errors import InputError
from kodex.koopman import CrossValidated, KoopmanDynamics, KoopmanLearner, Pinv, Ridge, load, save
from kodex.lifting import DelayLearner, FourierLearner, MonomialsLearner, PaperPolynomialLearner
from kodex.storage import Stored, write_model

DEMONSTRATIONS = linear_demonstrations(1.02 * ROTATION, 6, 10, noise=0.01)
FIRST = np.array([[0.3, -0.2], [1.0, 2.0]])


@pytest.mark.parametrize(
    "lifting",
    [
        PaperPolynomialLearner(number=3),
        FourierLearner(count=20),
        DelayLearner(window=2),
        MonomialsLearner(degree=2, constant=True),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("relift", [False, True])
def test_a_model_comes_back_bit_for_bit(tmp_path, lifting, relift):
    fitted = KoopmanLearner(
        lifting, CrossValidated((Pinv(), Ridge(0.1)), folds=2), max_radius=1.0
    ).fit(DEMONSTRATIONS)
    dynamics = replace(fitted, relift=relift, feedback=0.25 if relift else 0.0)
    loaded = load(save(dynamics, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.matrix, dynamics.matrix)
    np.testing.assert_array_equal(loaded.predict(FIRST, 9), dynamics.predict(FIRST, 9))
    assert (loaded.layout, loaded.observables) == (dynamics.layout, dynamics.observables)
    assert (loaded.relift, loaded.feedback) == (dynamics.relift, dynamics.feedback)
    for name, value in vars(dynamics.record).items():
        np.testing.assert_array_equal(getattr(loaded.record, name), value)


def test_an_infinite_score_survives_json(tmp_path):
    dynamics = KoopmanLearner(MonomialsLearner(1)).fit(DEMONSTRATIONS)
    record = replace(dynamics.record, scores={"Pinv()": float("inf"), "Rank(rank=1)": 0.5})
    loaded = load(save(replace(dynamics, record=record), tmp_path / "model"))
    assert loaded.record.scores == {"Pinv()": float("inf"), "Rank(rank=1)": 0.5}


def test_dynamics_inside_a_policy_are_found(tmp_path):
    dynamics = KoopmanLearner().fit(DEMONSTRATIONS)
    folder = write_model(
        Stored("tracking", parts={"dynamics": dynamics.stored()}), tmp_path / "policy"
    )
    np.testing.assert_array_equal(load(folder).matrix, dynamics.matrix)


def test_a_model_without_koopman_dynamics_is_refused(tmp_path):
    folder = write_model(Stored("controller"), tmp_path / "other")
    with pytest.raises(InputError, match="no Koopman dynamics"):
        load(folder)


@pytest.mark.parametrize(
    "broken",
    [
        Stored("koopman"),
        Stored("koopman", config={"relift": False, "feedback": 0.0}),
        replace(KoopmanLearner().fit(DEMONSTRATIONS).stored(), arrays={"matrix": np.eye(3)}),
    ],
    ids=["empty", "no lifting", "another size"],
)
def test_a_folder_that_lacks_something_is_refused(tmp_path, broken):
    with pytest.raises(InputError):
        load(write_model(broken, tmp_path / "model"))


def test_inspect_says_what_the_model_is_and_what_to_worry_about(tmp_path, capsys):
    solver = CrossValidated((Pinv(), Ridge(0.1)), folds=2)
    save(KoopmanLearner(solver=solver).fit(DEMONSTRATIONS), tmp_path / "model")
    write(tmp_path / "demonstrations.h5", TrajectorySet(DEMONSTRATIONS))
    code = main(
        [
            "inspect",
            str(tmp_path / "model"),
            "--demonstrations",
            str(tmp_path / "demonstrations.h5"),
        ]
    )
    said = capsys.readouterr().out
    assert code == 0
    for part in ("1 robot + 1 object", "largest magnitude", "rank of G", "← chosen", "modes grow"):
        assert part in said


def test_inspect_works_on_a_matrix_that_was_not_fitted(tmp_path, capsys):
    fitted = KoopmanLearner(MonomialsLearner(1)).fit(DEMONSTRATIONS)
    save(KoopmanDynamics(fitted.lifting, np.zeros((2, 2))), tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert "not recorded" in capsys.readouterr().out


def test_inspect_refuses_a_folder_of_something_else(tmp_path, capsys):
    assert main(["inspect", str(tmp_path)]) == 2
    assert "is not a kodex model" in capsys.readouterr().err
