"""Outputs: whole or not at all, and never at the cost of what somebody else put there."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from disk_changes import killed_before

from kodex.errors import InputError
from kodex.storage import Stored, new_file, new_folder, outputs, read_model, swap, write_model
from kodex.storage.outputs import begin_folder, check_output, remove_output, write_into
from kodex.storage.ownership import MARK


@pytest.fixture(params=["exchange", "steps"])
def either_system(request, monkeypatch):
    """Have a system that exchanges and renames without overwriting, and one that does not."""
    if request.param == "steps":
        monkeypatch.setattr(swap, "_renameat2", lambda *_: False)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder of its own, with a home of its own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")


def write_run(folder, text="new", **options):
    with new_folder(folder, **options) as fresh:
        (fresh / "results.txt").write_text(text)
        (fresh / "plots").mkdir()
        (fresh / "plots" / "a.png").write_text(text)


def tree(folder):
    """Return all that is below `folder`, hidden or not, with what is in the files."""
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else None
        for path in Path(folder).rglob("*")
    }


def texts(folder):
    return {name: text for name, text in tree(folder).items() if name != MARK}


def names(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


RUN = {"results.txt": "new", "plots": None, "plots/a.png": "new"}


def test_a_folder_appears_whole_and_nothing_else_does(either_system):
    write_run("deep/er/run")
    assert texts("deep/er/run") == RUN
    assert names("deep/er") == ["run"]


def test_a_run_is_replaced_only_if_it_may_be(either_system):
    write_run("run", "old")
    with pytest.raises(InputError, match="run exists already"):
        write_run("run")
    assert texts("run")["results.txt"] == "old"
    write_run("run", replace=True)
    assert texts("run") == RUN
    assert names() == ["run"]


def test_an_empty_folder_may_be_replaced(either_system):
    Path("run").mkdir()
    write_run("run", replace=True)
    assert texts("run") == RUN


@pytest.mark.parametrize(
    "name", [".", "..", "../..", "/", "~", "../home", "../work", "x/..", "../home/.."]
)
def test_where_people_live_is_never_an_output(name, tmp_path):
    (tmp_path / "work" / "thesis.tex").write_text("precious")
    (tmp_path / "home" / "letter").write_text("precious")
    if name == "~":
        name = str(tmp_path / "home")
    before = tree(tmp_path)
    for replace in (False, True):
        for folder in (False, True):
            with pytest.raises(InputError):
                check_output(name, replace=replace, folder=folder)
    with pytest.raises(InputError):
        write_run(name, replace=True)
    with pytest.raises(InputError), new_file(name, replace=True):
        pass
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["~", "~/run"])
def test_a_home_that_no_shell_filled_in_is_not_made(name):
    with pytest.raises(InputError, match="~ is filled in by a shell"):
        write_run(name)
    with pytest.raises(InputError, match="~ is filled in by a shell"):
        begin_folder(name, holds="a study", begun=False)
    assert not Path("~").exists()


FOREIGN = {
    "thesis": lambda run: (run / "thesis.tex").write_text("precious"),
    "deep": lambda run: ((run / "src").mkdir(), (run / "src" / "thesis.tex").write_text("x")),
    "link": lambda run: (run / "link").symlink_to("/etc/passwd"),
    "folder link": lambda run: (run / "link").symlink_to("/etc"),
    "known name, link": lambda run: (
        (run / "results.txt").unlink(),
        (run / "results.txt").symlink_to("/etc/passwd"),
    ),
    "pipe": lambda run: os.mkfifo(run / "pipe"),
    "no mark": lambda run: (run / MARK).unlink(),
    "other mark": lambda run: (run / MARK).write_text('{"format": "kodex-folder", "files": 3}'),
    "deep mark": lambda run: (run / MARK).write_text("[" * 100_000),
    "outside": lambda run: (run / MARK).write_text(
        '{"format": "kodex-folder", "files": ["../thesis.tex"]}'
    ),
    "a web project": lambda run: (
        (run / MARK).unlink(),
        (run / "config.json").write_text('{"format": "other"}'),
    ),
}


@pytest.mark.parametrize("add", FOREIGN.values(), ids=FOREIGN)
def test_a_folder_with_anything_else_in_it_is_left_alone(add):
    Path("thesis.tex").write_text("precious")
    write_run("run", "old")
    add(Path("run"))
    before = sorted(Path("run").rglob("*"))
    with pytest.raises(InputError, match="left alone"):
        check_output("run", replace=True, folder=True)
    with pytest.raises(InputError, match="left alone"):
        write_run("run", replace=True)
    remove_output("run")
    assert sorted(Path("run").rglob("*")) == before
    assert Path("thesis.tex").read_text() == "precious"


def test_links_and_files_are_not_taken_for_folders():
    write_run("real", "old")
    Path("link").symlink_to("real")
    Path("broken").symlink_to("nowhere")
    Path("file").write_text("precious")
    for name in ("link", "broken", "file", "file/below"):
        with pytest.raises(InputError):
            write_run(name, replace=True)
        with pytest.raises(InputError):
            check_output(name, replace=True, folder=True)
    with pytest.raises(InputError), new_file("real", replace=True):
        pass
    assert texts("real")["results.txt"] == "old"
    assert Path("file").read_text() == "precious"
    assert not Path("nowhere").exists()


def test_what_appears_meanwhile_is_left_alone(either_system):
    with pytest.raises(InputError, match="appeared while"), new_folder("run"):
        Path("run").mkdir()
        Path("run/thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="appeared while"), new_file("a.json") as fresh:
        fresh.write_text("mine")
        Path("a.json").write_text("precious")
    assert tree(".") == {"run": None, "run/thesis.tex": "precious", "a.json": "precious"}


def test_what_is_put_into_an_old_output_meanwhile_is_left_alone(either_system):
    write_run("run", "old")
    with pytest.raises(InputError, match="left alone"), new_folder("run", replace=True):
        Path("run/thesis.tex").write_text("precious")
    assert texts("run") == {**dict.fromkeys(("results.txt", "plots/a.png"), "old")} | {
        "plots": None,
        "thesis.tex": "precious",
    }
    assert names() == ["run"]


def test_what_is_put_there_at_the_very_moment_is_put_back(either_system, monkeypatch):
    write_run("run", "old")

    def late(fresh, target, aside, exchange=outputs.exchange):
        if not Path("run/thesis.tex").exists() and "new" not in texts("run").values():
            Path("run/thesis.tex").write_text("precious")
        return exchange(fresh, target, aside)

    monkeypatch.setattr(outputs, "exchange", late)
    with pytest.raises(InputError, match="changed while this command worked"):
        write_run("run", replace=True)
    assert texts("run")["thesis.tex"] == "precious"
    assert texts("run")["results.txt"] == "old"
    assert names() == ["run"]


PEERS = b"# Peers\n\n<!-- Made by `python -m benchmarks.peers --out b"
ROWS = b'[\n{"task": "door", "demonstrations": 25, "method": "new"'


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        (b"", b"\x89HDF\r\n\x1a\n", True),
        (b"\x89HDF\r\n\x1a\nold kodex-trajectories", b"\x89HDF\r\n\x1a\nnew", True),
        (b"\x89HDF\r\n\x1a\nsomebody's data", b"\x89HDF\r\n\x1a\nnew", False),
        (b"/* door: a policy that kodex 0.1 wrote", b"/* door: a policy that kodex 9 wrote", True),
        (b"/* my robot, without kodex", b"/* door: a policy that kodex 9 wrote", False),
        (b"# door\n\n<!-- Made by `make results` from a", b"# door\n", True),
        (b"# thesis, with kodex\n", b"# door\n", False),
        (b"# Peers\n\n<!-- Made by `python -m benchmarks.peers --out a", PEERS, True),
        (b"# door\n\n<!-- Made by `make results` from a", PEERS, False),
        (b"# thesis, with peers\n", PEERS, False),
        (PEERS, b"# door\n\n<!-- Made by `make results` from a", False),
        (b'[\n{"task": "door", "demonstrations": 10, "method": "old"', ROWS, True),
        (b'[\n{"task": "write a thesis"}]', ROWS, False),
        (b"<!doctype html><title>kodex: door", b"<!doctype html>", True),
        (b"<!doctype html><title>me", b"<!doctype html>", False),
        (b"\x08\x0a\x12\x05kodex old", b"\x08\x0a\x12\x05kodex", True),
        (b"\x08\x0a\x12\x05torch old", b"\x08\x0a\x12\x05kodex", False),
        (b"notes", b"text", False),
        (b"\\documentclass", b"\x89HDF\r\n\x1a\n", False),
        (b"\\documentclass", b'{\n  "format": "kodex-results"', False),
        (b'{"name": "my web page"}', b'{\n  "format": "kodex-results"', False),
        (b'{\n  "format": "kodex-results", "old"', b'{\n  "format": "kodex-results"', True),
        (b"\x89PNG\r\n\x1a\nold", b'{\n  "format": "kodex-results"', False),
    ],
)
def test_a_file_is_replaced_only_by_one_of_its_kind(either_system, old, new, may):
    Path("file").write_bytes(old)
    if may:
        with new_file("file", replace=True) as fresh:
            fresh.write_bytes(new)
    else:
        with (
            pytest.raises(InputError, match=r"only a|not written by kodex"),
            new_file("file", replace=True) as fresh,
        ):
            fresh.write_bytes(new)
    assert Path("file").read_bytes() == (new if may else old)
    assert names() == ["file"]


def test_a_model_of_another_library_is_never_replaced():
    Path("hf").mkdir()
    Path("hf/config.json").write_text('{"model_type": "bert"}')
    Path("hf/model.safetensors").write_text("weights")
    before = tree("hf")
    with pytest.raises(InputError, match="left alone"):
        write_model(Stored("mine"), "hf", replace=True)
    assert tree("hf") == before


def test_files_that_are_added_later_belong_to_the_folder():
    write_run("run", "old")
    write_into("run", {Path("run/report.html"): b"page"})
    write_into("run", {Path("run/report.html"): b"page 2", Path("run/plots/b.png"): b"plot"})
    assert texts("run")["report.html"] == "page 2"
    write_run("run", replace=True)
    assert texts("run") == RUN


def write_reported_run(folder, fails=False, **options):
    with new_folder(folder, **options) as fresh:
        (fresh / "results.txt").write_text("new")
        write_into(fresh, {fresh / "report.html": b"page"})
        if fails:
            raise InputError("nothing comes of it")


def test_files_that_are_added_before_a_folder_is_finished_do_not_disown_the_others(either_system):
    write_reported_run("run")
    write_reported_run("run", replace=True)
    assert texts("run") == {"results.txt": "new", "report.html": "page"}
    with pytest.raises(InputError, match="nothing comes of it"):
        write_reported_run("run", fails=True, replace=True)
    assert names() == ["run"]


def test_what_somebody_put_beside_is_not_overwritten_by_a_later_file():
    write_run("run", "old")
    Path("run/table.md").write_text("precious")
    before = tree("run")
    with pytest.raises(InputError, match=r"table\.md was not written by kodex"):
        write_into("run", {Path("run/report.html"): b"page", Path("run/table.md"): b"table"})
    assert tree("run") == before  # the first of the two is not written either


def test_a_mark_that_leads_elsewhere_is_not_followed():
    write_run("run", "old")
    Path("precious").write_text("precious")
    Path("run", MARK).unlink()
    Path("run", MARK).symlink_to("../precious")
    with pytest.raises(InputError, match="is a link"):
        write_into("run", {Path("run/report.html"): b"page"})
    assert Path("precious").read_text() == "precious"


def test_a_study_begins_where_there_is_nothing_and_goes_on_where_it_began():
    Path("work").mkdir()
    Path("work/table.md").write_text("precious")
    with pytest.raises(InputError, match=r"other than a study \(table\.md\)"):
        begin_folder("work", holds="a study", begun=False)
    Path("link").symlink_to("work")
    Path("file").write_text("precious")
    for name in ("link", "file", "file/below"):
        with pytest.raises(InputError):
            begin_folder(name, holds="a study", begun=True)
    assert tree("work") == {"table.md": "precious"}
    Path("new").mkdir()
    for begun in (False, False, True):  # killed before there was anything of a study; then after
        begin_folder("new", holds="a study", begun=begun)
    write_into("new", {Path("new/table.md"): b"1"})
    write_into("new", {Path("new/table.md"): b"2"})
    assert texts("new") == {"table.md": "2"}


def test_what_a_folder_of_before_marks_holds_may_be_written_again():
    Path("run").mkdir()
    Path("run/table.md").write_text("old")
    write_into("run", {Path("run/table.md"): b"new"})
    assert texts("run") == {"table.md": "new"}


def test_only_what_kodex_wrote_is_removed():
    write_model(Stored("checkpoint"), "unfinished/stage 1")
    write_model(Stored("checkpoint"), "unfinished/stage 2")
    Path("unfinished/stage 2/notes.txt").write_text("precious")
    remove_output("unfinished")
    assert names("unfinished") == ["stage 2"]
    assert Path("unfinished/stage 2/notes.txt").exists()
    assert read_model("unfinished/stage 2").type == "checkpoint"


def test_what_a_killed_process_left_beside_a_checkpoint_goes_with_it():
    said = run_program(
        "from pathlib import Path; from kodex.storage.hidden import hidden_beside\n"
        "print(hidden_beside(Path('at')))"
    )
    for name in ("other", "at", f"{said.stdout.strip()}/at"):  # the last was replaced
        write_model(Stored("checkpoint"), f"unfinished/{name}")
    remove_output("unfinished/at")
    assert names("unfinished") == ["other"]


def test_modes_follow_the_umask():
    before = os.umask(0o027)
    try:
        write_run("run")
        with new_file("a.txt") as fresh:
            fresh.write_text("a")
    finally:
        os.umask(before)
    assert Path("run").stat().st_mode & 0o777 == 0o750
    assert Path("a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_failing_disk_is_one_sentence_and_costs_nothing(number):
    write_run("run", "old")
    with (
        pytest.raises(InputError, match=r"cannot write run: .*; nothing was changed"),
        new_folder("run", replace=True),
    ):
        raise OSError(number, os.strerror(number))
    with (
        pytest.raises(InputError, match="cannot write new/deep/a: "),
        new_file("new/deep/a"),
    ):
        raise OSError(number, os.strerror(number))
    assert texts("run")["results.txt"] == "old"
    assert names() == ["run"]


def test_what_cannot_be_removed_after_the_swap_costs_neither_old_nor_new():
    write_model(Stored("old"), "model")
    refusing = (
        "\nfrom kodex.storage import ownership\n"
        "def refuse(path):\n    raise PermissionError(1, 'not permitted')\n"
        "ownership.remove_owned = refuse\n"
    )
    said = run_program(SETUP + refusing + MODEL).stderr
    assert "could not be removed" in said
    assert read_model("model").type == "new"
    assert len(names()) == 2
    write_run("other")  # the next command tidies up
    assert names() == ["model", "other"]


def run_program(program):
    """Run Python in a process of its own, which is no more when this returns."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


SETUP = "from kodex.storage import Stored, write_model, new_file, new_folder, read_model"
MODEL = 'write_model(Stored("new"), "model", replace=True)'
OLD, NEW = '{"format": "kodex-a", "is": "old"}', '{"format": "kodex-a", "is": "new"}'
FILE = f'with new_file("a.json", replace=True) as fresh: fresh.write_text({NEW!r})'
STEPS = "\nfrom kodex.storage import swap\nswap._renameat2 = lambda *_: False"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("setup", [SETUP, SETUP + STEPS], ids=["exchange", "steps"])
def test_a_kill_before_any_change_of_the_disk_leaves_the_old_or_the_new_model(setup):
    write_model(Stored("old"), "model")
    number = 0
    while killed_before(number, setup, MODEL, "."):
        check_output("elsewhere")  # as the next command does
        assert read_model("model").type in ("old", "new")
        write_model(Stored("old"), "model", replace=True)
        assert names() == ["model"]
        number += 1
    assert number >= 8
    assert read_model("model").type == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_kill_before_any_change_of_the_disk_leaves_the_old_or_the_new_file():
    Path("a.json").write_text(OLD)
    number = 0
    while killed_before(number, SETUP, FILE, "."):
        assert Path("a.json").read_text() in (OLD, NEW)
        with new_file("a.json", replace=True) as fresh:
            fresh.write_text(OLD)
        assert names() == ["a.json"]
        number += 1
    assert number >= 4
    assert Path("a.json").read_text() == NEW


def test_hidden_folders_of_the_living_are_not_removed():
    with new_folder("one") as fresh:
        (fresh / "work").write_text("in progress")
        with new_folder("two"):
            pass
        with new_file("three"):
            pass
        assert (fresh / "work").read_text() == "in progress"
    assert names() == ["one", "three", "two"]


def test_two_writers_of_one_model_never_disturb_each_other():
    program = (
        "import sys\nfrom kodex.storage import Stored, write_model, read_model\n"
        "for _ in range(40):\n"
        "    write_model(Stored(sys.argv[1]), 'model', replace=True)\n"
        "    assert read_model('model').type in 'ab'\n"
    )
    write_model(Stored("a"), "model")
    writers = [
        subprocess.Popen([sys.executable, "-c", program, name], stderr=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    for writer in writers:
        _, said = writer.communicate()
        assert (writer.returncode, said) == (0, "")
    assert read_model("model").type in "ab"
    assert names() == ["model"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_tidying_up_waits_until_that_is_done(number, monkeypatch):
    write_run("run", "old")
    before = signal.getsignal(number)
    remove = outputs.ownership.remove_owned

    def interrupted(path):
        signal.raise_signal(number)
        remove(path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs.ownership, "remove_owned", interrupted)
    signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_run("run", replace=True)
    finally:
        signal.signal(number, before)
    assert texts("run") == RUN
    assert names() == ["run"]
