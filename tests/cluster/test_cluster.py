"""A real scheduler and two workers in processes of their own; one of them dies."""

import json
import socket
import time
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import kodex
from kodex.cluster import _check_same, _expect_one_thread, check_workers, executor_at
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


@contextmanager
def listening(answer, *, after=0.0):
    """Yield the address of somebody who says `answer` to whoever comes, from some time on."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))

        def serve():
            time.sleep(after)
            server.listen()
            with suppress(OSError), server.accept()[0] as visitor:
                visitor.sendall(answer)
                visitor.recv(1)  # until it has gone

        Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH"])
def test_a_server_of_another_kind_is_one_sentence_and_no_endless_wait(answer, monkeypatch):
    monkeypatch.setattr("kodex.cluster.SECONDS", 0.5)
    with (
        listening(answer) as address,
        pytest.raises(InputError, match=r"whoever listens at .* is not a Dask scheduler: start"),
        executor_at(address),
    ):
        pass


def test_a_scheduler_that_is_being_started_is_waited_for(monkeypatch):
    monkeypatch.setattr("kodex.cluster.SECONDS", 5.0)
    with (
        listening(b"SSH-2.0-OpenSSH", after=0.5) as address,
        pytest.raises(InputError, match="is not a Dask scheduler"),  # so it was heard
        executor_at(address),
    ):
        pass


def test_the_address_of_a_worker_is_one_sentence(cluster):
    address, _ = cluster
    with distributed.Client(address, set_as_default=False) as client:
        worker = next(iter(client.scheduler_info()["workers"]))
    with (
        pytest.raises(InputError, match=f"{worker} is not a Dask scheduler"),
        executor_at(worker),
    ):
        pass


def test_the_address_may_stand_in_the_schedulers_file(cluster, tmp_path, monkeypatch):
    address, _ = cluster
    place = tmp_path / "dask.json"
    place.write_text(json.dumps({"type": "Scheduler", "address": address}))
    with executor_at(str(place)) as executor:
        assert executor.submit(pow, 2, 5).result() == 32
    monkeypatch.setattr("kodex.cluster.SECONDS", 0.2)
    for content, sentence in (
        ("{", "is damaged"),
        ("[]", "has no address of a scheduler: name the file that"),
        ('{"address": 7}', "has no address of a scheduler"),
        ('{"address": "tcp://127.0.0.1:1"}', "nobody listens at .*:1, the address in .*dask.json"),
    ):
        place.write_text(content)
        with pytest.raises(InputError, match=sentence), executor_at(str(place)):
            pass


@pytest.mark.parametrize("package", ["python", "distributed"])
def test_another_python_or_dask_is_refused_before_anything_is_sent_there(
    cluster, package, monkeypatch
):
    found = distributed.versions.get_versions()
    other = {**found, "packages": {**found["packages"], package: "3.99.1"}}
    monkeypatch.setattr("distributed.versions.get_versions", lambda: other)
    monkeypatch.setattr("distributed.Client", None)  # nothing is pickled for it
    with (
        pytest.raises(InputError, match=rf"the scheduler has {package} .* this process 3\.99"),
        executor_at(cluster[0]),
    ):
        pass


def report(**changes):
    from kodex.cluster import _report_of_process

    return _report_of_process(())() | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kodex": None}, "the worker tcp://w has no kodex: install"),
        ({"kodex": "0.0.1"}, r"the worker tcp://w has kodex 0\.0\.1 and this process"),
        ({"missing": ["mujoco"]}, "has no mujoco, which this work needs: .* extra 'adroit'"),
    ],
)
def test_workers_that_cannot_do_the_work_are_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        check_workers({"tcp://v": report(), "tcp://w": report(**changes)}, "tcp://s")


def test_a_scheduler_needs_the_same_kodex():
    with pytest.raises(InputError, match="the scheduler has no kodex: install"):
        _check_same("the scheduler", report(kodex=None))
    _check_same("the scheduler", report())


def test_another_simulator_is_refused_and_so_are_threads_where_times_are_taken():
    with pytest.raises(InputError, match=r"the worker tcp://w has mujoco 3\.0 and this process"):
        check_workers({"tcp://w": versions(mujoco="3.0")}, "tcp://s")
    with pytest.raises(InputError, match=r"tcp://w has 8 threads, .* --nthreads 1"):
        _expect_one_thread({"tcp://v": 1, "tcp://w": 8})
    _expect_one_thread({"tcp://v": 1, "tcp://w": 1})


def versions(**changes):
    found = report()
    return found | {"versions": found["versions"] | changes}


def test_no_workers_are_one_sentence_and_another_numpy_is_a_note():
    with pytest.raises(InputError, match="has no workers: start some with `dask worker tcp://s`"):
        check_workers({}, "tcp://s")
    with pytest.warns(UserWarning, match=r"numpy 1\.0 and this process"):
        check_workers({"tcp://w": versions(numpy="1.0")}, "tcp://s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_workers({"tcp://w": report()}, "tcp://s")
