"""A cluster of other machines, behind `--scheduler ADDRESS`: Dask's, if it is installed.

Everything that can be spread takes a standard executor (`kodex.executors`), and Dask has one. What
is here is only how to reach it, and what to ask of its workers before they are given work.
"""

import asyncio
import logging
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kodex import __version__
from kodex.errors import EXTRAS, InputError, explaining
from kodex.executors import TreeSum, as_here
from kodex.storage.json_files import read_json

SECONDS = 10.0  # to wait for a scheduler
NO_ADDRESS = "a scheduler has an address such as tcp://10.0.0.1:8786"
START = "start `dask scheduler`, and name the address that it prints, such as tcp://10.0.0.1:8786"
LONGEST_GREETING = 100_000  # bytes
VERSIONED = ("numpy", "scipy", "mujoco", "torch")  # what results depend on to the last bit

Result = TypeVar("Result")


class ClusterExecutor(Executor):
    """The executor of a Dask client, `ClusterExecutor(client)`, whose workers add their own sums.

    `client.get_executor()` would do as well, but then every sum travels to this process, and arrays
    arrive wherever a message had them: NumPy multiplies those that are not aligned by other loops,
    which round differently. So what is sent is packed here, and opened by whoever works on it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        # A task is not a pure function of its arguments to Dask, or it would hash all of them.
        self._executor: Executor = client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Let a worker call `function`."""
        return self._executor.submit(_opened_and_called, _packed(function, *arguments, **named))

    def tree_sum(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> Result | None:
        """Return the sum of `function` over `arguments`, which the workers add among themselves.

        Every term is a task of its own and so is every addition. Dask computes again what a lost
        worker had, and a task has one result whoever computes it: nothing is counted twice.
        """
        tree = TreeSum[_There]()
        for index, each in enumerate(arguments):
            tree.add(index, _There(self._client, self._submitted(function, *each)))
        total = tree.total()
        if total is None:
            return None
        packed = self._client.submit(_packed, total.future, pure=False).result()
        result: Result = pickle.loads(packed)[0]  # noqa: S301 (of our own workers, as all results)
        return result

    def _submitted(self, function: Callable[..., Any], *arguments: Any) -> Any:
        packed = _packed(as_here, __version__, function, *arguments)
        return self._client.submit(_opened_and_called, packed, pure=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Give out no more work."""
        self._executor.shutdown(wait=wait)


def _packed(*things: Any, **named: Any) -> bytes:
    """Return everything as one text of bytes, which Dask passes on as it is."""
    return pickle.dumps((*things, named))


def _opened_and_called(packed: bytes) -> Any:
    function, *arguments, named = pickle.loads(packed)  # noqa: S301 (Dask would do the same)
    return function(*arguments, **named)


class _There(NamedTuple):
    """A term that is, or will be, with some worker."""

    client: Any
    future: Any

    def __add__(self, other: Any) -> "_There":
        return _There(self.client, self.client.submit(add, self.future, other.future, pure=False))


@contextmanager
def executor_at(
    address: str | None, *, needs: Sequence[str] = (), timed: bool = False
) -> Iterator[Executor | None]:
    """Yield the executor of the Dask scheduler at `address`; None: no executor, all work is here.

    The address may also be the file that `dask scheduler --scheduler-file` wrote.
    Its workers must have the same kodex as this process, and the packages that the work `needs`;
    where the work is `timed`, one thread each, because seconds of the processor are a process's.
    """
    if address is None:
        yield None
        return
    place, called = _place(address)
    with explaining("--scheduler"):
        dask: Any = import_module("distributed")  # it has no types
    _expect_scheduler(dask, place, called)
    try:
        with warnings.catch_warnings():
            # Of packages that matter to us we say it ourselves, in one sentence.
            warnings.simplefilter("ignore", dask.versions.VersionMismatchWarning)
            client = dask.Client(place, timeout=SECONDS, set_as_default=False)
    except OSError:
        raise InputError(f"nobody listens at {called}: {START}") from None
    with client, _without_log("distributed.client"):
        with suppress(TimeoutError):  # those that are being started are waited for
            client.wait_for_workers(1, timeout=SECONDS)
        try:
            _check_same("the scheduler", client.run_on_scheduler(_report_of_process(())))
            reports = client.run(_report_of_process(needs))
        except OSError:
            raise InputError(
                f"a worker of {called} ended while it was asked what it has: look at its log, and "
                "give the same command again"
            ) from None
        check_workers(reports, place)
        if timed:
            _expect_one_thread(client.nthreads())
        yield ClusterExecutor(client)


@contextmanager
def _without_log(name: str) -> Iterator[None]:
    """Keep Dask from printing where in its code a connection ended: it is said in one sentence."""
    log = logging.getLogger(name)
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def _place(address: str) -> tuple[str, str]:
    """Return the address, which may stand in a file of that name, and what to call it."""
    if not Path(address).is_file():
        if ":" not in address:
            raise InputError(f"{NO_ADDRESS}; found {address!r}, which is not a file either")
        return address, address
    content = read_json(address)
    found = content.get("address") if isinstance(content, dict) else None
    if not isinstance(found, str):
        raise InputError(
            f"{address} has no address of a scheduler: name the file that "
            "`dask scheduler --scheduler-file` wrote"
        )
    return found, f"{found}, the address in {address}"


def _expect_scheduler(dask: Any, address: str, called: str) -> None:
    """Refuse an address at which nobody answers as a scheduler of the same Dask and Python.

    It is asked before there is a client, which would wait for an answer of others for ever. And
    nothing that was pickled is sent to another Python, which would crash of it.
    """
    ours = _versions(dask.versions.get_versions())
    try:
        found = None
        if _greets(address, until=time.monotonic() + SECONDS):
            with ThreadPoolExecutor(1) as thread:  # a notebook has a loop in this one
                found = thread.submit(asyncio.run, _asked(dask, address)).result()
    except OSError:
        raise InputError(f"nobody listens at {called}: {START}") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{NO_ADDRESS}; found {called} ({error})") from None
    if found is None:
        raise InputError(f"whoever listens at {called} is not a Dask scheduler: {START}")
    for who, answer in found.items():
        for package, version in _versions(answer).items():
            if version != ours[package]:
                raise _other_version(who, package, version, ours[package])


def _greets(address: str, *, until: float) -> bool:
    """Return whether the server at `address` speaks first, and as one of Dask does.

    A page of Dask, whose port is the next one, says nothing and waits to be asked. A scheduler that
    is being started is waited for.
    """
    scheme, _, place = address.rpartition("://")
    if scheme not in ("", "tcp"):
        return True
    host, _, port = place.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as server:
            length = server.recv(8)  # of its first message
    except ConnectionRefusedError:
        if time.monotonic() > until:
            raise
        time.sleep(0.1)
        return _greets(address, until=until)
    except TimeoutError:
        return False
    return len(length) == 8 and int.from_bytes(length, "little") < LONGEST_GREETING


async def _asked(dask: Any, address: str) -> dict[str, Any] | None:
    """Return what the scheduler and its workers say of their versions; None: it is none."""
    secured = dask.Security().get_connection_args("client")
    async with dask.rpc(address, timeout=SECONDS, connection_args=secured) as there:
        if (await there.identity())["type"] != "Scheduler":
            return None
        question = {"op": "versions", "packages": []}
        workers = await there.broadcast(msg=question, on_error="ignore")
        return {
            "the scheduler": await there.versions(packages=[]),
            **{f"the worker {worker}": answer for worker, answer in workers.items()},
        }


def _versions(answer: Mapping[str, Any]) -> dict[str, str | None]:
    packages = answer["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return {"python": python, "distributed": packages["distributed"]}


def _other_version(who: str, package: str, found: str | None, ours: str | None) -> InputError:
    return InputError(
        f"{who} has {package} {found} and this process {ours}: install the same version in both "
        "places"
    )


def check_workers(reports: Mapping[str, Mapping[str, Any]], address: str) -> None:
    """Refuse workers that cannot do this process's work, by what each reports of itself."""
    if not reports:
        raise InputError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        )
    for worker, report in reports.items():
        _check_same(f"the worker {worker}", report)
        if report["missing"]:
            package = report["missing"][0]
            raise InputError(
                f"the worker {worker} has no {package}, which this work needs: install kodex with "
                f"the extra {EXTRAS[package]!r} where it runs"
            )
    ours = _report_of_process(VERSIONED)()["versions"]
    for worker, report in reports.items():
        theirs = report["versions"]
        if "mujoco" in theirs and theirs["mujoco"] != ours.get("mujoco"):
            who = f"the worker {worker}"
            raise _other_version(who, "mujoco", theirs["mujoco"], ours.get("mujoco"))
    for package, version in ours.items():
        found = {str(each["versions"].get(package, version)) for each in reports.values()}
        if others := sorted(found - {str(version)}):
            warnings.warn(
                f"workers have {package} {', '.join(others)} and this process {version}: results "
                "agree, but not to the last bit",
                stacklevel=3,
            )


def _expect_one_thread(threads: Mapping[str, int]) -> None:
    for worker, count in threads.items():
        if count > 1:
            raise InputError(
                f"the worker {worker} has {count} threads, and times would be those of all of them "
                "together: start it with --nthreads 1, and as many workers as there are cores"
            )


def _check_same(who: str, report: Mapping[str, Any]) -> None:
    """Refuse a process without the kodex of this one; a scheduler opens what it passes on."""
    if report["kodex"] is None:
        raise InputError(f"{who} has no kodex: install {__version__} where it runs, as here")
    if report["kodex"] != __version__:
        raise _other_version(who, "kodex", report["kodex"], __version__)


def _report_of_process(needs: Sequence[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that tells what a process has; it travels whole, even without kodex."""
    wanted = tuple(needs)

    def report() -> dict[str, Any]:
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec

        def installed(name: str) -> str | None:
            try:
                return version(name)
            except PackageNotFoundError:
                return None

        try:
            kodex = str(import_module("kodex").__version__)
        except ImportError:
            kodex = None
        missing = [name for name in wanted if find_spec(name) is None]
        versioned = [name for name in ("numpy", "scipy", *wanted) if name not in missing]
        return {
            "kodex": kodex,
            "versions": {name: installed(name) for name in versioned},
            "missing": missing,
        }

    return report
