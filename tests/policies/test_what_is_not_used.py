"""What somebody gives and nobody uses is named: demonstrations for validation, and a goal."""

import pytest

import kodex
from kodex.cli import main
from tests.policies.toy_skill import demonstrations


@pytest.fixture
def file(tmp_path):
    return str(kodex.write(tmp_path / "ten.h5", demonstrations(10)))


def notes(capsys, *words):
    assert main(["fit", *map(str, words)]) == 0
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("recipe", ["default", "koopman"])
def test_fit_says_that_nothing_is_selected_by_validation(recipe, file, tmp_path, capsys):
    words = (file, "-o", tmp_path / "policy", "--recipe", recipe, "--validation", 2)
    assert (
        f"note: the recipe {recipe} selects nothing by validation, so the policy learns nothing "
        "from the 2 demonstrations of --validation: leave it out, and all 10 can be for training"
    ) in notes(capsys, *words)
    assert "validation" not in notes(capsys, file, "-o", tmp_path / "all", "--recipe", recipe)


def test_fit_says_nothing_where_validation_selects(file, tmp_path, capsys):
    words = (file, "-o", tmp_path / "policy", "--recipe", "set3+context", "--validation", 2)
    assert "validation" not in notes(capsys, *words)
