"""A real scheduler and two workers in processes of their own; one of them dies."""

import socket
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kodex
from kodex.cluster import check_workers, executor_at
from kodex.demonstrations import TrajectorySet, spreading, write
from kodex.demonstrations.spreading import spread, summed
from kodex.errors import InputError
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.policies import ConditionedLearner, LiftedLearner
from tests.cluster.dying_work import count_or_die, whether_aligned
from tests.cluster.own_cluster import own_cluster
from tests.policies.toy_skill import demonstration

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask's own

FOURIER = StandardisedLearner(FourierLearner(count=12, scale=0.5), clip=6.0)
LEARNER = ConditionedLearner(LiftedLearner(FOURIER))


@pytest.fixture(scope="module")
def cluster():
    with own_cluster(2) as found:
        yield found


def bits(policy):
    inner = policy.inner
    return inner.outputs.tobytes(), inner.dynamics.matrix.tobytes()


def test_two_workers_fit_the_policy_of_this_process_and_one_that_dies_changes_nothing(
    cluster, tmp_path, monkeypatch
):
    address, workers = cluster
    shown = [demonstration(seed) for seed in range(spreading.BLOCK + 30)]
    for first in (0, 200):
        write(tmp_path / f"{first:03d}.h5", TrajectorySet(shown[first : first + 200]))
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    with executor_at(address) as executor:
        found = LEARNER.fit(spread(kodex.stream("*.h5"), executor))
        assert bits(found) == bits(LEARNER.fit(shown))

        # Arrays that are not aligned are multiplied by other loops, which round differently.
        arrays = [np.zeros(count) for count in (3, 1001)]
        for words in ("x", "xyz", "abcde"):
            assert all(executor.submit(whether_aligned, words, arrays).result())

        # Ten parts: whoever dies of the eighth has sums of others, which are lost with it.
        monkeypatch.setattr(spreading, "BLOCK", 10)
        flag = tmp_path / "flag"
        few = spread(shown[:100], executor)
        counted = summed(partial(count_or_die, str(flag), 75), few)
        assert counted.count == 100  # nothing lost, nothing twice
        died = int(Path(f"{flag}.died").read_text())
        pids = {worker.pid for worker in workers}
        assert died in pids
        assert counted.adders <= pids  # no sum was added here


def test_an_address_that_nobody_listens_at_is_one_sentence(monkeypatch):
    monkeypatch.setattr("kodex.cluster.SECONDS", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        free = taken.getsockname()[1]
    with (
        pytest.raises(InputError, match=rf"nobody listens at tcp://127\.0\.0\.1:{free}: start"),
        executor_at(f"tcp://127.0.0.1:{free}"),
    ):
        pass


@pytest.mark.parametrize("address", ["nonsense://x", "tcp://no-port", "", "nowhere"])
def test_what_is_no_address_is_one_sentence(address, monkeypatch):
    monkeypatch.setattr("kodex.cluster.SECONDS", 0.5)
    with (
        pytest.raises(InputError, match=r"has an address such as|nobody listens"),
        executor_at(address),
    ):
        pass


def report(**changes):
    from kodex.cluster import _worker_report

    return _worker_report(())() | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kodex": None}, "the worker tcp://w has no kodex: install"),
        ({"kodex": "0.0.1"}, r"the worker tcp://w has kodex 0\.0\.1 and this process"),
        ({"python": "3.99"}, r"has python 3\.99 and this process"),
        ({"missing": ["mujoco"]}, "has no mujoco, which this work needs: .* extra 'adroit'"),
    ],
)
def test_workers_that_cannot_do_the_work_are_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        check_workers({"tcp://v": report(), "tcp://w": report(**changes)}, "tcp://s")


def test_no_workers_are_one_sentence_and_another_numpy_is_a_note():
    with pytest.raises(InputError, match="has no workers: start some with `dask worker tcp://s`"):
        check_workers({}, "tcp://s")
    with pytest.warns(UserWarning, match=r"NumPy 1\.0 and this process"):
        check_workers({"tcp://w": report(numpy="1.0")}, "tcp://s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_workers({"tcp://w": report()}, "tcp://s")
