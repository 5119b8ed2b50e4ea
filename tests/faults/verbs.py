"""The verbs that write, each small, over an output that is there already.

`whole` returns which output is there, "old" or "new", and fails if it is neither.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import kodex
from kodex.demonstrations import TrajectorySet, write
from kodex.evaluation import read_results
from kodex.formats import read_as, write_as
from kodex.reports.run import read_run
from tests.faults import resuming
from tests.faults.injecting import done
from tests.faults.resuming import DEMONSTRATOR, ENV
from tests.formats.made_files import demonstrations as demonstrations_of_formats
from tests.policies.toy_skill import demonstrations


class Verb(NamedTuple):
    """A command, what it needs and what it leaves."""

    words: tuple[str, ...]
    prepare: Callable[[Path], object]  # the old output, and what the command reads
    whole: Callable[[Path], str]
    simulates: bool = False  # a hand, which takes seconds
    resumes: bool = False  # may leave what is unfinished; the same command finishes it


def _which(is_old):
    return "old" if is_old else "new"


def _prepare_fit(folder):
    write(folder / "d.h5", TrajectorySet(demonstrations(6)))
    kodex.fit(demonstrations(4), recipe="set3").save(folder / "out", provenance={"old": True})


def _whole_policy(folder):
    policy = kodex.load(folder / "out")
    session = kodex.Session(policy)
    session.reset(demonstrations(1)[0].states[0])
    session.act(demonstrations(1)[0].states[0])
    return _which("old" in kodex.storage.read_header(folder / "out")["provenance"])


def _prepare_convert(folder):
    write(folder / "d.h5", demonstrations_of_formats(3))
    write_as(folder / "out", demonstrations_of_formats(2), "minari")


def _whole_minari(folder):
    return _which(len(read_as(folder / "out", "minari").trajectories) == 2)


def _prepare_import(folder):
    write_as(folder / "d.hdf5", demonstrations_of_formats(3), "robomimic")
    write(folder / "out.h5", demonstrations_of_formats(2))


def _whole_file(folder, old=2):
    return _which(len(kodex.read(folder / "out.h5")) == old)


def _prepare_collect(folder):
    write(folder / "out.h5", TrajectorySet(demonstrations(5)))


def _whole_collected(folder):
    return _whole_file(folder, 5)


def _prepare_run(folder):
    done([*RUN, "--instances", "2", "--out", "out"], folder)


def _whole_run(folder):
    run = read_run(folder / "out")
    kodex.load(folder / "out" / "policy")
    return _which(run.results.score.instances == 2)


def _prepare_evaluate(folder):
    _prepare_run(folder)
    (folder / "out" / "results.json").replace(folder / "r.json")


def _whole_results(folder):
    return _which(read_results(folder / "r.json").score.instances == 2)


def _whole_report(folder):
    _whole_run(folder)
    page = (folder / "out" / "report.html").read_text()
    if not page.rstrip().endswith("</html>"):
        raise AssertionError("half a page")
    return "new"  # the old one says the same


FIT = ("fit", "d.h5", "-o", "out", "--method", "set3", "--replace")
RUN = ("run", *ENV, *DEMONSTRATOR, "--recipe", "set3", "--demonstrations", "3", "--validation", "1")
VERBS = {
    "fit": Verb(FIT, _prepare_fit, _whole_policy),
    "convert to a folder": Verb(
        ("convert", "d.h5", "-o", "out", "--to", "minari", "--replace"),
        _prepare_convert,
        _whole_minari,
    ),
    "convert to a file": Verb(
        ("convert", "d.hdf5", "-o", "out.h5", "--replace"), _prepare_import, _whole_file
    ),
    "collect": Verb(
        ("collect", *ENV, *DEMONSTRATOR, "-o", "out.h5", "--episodes", "2", "--replace"),
        _prepare_collect,
        _whole_collected,
    ),
    "evaluate": Verb(
        ("evaluate", "out/policy", *ENV, "--instances", "3", "--json", "r.json", "--rollouts",
         "r.h5", "--replace"),
        _prepare_evaluate,
        _whole_results,
    ),
    "report": Verb(("report", "out", "--open", "no"), _prepare_run, _whole_report),
    "run": Verb(
        (*RUN, "--instances", "3", "--out", "out", "--replace"), _prepare_run, _whole_run
    ),
    "fit a baseline": Verb(
        resuming.BASELINE, resuming.prepare_baseline, resuming.whole_baseline, resumes=True
    ),
    "train-expert": Verb(
        resuming.EXPERT, resuming.prepare_expert, resuming.whole, simulates=True, resumes=True
    ),
    "reproduce": Verb(
        resuming.STUDY, resuming.prepare_study, resuming.whole, simulates=True, resumes=True
    ),
    **{
        f"{what} to {kind}": Verb(
            words,
            partial(prepare, words=words, output=words[words.index("-o") + 1]),
            partial(resuming.whole, output=words[words.index("-o") + 1]),
            simulates=what == "render",
        )
        for what, kind, words, prepare in (
            ("export", "C", resuming.C, resuming.prepare_export),
            ("export", "ONNX", resuming.ONNX, resuming.prepare_export),
            ("render", "a GIF", resuming.GIF, resuming.prepare_video),
            ("render", "a film", resuming.FILM, resuming.prepare_video),
        )
    },
}  # fmt: skip
