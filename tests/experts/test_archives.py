"""Archives of demonstrations from strangers: looked at before they are read."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.experts.dapg.settings import read_pairs
from kodex.tasks import task

DOOR = task("door")
SEEN = np.random.default_rng(0).normal(size=(2, 8, DOOR.observation_size))
DONE = np.random.default_rng(1).normal(size=(2, 7, DOOR.action_size))


def archive(path, observations=SEEN, actions=DONE, save=np.savez):
    save(path, observations=observations, actions=actions)
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", [np.float64, np.float32, ">f8"])
def test_an_archive_is_read_as_it_was_written(tmp_path, save, kind):
    given = np.asfortranarray(SEEN.astype(kind))
    pairs = read_pairs(archive(tmp_path / "a.npz", observations=given, save=save), DOOR)
    expected = given[:, :-1].reshape(-1, DOOR.observation_size).astype(np.float64)
    np.testing.assert_array_equal(pairs.observations, expected)
    np.testing.assert_array_equal(pairs.actions, DONE.reshape(-1, DOOR.action_size))


ODD = {
    "NaN": {"observations": SEEN * np.nan},
    "complex": {"actions": DONE * 1j},
    "objects": {"actions": DONE.astype(object)},
    "texts": {"actions": np.full(DONE.shape, "a")},
    "two axes": {"actions": DONE[0]},
    "too few": {"observations": SEEN[:, :-1]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_archive_of_something_else_is_refused_in_one_sentence(tmp_path, odd):
    with pytest.raises(InputError, match=r"a\.npz"):
        read_pairs(archive(tmp_path / "a.npz", **odd), DOOR)


def test_a_file_that_is_no_archive_is_refused_in_one_sentence(tmp_path):
    whole = archive(tmp_path / "a.npz").read_bytes()
    single = io.BytesIO()
    np.save(single, SEEN)
    for content in (b"", whole[:100], whole[:-30], single.getvalue(), b"PK\x05\x06" + bytes(18)):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(InputError, match="is not a NumPy archive"):
            read_pairs(tmp_path / "a.npz", DOOR)


@pytest.mark.parametrize("rows", [10**7, 10**15, 10**30])
def test_an_archive_that_claims_gigabytes_costs_none(tmp_path, rows):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': (1, {rows}, 39), }}"
    content = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header.encode()
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("observations.npy", content + b"\n" + bytes(10**6))
        made.writestr("actions.npy", content + b"\n")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="bytes; at most"):
            read_pairs(tmp_path / "a.npz", DOOR)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
