"""The same demonstrations give the same bits, whatever the machine's mood."""

import os
import subprocess
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from kodex.evaluation import read_results
from kodex.experiments.cells import run_cell
from kodex.experiments.store import Data, Store
from kodex.experiments.studies import STUDIES, Options

ROOT = Path(__file__).parents[1]
PROGRAM = """
import hashlib
import kodex
from tests.policies.toy_skill import demonstrations

def arrays(stored):
    yield from (stored.arrays[name].tobytes() for name in sorted(stored.arrays))
    for name in sorted(stored.parts):
        yield from arrays(stored.parts[name])

shown = demonstrations(12)
for recipe in ("default", "koopman", "set3", "observer", "kernel-ridge"):
    policy = kodex.fit(shown, shown[:3], recipe=recipe)
    session = kodex.Session(policy)
    session.reset(shown[0].states[0], {n: shown[0].context[n] for n in policy.spec.context})
    acted = [session.act(state).tobytes() for state in shown[0].states[:4]]
    print(recipe, hashlib.sha256(b"".join([*arrays(policy.stored()), *acted])).hexdigest())
"""
QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C"}
LOUD = {
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_NUM_THREADS": "2",
    "PYTHONHASHSEED": "1234",
    "LC_ALL": "C.UTF-8",
}


def words(environment, folder):
    folder.mkdir()
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | environment | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def test_threads_hash_seeds_locales_and_folders_change_no_bit(tmp_path):
    assert words(QUIET, tmp_path / "here") == words(LOUD, tmp_path / "an other φ folder")


def test_a_cell_of_a_study_does_not_depend_on_how_many_threads_its_process_has(tmp_path):
    rows = STUDIES["observables"]
    options = Options(("door",), ("set3",), seeds=1, instances=1, data=Data(2, 1))
    (cell,) = rows.cells(options)
    found = []
    for threads in (1, 2):
        folder = tmp_path / str(threads)
        with threadpool_limits(threads, user_api="blas"):
            run_cell(cell, folder, Store(folder / "store"))
        found.append(read_results(folder / cell.path / "in.json").score)
    assert found[0].means == found[1].means
