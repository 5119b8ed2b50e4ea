"""Hidden folders: what a dead process of this machine left goes, and nobody else's ever does."""

import errno
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kodex.errors import InputError
from kodex.storage import (
    Stored,
    check_output,
    new_file,
    new_folder,
    outputs,
    read_model,
    swap,
    write_model,
)
from kodex.storage.outputs import begin_folder, remove_output

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dead():
    """Return the number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left_by(number, *, elsewhere=False):
    """Make a hidden folder for `run` as the process `number` of this or another machine would."""
    with new_folder("run") as fresh:
        name = fresh.parent.name
    shutil.rmtree("run")
    parts = re.fullmatch(r"(?P<run>.*)\.(?P<host>\w+)-[0-9]+-(?P<word>\w+\.kodex)", name)
    host = "0" * len(parts["host"]) if elsewhere else parts["host"]
    folder = Path(f"{parts['run']}.{host}-{number}-{parts['word']}")
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "work").write_text("in progress")
    return folder


def write_something():
    """Write and remove something beside, which is when what was left is removed."""
    with new_folder("other", replace=True):
        pass
    check_output("nowhere")
    remove_output("something")


def test_what_a_dead_process_of_this_machine_left_is_removed(dead):
    folder = left_by(dead)
    write_something()
    assert not folder.exists()


def test_what_a_process_of_another_machine_makes_is_left_alone(dead):
    folder = left_by(dead, elsewhere=True)
    write_something()
    assert (folder / "run" / "work").read_text() == "in progress"


def test_what_a_living_process_makes_is_left_alone_even_if_it_holds_no_lock():
    for number in (os.getpid(), os.getppid(), 1):
        folder = left_by(number)
        write_something()
        assert (folder / "run" / "work").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="nobody tells")
def test_a_process_that_ended_and_waits_to_be_asked_how_is_dead():
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        process.stdout.read()  # which ends as the process does
        folder = left_by(process.pid)
        for _ in range(1000):
            write_something()
            if not folder.exists():
                break
            time.sleep(0.01)
        assert process.returncode is None
    assert not folder.exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_there_are_no_locks_what_was_left_is_left_alone(dead, number, monkeypatch):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    folder = left_by(dead)
    monkeypatch.setattr(swap.fcntl, "flock", refuse)
    write_something()
    assert (folder / "run" / "work").exists()
    assert Path("other").exists()


def test_what_a_process_of_another_container_still_locks_is_left_alone(dead):
    folder = left_by(dead)
    handle = os.open(folder, os.O_RDONLY)
    swap.fcntl.flock(handle, swap.fcntl.LOCK_EX)
    write_something()
    assert (folder / "run" / "work").exists()
    os.close(handle)
    write_something()
    assert not folder.exists()


@pytest.mark.parametrize("name", [".run.0123456789ab.kodex", ".run.kodex", ".run.-1.kodex"])
def test_what_does_not_say_whose_it_is_is_left_alone(name):
    (Path(name) / "run").mkdir(parents=True)
    write_something()
    assert (Path(name) / "run").exists()


def test_an_output_that_another_machine_is_about_to_replace_is_not_put_back(dead):
    folder = left_by(dead, elsewhere=True)
    (folder / "run").rename(folder / "run.kodex-old")
    check_output("run")
    assert (folder / "run.kodex-old").exists()
    assert not Path("run").exists()


def test_an_output_is_put_back_that_a_process_took_away_before_it_died(dead):
    folder = left_by(dead)
    (folder / "run").rename(folder / "run.kodex-old")
    with pytest.raises(InputError, match="run exists already"):
        check_output("run")
    assert (Path("run") / "work").read_text() == "in progress"


def test_removing_a_folder_spares_what_another_machine_makes_in_it(dead):
    write_model(Stored("checkpoint"), "unfinished/at")
    for elsewhere in (True, False):
        folder = left_by(dead, elsewhere=elsewhere)
        shutil.rmtree(folder / "run")
        write_model(Stored("checkpoint"), folder / "run")
        folder.rename(Path("unfinished") / folder)
    assert len(list(Path("unfinished").iterdir())) == 3
    remove_output("unfinished")
    (left,) = Path("unfinished").iterdir()
    assert "000000000000" in left.name
    assert read_model(left / "run").type == "checkpoint"


def test_a_study_may_begin_beside_what_another_machine_left(dead):
    Path("study").mkdir()
    folder = left_by(dead, elsewhere=True)
    folder = folder.rename(Path("study") / folder)
    begin_folder("study", holds="a study", begun=False)
    assert folder.exists()


def test_a_name_as_long_as_names_may_be_can_be_written():
    for letter in ("a", "\N{GRINNING FACE}"):
        name = letter * (250 // len(letter.encode()))
        with new_file(name) as fresh:
            fresh.write_text("long")
        assert Path(name).read_text() == "long"


@pytest.mark.parametrize("what", [new_file, new_folder])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_writer_whose_hidden_folder_disappears_says_so_in_one_sentence(what, when):
    with what("run") as fresh:
        if what is new_file:
            fresh.write_text('{"format": "kodex-a"}')
    before = Path("run").stat()
    with (
        pytest.raises(InputError, match=r"^cannot write run: .* was removed .*: try again$"),
        what("run", replace=True) as fresh,
    ):
        if when == "before":
            shutil.rmtree(fresh.parent)
        (fresh if what is new_file else fresh / "a").write_text('{"format": "kodex-a"}')
        shutil.rmtree(fresh.parent)
    assert os.path.samestat(Path("run").stat(), before)


def test_a_file_that_is_missing_for_another_reason_is_what_it_was():
    with pytest.raises(FileNotFoundError, match="nowhere"), new_folder("run"):
        Path("nowhere").read_text()


def test_an_output_that_is_there_is_not_called_lost(monkeypatch):
    def fail(path):
        raise FileNotFoundError(errno.ENOENT, "gone", str(path))

    monkeypatch.setattr(outputs, "sync", fail)
    with pytest.raises(FileNotFoundError), new_folder("run"):
        pass
    assert Path("run").exists()
