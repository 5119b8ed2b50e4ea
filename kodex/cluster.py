"""A cluster of other machines, behind `--scheduler ADDRESS`: Dask's, if it is installed.

Everything that can be spread takes a standard executor (`kodex.executors`), and Dask has one. What
is here is only how to reach it, and what to ask of its workers before they are given work.
"""

import pickle
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kodex import __version__
from kodex.errors import EXTRAS, InputError, explaining
from kodex.executors import TreeSum, as_here

SECONDS = 10.0  # to wait for a scheduler
NO_ADDRESS = "a scheduler has an address such as tcp://10.0.0.1:8786"

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
def executor_at(address: str | None, *, needs: Sequence[str] = ()) -> Iterator[Executor | None]:
    """Yield the executor of the Dask scheduler at `address`; None: no executor, all work is here.

    The address may also be the file that `dask scheduler --scheduler-file` wrote.
    Its workers must have the same kodex as this process, and the packages that the work `needs`.
    """
    if address is None:
        yield None
        return
    in_file = Path(address).is_file()
    if not in_file and ":" not in address:
        raise InputError(f"{NO_ADDRESS}; found {address!r}, which is not a file either")
    with explaining("--scheduler"):
        dask: Any = import_module("distributed")  # it has no types
    try:
        place = {"scheduler_file" if in_file else "address": address}
        client = dask.Client(**place, timeout=SECONDS, set_as_default=False)
    except (OSError, TimeoutError):
        raise InputError(
            f"nobody listens at {address}: start `dask scheduler`, and name the address that it "
            "prints, such as tcp://10.0.0.1:8786"
        ) from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{NO_ADDRESS}; found {address!r} ({error})") from None
    with client:
        check_workers(client.run(_worker_report(needs)), address)
        yield ClusterExecutor(client)


def check_workers(reports: Mapping[str, Mapping[str, Any]], address: str) -> None:
    """Refuse workers that cannot do this process's work, by what each reports of itself."""
    if not reports:
        raise InputError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        )
    ours = _worker_report(())()
    for worker, report in reports.items():
        if report["kodex"] is None:
            raise InputError(
                f"the worker {worker} has no kodex: install {ours['kodex']} where it runs, as here"
            )
        for package in ("kodex", "python"):
            if report[package] != ours[package]:
                raise InputError(
                    f"the worker {worker} has {package} {report[package]} and this process "
                    f"{ours[package]}: install the same version in both places"
                )
        if report["missing"]:
            package = report["missing"][0]
            raise InputError(
                f"the worker {worker} has no {package}, which this work needs: install kodex with "
                f"the extra {EXTRAS[package]!r} where it runs"
            )
    others = sorted({report["numpy"] for report in reports.values()} - {ours["numpy"]})
    if others:
        warnings.warn(
            f"workers have NumPy {', '.join(others)} and this process {ours['numpy']}: results "
            "agree, but not to the last bit",
            stacklevel=3,
        )


def _worker_report(needs: Sequence[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that tells what a process has; it travels whole, even without kodex."""
    wanted = tuple(needs)
    python = platform  # a module travels as its name

    def report() -> dict[str, Any]:
        from importlib import import_module
        from importlib.util import find_spec

        def version(name: str) -> str | None:
            try:
                return str(import_module(name).__version__)
            except ImportError:
                return None

        return {
            "kodex": version("kodex"),
            "numpy": version("numpy"),
            "python": ".".join(python.python_version_tuple()[:2]),
            "missing": [name for name in wanted if find_spec(name) is None],
        }

    return report
