"""The model card says what the stored policy is, and nothing that is not in the files."""

import json

import pytest

from kodex.experiments.skill import SkillStudy
from kodex.interfaces import PolicySpec
from kodex.model_card import CARD_FILE, model_card
from kodex.policies import load, save
from kodex.storage import read_header
from kodex.tasks import task
from kodex.trajectory import ActionRange, Control, StateLayout
from tests.export.policies import KINDS, made


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_policy_has_a_card_that_names_its_state_and_context(kind, tmp_path):
    policy = made(kind)
    folder = policy.save(tmp_path / "policy")
    card = (folder / CARD_FILE).read_text()
    assert all(f"`{name}`" in card for name in (*policy.spec.layout.names, *policy.spec.context))
    assert "not measured" in card and "demonstrations | unknown" in card
    assert card.startswith("---\nlibrary_name: kodex\n")


def test_the_example_in_the_card_gives_the_context(tmp_path):
    card = (made("bc with context").save(tmp_path / "policy") / CARD_FILE).read_text()
    assert 'session.reset(first_state, context={"side": ...})' in card


def test_the_card_has_the_range_the_time_step_and_the_units_that_the_policy_knows():
    layout = StateLayout(robot=("elbow",), object=("lid",))
    limits = ActionRange((-0.5, 0.0), (0.5, 2.0))
    control = Control(time_step=0.02, action_range=limits, units={"elbow": "rad"})
    card = model_card(PolicySpec(layout, 2, control=control), "made", {})
    assert "2 numbers, which a session clips: -0.5 to 0.5, 0 to 2" in card
    assert "| time step | 0.02 s |" in card and "- robot: `elbow` (rad)" in card
    unknown = model_card(PolicySpec(layout, 2), "made", {})
    assert "range was not recorded" in unknown and "-1 to 1" not in unknown


def test_a_card_is_replaced_with_its_policy_and_a_strangers_file_is_not(tmp_path):
    folder = save(made("bc"), tmp_path / "policy", provenance={"recipe": "bc"})
    save(made("set1"), folder, replace=True)
    assert "stored as `tracking`" in (folder / CARD_FILE).read_text()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"notes\.txt"):
        save(made("bc"), folder, replace=True)


def test_a_card_that_somebody_wrote_beside_an_old_policy_is_left_alone(tmp_path):
    folder = save(made("bc"), tmp_path / "policy")
    config = json.loads((folder / "config.json").read_text())
    del config["documents"], config["config_sha256"]  # as before there were cards
    (folder / "config.json").write_text(json.dumps(config))
    load(folder)
    with pytest.raises(ValueError, match=CARD_FILE):
        save(made("bc"), folder, replace=True)


def test_the_card_of_a_run_has_the_numbers_of_its_results(tmp_path):
    study = SkillStudy(training=10, validation=3, instances=4, video=False)
    results = study.run(task("door"), tmp_path / "run", say=lambda line: None)
    card = (tmp_path / "run/policy" / CARD_FILE).read_text()
    score = results.score
    assert f"{100 * score.rate:.1f} % [{100 * score.low:.1f}, {100 * score.high:.1f}] of 4" in card
    assert "10 to learn from, 3 for validation" in card
    assert "| task | door |" in card
    assert read_header(tmp_path / "run/policy")["provenance"]["recipe"] == "default"
