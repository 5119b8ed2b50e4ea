"""The page acts as Python does: its arithmetic and its simulation, in Node.

`make check-demo` tries all of it in a real browser.
"""

import json
import shutil
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kodex.export.web as web
from kodex.cli import main
from kodex.errors import InputError, MissingFeatureError
from kodex.experts import collect
from kodex.export import program_of, samples_of
from kodex.export.samples import largest_difference
from kodex.policies import fit, save
from kodex.tasks import adroit, task
from tests.export.policies import KINDS, made

ASSETS = Path(web.__file__).parent / "web_assets"
IN_NODE = """
import { readFile } from "node:fs/promises";
const [folder] = process.argv.slice(2);
const { Policy } = await import("file://" + process.argv[3]);
const text = async (name) => JSON.parse(await readFile(folder + "/" + name));
const kinds = [];
for (const { description, numbers, states, context } of await text("kinds.json")) {
  const policy = new Policy(description, Float64Array.from(numbers));
  kinds.push(states.map((episode, at) => {
    policy.reset(episode[0], context[at]);
    return episode.map((state) => [...policy.step(state)]);
  }));
}
console.log(JSON.stringify(kinds));
"""


def test_the_pages_arithmetic_is_that_of_every_kind_of_policy(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("there is no Node here")
    kinds, wanted = [], []
    for kind in KINDS:
        policy = made(kind)
        samples = samples_of(policy)
        description, numbers = web.described(program_of(policy))
        kinds.append(
            {
                "description": description,
                "numbers": numbers.tolist(),
                "states": samples.states.tolist(),
                "context": samples.context.tolist(),
            }
        )
        wanted.append(samples.actions)
    (tmp_path / "kinds.json").write_text(json.dumps(kinds))
    (tmp_path / "act.mjs").write_text(IN_NODE)
    shutil.copy(ASSETS / "policy.js", tmp_path / "policy.mjs")
    command = ["node", str(tmp_path / "act.mjs"), str(tmp_path), str(tmp_path / "policy.mjs")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    for kind, found, actions in zip(KINDS, json.loads(answer.stdout), wanted, strict=True):
        difference = largest_difference(np.array(found), actions)
        assert difference <= 1e-12 * np.abs(actions).max(), kind


@pytest.mark.parametrize("name", ["door", "reorientation"])
def test_the_portable_model_has_the_physics_of_the_task(name):
    world = task(name)
    xml, meshes = adroit.portable(world.model_file)
    model = world.model()
    portable = adroit.portable_model(world.model_file)
    for field in ("body_mass", "dof_damping", "actuator_gainprm", "actuator_biasprm", "geom_size"):
        np.testing.assert_array_equal(getattr(portable, field), getattr(model, field))
    from_xml = mujoco.MjModel.from_xml_string(xml, meshes)
    for field in adroit.ROUNDED:
        np.testing.assert_allclose(getattr(from_xml, field), getattr(model, field), atol=1e-6)
        np.testing.assert_array_equal(getattr(portable, field), getattr(model, field))
    assert portable.ntex == 0
    assert portable.opt.disableflags == mujoco.mjtDisableBit.mjDSBL_MULTICCD


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the folder of a small page of the Door, and how well it agrees."""
    world = task("door")
    demonstrations = collect(world, 25)
    folder = tmp_path_factory.mktemp("page") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web, "EPISODES", 12)
        patch.setattr(web, "COMPARED", 4)
        try:
            agreement = web.write_page([(fit(demonstrations), "default")], folder)["door"]
        except MissingFeatureError as error:
            pytest.skip(str(error))
    return folder, agreement


def test_a_page_of_one_task_is_small_and_agrees_with_python(page):
    folder, agreement = page
    assert web.size_of(folder) < web.LARGEST
    if agreement is None:
        pytest.skip("there is no Node here")
    assert agreement.same >= agreement.episodes - 1
    info = json.loads((folder / "tasks/door/task.json").read_text())
    assert info["agreement"]["same"] == agreement.same
    assert agreement.same_model == agreement.episodes


def test_a_policy_without_a_task_has_no_page(tmp_path, capsys):
    save(made("bc"), tmp_path / "skill")
    assert main(["export", str(tmp_path / "skill"), "--to", "web"]) == 2
    assert "a page shows one of the tasks" in capsys.readouterr().err


def test_an_existing_folder_is_left_alone(tmp_path):
    with pytest.raises(InputError, match="exists already"):
        web.write_page([], tmp_path)


def test_without_npm_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingFeatureError, match="npm pack @mujoco/mujoco@"):
        web.write_libraries(tmp_path / "lib")


def test_a_package_that_is_not_what_was_pinned_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    web.kept_at().mkdir(parents=True)
    (web.kept_at() / web.MUJOCO.tarball).write_bytes(b"something else")
    with pytest.raises(MissingFeatureError, match="checksum"):
        web.write_libraries(tmp_path / "lib")
