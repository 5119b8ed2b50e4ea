"""The ONNX graph acts as NumPy does, with its memory outside and any number of rows."""

import sys

import numpy as np
import pytest

from kodex.cli import main
from kodex.export import program_of, samples_of
from kodex.policies import save
from tests.export.policies import KINDS, SINGLE, made

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

from kodex.export.onnx import OnnxSession, onnx_difference, onnx_model  # noqa: E402


def exported(kind, precision="float64"):
    policy = made(kind)
    samples = samples_of(policy)
    return onnx_model(program_of(policy), samples, precision), samples


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_acts_as_numpy(kind):
    model, samples = exported(kind)
    difference = onnx_difference(model.SerializeToString(), samples)
    assert difference <= 1e-11 * np.abs(samples.actions).max()


@pytest.mark.parametrize("kind", [KINDS[0], SINGLE])
def test_single_precision_is_near_and_smaller(kind):
    single, samples = exported(kind, "float32")
    double, _ = exported(kind)
    assert single.ByteSize() < double.ByteSize()
    difference = onnx_difference(single.SerializeToString(), samples)
    assert 0.0 < difference <= 1e-3 * np.abs(samples.actions).max()


def test_the_metadata_say_what_goes_in_and_how_near_it_is():
    model, samples = exported("set3 with context")
    facts = {each.key: each.value for each in model.metadata_props}
    assert facts["state_names"] == '["joint_0", "joint_1", "gap", "still"]'
    assert facts["context_names"] == '["side"]'
    measured = onnx_difference(model.SerializeToString(), samples)
    assert float(facts["largest_difference_to_numpy"]) == measured


def test_one_row_acts_as_it_does_among_many():
    model, samples = exported("set3 with context")
    together = OnnxSession(model.SerializeToString())
    together.reset(len(samples.states), samples.context)
    alone = OnnxSession(model.SerializeToString())
    alone.reset(1, samples.context[2:3])
    for at in range(5):
        many, one = together.step(samples.states[:, at]), alone.step(samples.states[2:3, at])
        np.testing.assert_allclose(one[0], many[2], atol=1e-12)


def test_an_episode_that_starts_forgets_what_was_before():
    model, samples = exported("set3 with context")
    session = OnnxSession(model.SerializeToString())
    session.reset(len(samples.states), samples.context)
    fresh = session.step(samples.states[:, 0])
    session.step(samples.states[:, 7])
    session._feed["episode_start"][:] = True
    np.testing.assert_array_equal(session.step(samples.states[:, 0]), fresh)


def test_the_verb_prints_how_near_it_is(tmp_path, capsys):
    save(made("bc"), tmp_path / "skill")
    path = tmp_path / "skill.onnx"
    words = ["export", str(tmp_path / "skill"), "--to", "onnx", "-o", str(path)]
    assert main([*words, "--precision", "float32"]) == 0
    assert "differs from NumPy by at most" in capsys.readouterr().out
    onnx.checker.check_model(str(path), full_check=True)


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path, capsys, monkeypatch):
    save(made("bc"), tmp_path / "skill")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", str(tmp_path / "skill"), "--to", "onnx"]) == 2
    assert "[onnx]'" in capsys.readouterr().err
