"""Storage: models come back bit for bit, and damage is noticed before it is used."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kodex.errors import InputError
from kodex.storage import (
    ARRAYS_FILE,
    CONFIG_FILE,
    VERSION,
    Stored,
    new_file,
    new_folder,
    read_header,
    read_model,
    write_model,
)

MODEL = Stored(
    type="outer",
    config={"names": ["a", "b"], "rate": 0.1, "on": True, "nothing": None},
    arrays={"weights": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 4))},
    parts={"inner": Stored(type="inner", arrays={"weights": np.array([1.0, np.nan, -0.0])})},
)


def assert_same(one, other):
    assert one.type == other.type
    assert dict(one.config) == dict(other.config)
    assert one.arrays.keys() == other.arrays.keys()
    for name in one.arrays:
        assert one.arrays[name].dtype == other.arrays[name].dtype
        assert one.arrays[name].shape == other.arrays[name].shape
        assert one.arrays[name].tobytes() == other.arrays[name].tobytes()
    assert one.parts.keys() == other.parts.keys()
    for name in one.parts:
        assert_same(one.parts[name], other.parts[name])


def folder_names(folder):
    return sorted(path.name for path in folder.iterdir())


def edit_header(folder, **changes):
    path = folder / CONFIG_FILE
    header = json.loads(path.read_text())
    header.update(changes)
    path.write_text(json.dumps(header))


@pytest.fixture
def written(tmp_path):
    return write_model(MODEL, tmp_path / "model", provenance={"seed": 3})


def test_a_digest_whose_name_is_damaged_is_not_taken_for_none(written):
    path = written / CONFIG_FILE
    text = path.read_text()
    path.write_text(text.replace('"config_sha256"', '"bonfig_sha256"').replace("0.1", "0.2"))
    with pytest.raises(InputError, match="bonfig_sha256"):
        read_model(written)


def test_a_tree_of_parts_comes_back_as_it_was(written):
    assert_same(read_model(written), MODEL)
    assert read_header(written)["provenance"] == {"seed": 3}


@settings(deadline=None, max_examples=25)
@given(
    array=arrays.arrays(
        dtype=st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
        shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_any_array_comes_back_bit_for_bit(tmp_path_factory, array):
    folder = tmp_path_factory.mktemp("models") / "model"
    stored = Stored("any", arrays={"array": array})
    assert_same(read_model(write_model(stored, folder)), stored)


def test_arrays_that_are_views_are_written_in_order(tmp_path):
    base = np.arange(12.0).reshape(3, 4)
    stored = Stored("view", arrays={"turned": base.T, "strided": base[:, ::2]})
    loaded = read_model(write_model(stored, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.arrays["turned"], base.T)
    np.testing.assert_array_equal(loaded.arrays["strided"], base[:, ::2])


def test_an_existing_model_is_replaced_only_when_asked(written):
    with pytest.raises(InputError, match="exists already"):
        write_model(Stored("other"), written)
    assert read_model(written).type == "outer"
    write_model(Stored("other"), written, replace=True)
    assert read_model(written).type == "other"


def test_a_folder_of_something_else_is_never_replaced(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(InputError, match="left alone"):
        write_model(MODEL, tmp_path / "photos", replace=True)
    assert folder_names(tmp_path / "photos") == ["cat.png"]


def test_what_json_cannot_hold_leaves_nothing_behind(tmp_path):
    for value in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            write_model(Stored("bad", config={"value": value}), tmp_path / "model")
    assert folder_names(tmp_path) == []


def test_an_error_while_replacing_keeps_the_old_model(written):
    with pytest.raises(ValueError, match="JSON"):
        write_model(Stored("bad", config={"value": float("nan")}), written, replace=True)
    assert_same(read_model(written), MODEL)
    assert folder_names(written.parent) == ["model"]


@pytest.mark.parametrize("keep", [0, 7, 8, 60, -1])
def test_truncated_arrays_are_refused(written, keep):
    path = written / ARRAYS_FILE
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="damaged or mixed up"):
        read_model(written)


def test_one_changed_bit_is_noticed(written):
    path = written / ARRAYS_FILE
    payload = bytearray(path.read_bytes())
    payload[-3] ^= 1
    path.write_bytes(payload)
    with pytest.raises(InputError, match="damaged or mixed up"):
        read_model(written)


@pytest.mark.parametrize("name", [CONFIG_FILE, ARRAYS_FILE])
def test_a_missing_file_is_named(written, name):
    (written / name).unlink()
    with pytest.raises(InputError, match=name):
        read_model(written)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        read_model(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not written by kodex"),
        ("[1, 2]", "not written by kodex"),
        ('{"format": "other", "version": 1}', "not written by kodex"),
        ('{"format": "kodex-model"', "is damaged"),
        ("", "is damaged"),
        ('{"format": "kodex-model", "version": 1}', "lacks"),
        ('{"format": "kodex-model", "version": "one"}', "version one"),
    ],
)
def test_a_foreign_or_cut_description_is_refused(written, text, message):
    (written / CONFIG_FILE).write_text(text)
    with pytest.raises(InputError, match=message):
        read_model(written)


def test_a_description_that_is_not_text_is_refused(written):
    (written / CONFIG_FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is damaged"):
        read_model(written)


def test_a_newer_version_asks_for_an_upgrade(written):
    edit_header(written, version=VERSION + 1)
    with pytest.raises(InputError, match="upgrade kodex"):
        read_model(written)


@pytest.mark.parametrize(
    "model",
    [
        {},
        [],
        {"type": "outer", "config": {}, "arrays": ["absent"], "parts": {}},
        {"type": "outer", "config": {}, "arrays": [], "parts": ["inner"]},
        {"type": "outer", "config": {}, "arrays": 5, "parts": {}},
    ],
)
def test_a_tree_that_does_not_fit_its_arrays_is_refused(written, model):
    edit_header(written, model=model)
    with pytest.raises(InputError, match="does not describe a model"):
        read_model(written)


def test_a_file_in_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(InputError):
        write_model(MODEL, tmp_path / "file" / "model")


def test_a_new_folder_vanishes_when_its_block_fails(tmp_path):
    with pytest.raises(RuntimeError, match="midway"), new_folder(tmp_path / "results") as fresh:
        (fresh / "half").write_text("half")
        raise RuntimeError("midway")
    assert folder_names(tmp_path) == []


def test_a_new_file_replaces_the_old_only_when_its_block_ends_well(tmp_path):
    path = tmp_path / "results.json"
    with new_file(path) as fresh:
        fresh.write_text('{"format": "kodex-results"}')
    with pytest.raises(RuntimeError, match="midway"), new_file(path, replace=True) as fresh:
        fresh.write_text("second, half")
        raise RuntimeError("midway")
    assert path.read_text() == '{"format": "kodex-results"}'
    assert folder_names(tmp_path) == ["results.json"]
