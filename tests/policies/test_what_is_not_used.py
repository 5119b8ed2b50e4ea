"""What somebody gives and nobody uses is named: demonstrations for validation, and a goal."""

import pytest

import kodex
from kodex.cli import main
from kodex.errors import InputError
from kodex.policies import context_of
from kodex.rollout.loop import begin
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


def test_fit_names_a_context_that_the_recipe_does_not_use(file, tmp_path, capsys):
    assert (
        "note: the demonstrations have the context side, which the recipe set3 does not use: "
        "--recipe set3+context gives it to the policy"
    ) in notes(capsys, file, "-o", tmp_path / "policy", "--recipe", "set3")
    for number, recipe in enumerate(("set3+context", "default", "default-context")):
        said = notes(capsys, file, "-o", tmp_path / str(number), "--recipe", recipe)
        assert "does not use" not in said


def test_a_session_refuses_a_context_that_its_policy_does_not_know():
    shown = demonstrations(10)
    first = shown[0].states[0]
    session = kodex.Session(kodex.fit(shown, recipe="set3"))
    with pytest.raises(
        InputError,
        match=r"this policy knows no context; found goal: leave it out, or learn a policy with it "
        r"\(from demonstrations that have it, with default or RECIPE\+context\)",
    ):
        session.reset(first, context={"goal": 5})
    for nothing in (None, {}):
        session.reset(first, context=nothing)
    session = kodex.Session(kodex.fit(shown))
    with pytest.raises(InputError, match="this policy knows the context side; found goal"):
        session.reset(first, context={"side": 0.1, "goal": 5})


@pytest.mark.parametrize("odd", [0.3, 0.0, "side", ["side"]])
@pytest.mark.parametrize("recipe", ["default", "set3"])
def test_a_context_is_numbers_by_name_whatever_the_policy(recipe, odd):
    shown = demonstrations(10)
    session = kodex.Session(kodex.fit(shown, recipe=recipe))
    with pytest.raises(InputError, match=r"the context must be numbers by name; found"):
        session.reset(shown[0].states[0], context=odd)


def test_an_evaluation_gives_each_policy_what_it_knows():
    shown = demonstrations(10)
    assert context_of((), shown) is None
    memory = begin(kodex.fit(shown, recipe="set3"), shown[0].states[:1], {"side": [0.3]})
    assert memory is not None
