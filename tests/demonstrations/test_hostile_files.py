"""Files from strangers: nothing outside of the file is read, and no more than it is long."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from made_trajectories import LAYOUT, content, full_trajectory, trajectory

from kodex.demonstrations import TrajectorySet, read, read_header, write
from kodex.errors import InputError

STATES = "episodes/000000/states"


@pytest.fixture
def file(tmp_path):
    """Return a file of two episodes, and another beside it to reach for."""
    write(tmp_path / "other.h5", TrajectorySet([full_trajectory(7)]))
    os.mkfifo(tmp_path / "pipe")
    return write(tmp_path / "door.h5", TrajectorySet(map(full_trajectory, range(2))))


def virtual(source, name):
    def change(opened):
        del opened[STATES]
        layout = h5py.VirtualLayout((5, 3), dtype="f8")
        layout[:] = h5py.VirtualSource(source, name, shape=(5, 3))
        opened.create_virtual_dataset(STATES, layout)

    return change


def external(path):
    def change(opened):
        del opened[STATES]
        opened.create_dataset(STATES, (5, 3), "f8", external=[(path, 0, 120)])

    return change


def link(name, to):
    def change(opened):
        del opened[name]
        opened[name] = to

    return change


def made(name=STATES, **settings):
    def change(opened):
        del opened[name]
        opened.create_dataset(name, **settings)

    return change


def many_signals(opened):
    for number in range(1001):
        opened[f"episodes/000000/signals/s{number}"] = np.zeros(5)


def one_array_a_thousand_times(opened):
    large = opened["episodes/000000"].create_dataset("large", data=np.zeros((5, 3000)))
    for number in range(900):
        opened[f"episodes/000000/signals/s{number}"] = large


ELSEWHERE = "link to somewhere else"
HOSTILE = {
    "external storage": (external("/etc/passwd"), "stored in another file"),
    "relative storage": (external("../../etc/passwd"), "stored in another file"),
    "storage on a pipe": (external("pipe"), "stored in another file"),
    "external link": (link(STATES, h5py.ExternalLink("other.h5", STATES)), ELSEWHERE),
    "link to a pipe": (link(STATES, h5py.ExternalLink("pipe", "x")), ELSEWHERE),
    "soft link": (link(STATES, h5py.SoftLink("/episodes/000001/states")), ELSEWHERE),
    "soft episode": (link("episodes/000000", h5py.SoftLink("/episodes/000001")), ELSEWHERE),
    "signals": (
        link("episodes/000000/signals", h5py.ExternalLink("other.h5", "/episodes/000000/signals")),
        ELSEWHERE,
    ),
    "episodes": (link("episodes", h5py.ExternalLink("other.h5", "/episodes")), ELSEWHERE),
    "virtual": (virtual("other.h5", STATES), "put together"),
    "virtual of nothing": (virtual("missing.h5", STATES), "put together"),
    "virtual of itself": (virtual(".", STATES), "put together"),
    "never written": (made(shape=(10**7, 3), dtype="f8", chunks=(1000, 3)), "never written"),
    "endless": (
        made(shape=(10**7, 3), maxshape=(None, 3), dtype="f8", chunks=(1000, 3), fillvalue=1.0),
        "never written",
    ),
    "compressed": (made(data=np.zeros((10**6, 3)), compression="gzip"), "must be an array of"),
    "episode of 10^13": (
        made("episodes/000000", shape=(10**13,), dtype="f8", chunks=(10**6,)),
        "must be a group",
    ),
    "big end first": (made(data=np.zeros((5, 3), ">f8")), "must be an array of float64"),
    "complex": (made(data=np.zeros((5, 3), complex)), "must be an array of float64"),
    "structured": (made(data=np.zeros(5, "f8,f8,f8")), "must be an array of float64"),
    "texts": (made(data=["a", "b"]), "must be an array of float64"),
    "references": (made(shape=(5, 3), dtype=h5py.ref_dtype), "must be an array of float64"),
    "empty": (made(data=h5py.Empty("f8")), "must be an array of float64"),
    "many signals": (many_signals, "at most 1000"),
    "one array many times": (one_array_a_thousand_times, "more numbers than the whole file"),
}


@pytest.mark.parametrize(("change", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_only_plain_arrays_of_the_file_itself_are_read(file, change, reason):
    with h5py.File(file, "r+") as opened:
        change(opened)
    # In a process of its own: a crash or a hang of HDF5 would take pytest with it.
    program = (
        "import sys\nfrom kodex.demonstrations import read\nfrom kodex.errors import InputError\n"
        "try:\n    print(read(sys.argv[1]))\nexcept InputError as error:\n    print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, file],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)),
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert reason in answer.stdout
    assert str(file) in answer.stdout


NAMES = {"robot": [f"joint{number}" for number in range(100_001)], "object": []}
HEADERS = {
    "many names": (NAMES, "at most 100000 names"),
    "a long name": ({"robot": ["x" * 2000], "object": []}, "names of 1000 letters"),
    "letters": ({"robot": "abc", "object": []}, "names only"),
}


@pytest.mark.parametrize(("layout", "reason"), HEADERS.values(), ids=HEADERS)
def test_a_layout_has_bounds(file, layout, reason):
    with h5py.File(file, "r+") as opened:
        opened.attrs["layout"] = np.bytes_(json.dumps(layout))
    with pytest.raises(InputError, match=reason):
        read_header(file)


def test_a_lost_last_page_is_noticed(tmp_path):
    """Fletcher's sum of zeros is 0, so HDF5 itself does not see it."""
    quiet = trajectory(1.5, steps=100, rewards=np.ones(99))
    path = write(tmp_path / "quiet.h5", TrajectorySet([quiet] * 3))
    whole = path.read_bytes()
    for first in range(0, len(whole), 64):
        path.write_bytes(whole[:first] + bytes(min(64, len(whole) - first)) + whole[first + 64 :])
        try:
            back = list(map(content, read(path)))
        except InputError:
            continue
        assert back == [content(quiet)] * 3


OLD = Path(__file__).parent / "fixtures" / "version-1.h5"  # as kodex wrote it at first


def test_files_from_before_there_were_digests_are_read():
    back = read(OLD)
    assert back.layout == LAYOUT
    unknown = {"context": {}, "time_step": None, "action_range": None, "units": {}}
    then = [replace(full_trajectory(index), **unknown) for index in range(2)]
    assert list(map(content, back)) == list(map(content, then))
    assert read_header(OLD).digest is None


def test_a_damaged_heap_of_texts_is_refused_instead_of_read_for_ever(tmp_path):
    program = f"""
import sys
from dataclasses import replace
from pathlib import Path
from kodex.demonstrations import read_header
from kodex.errors import InputError
whole, refused = Path({str(OLD)!r}).read_bytes(), 0
heap = whole.index(b"GCOL")
for first in range(heap, heap + 160, 4):
    for zeros in (4, 64):
        Path(sys.argv[1]).write_bytes(whole[:first] + bytes(zeros) + whole[first + zeros:])
        try:
            read_header(sys.argv[1])
        except InputError:
            refused += 1
print(refused)
"""
    answer = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "heap.h5"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert int(answer.stdout) > 20
