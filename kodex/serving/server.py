"""`kodex serve`: answers each robot that connects with the actions of one policy.

Every connection has a thread and a session of its own. The time from a measurement's arrival to
its action's departure is compared with the deadline, and misses are counted, not hidden.
"""

import socket
import stat
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.policies import Session
from kodex.serving import protocol
from kodex.serving.protocol import BadMessage, Disconnected, Kind
from kodex.trajectory import Array

SECONDS_PER_STEP = 0.01  # where the demonstrations did not say


@dataclass
class Statistics:
    """How fast actions were given, over all robots."""

    actions: int = 0
    late: int = 0  # actions that took longer than the deadline
    slowest: float = 0.0  # seconds
    seconds: float = 0.0  # of all actions together
    robots: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, taken: float, deadline: float) -> None:
        """Count one action."""
        with self._lock:
            self.actions += 1
            self.late += taken > deadline
            self.slowest = max(self.slowest, taken)
            self.seconds += taken

    def sentence(self, deadline: float) -> str:
        """Return the numbers in words."""
        mean = 1e6 * self.seconds / max(1, self.actions)
        return (
            f"{self.robots} robots, {self.actions} actions, {mean:.0f} µs each in the mean and "
            f"{1e6 * self.slowest:.0f} µs at most; {self.late} missed the deadline of "
            f"{1e3 * deadline:g} ms"
        )


class Server:
    """Listens on `address`: the path of a local socket, or (host, port)."""

    def __init__(
        self, policy: Policy, address: Path | tuple[str, int], deadline: float | None = None
    ) -> None:
        self.seconds_per_step = policy.spec.control.time_step or SECONDS_PER_STEP
        deadline = self.seconds_per_step if deadline is None else deadline
        if not deadline > 0.0:
            raise InputError(f"a deadline is a number of seconds above 0; found {deadline}")
        if policy.spec.layout is None:
            raise InputError("a served policy must observe the state; this one does not")
        self.policy, self.deadline, self._state_size = policy, deadline, policy.spec.layout.size
        self.statistics = Statistics()
        self._path = address if isinstance(address, Path) else None
        self._socket = _listening(address)
        self._made = _identity(self._path)
        self._stopped = threading.Event()

    @property
    def port(self) -> int | None:
        """The port that robots connect to; None: a local socket."""
        return None if self._path else int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Answer until `stop` is called."""
        with self._socket:
            self._socket.settimeout(0.2)
            while not self._stopped.is_set():
                try:
                    connection, _ = self._socket.accept()
                except TimeoutError:
                    continue
                self.statistics.robots += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        self.close()

    def stop(self) -> None:
        """Let `run` end."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, and remove the socket; not what somebody else has put in its place."""
        self.stop()
        if self._path is not None and _identity(self._path) == self._made:
            self._path.unlink(missing_ok=True)

    def _serve(self, connection: socket.socket) -> None:
        session = Session(self.policy)
        connection.settimeout(None)
        if connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            try:
                while not self._stopped.is_set():
                    self._answer(connection, session)
            except (Disconnected, ConnectionError):
                return
            except BadMessage as error:  # where the next message begins is not known
                protocol.send_refusal(connection, str(error))

    def _answer(self, connection: socket.socket, session: Session) -> None:
        kind, body = protocol.receive(connection)
        arrived = time.perf_counter()
        try:
            if kind == Kind.HELLO:
                protocol.send(connection, Kind.SIZES, self._sizes())
            elif kind == Kind.RESET:
                self._reset(session, protocol.numbers_of(body))
                protocol.send(connection, Kind.READY)
            elif kind == Kind.STEP:
                action = session.act(protocol.numbers_of(body))
                protocol.send(connection, Kind.ACTION, action)
                self.statistics.note(time.perf_counter() - arrived, self.deadline)
            else:
                raise InputError(f"a robot sends HELLO, RESET or STEP; found {kind.name}")
        except InputError as error:
            protocol.send_refusal(connection, str(error))

    def _sizes(self) -> Array:
        spec = self.policy.spec
        sizes = [self._state_size, len(spec.context), spec.action_size, self.seconds_per_step]
        return np.array(sizes)

    def _reset(self, session: Session, numbers: Array) -> None:
        spec = self.policy.spec
        size, names = self._state_size, spec.context
        if len(numbers) != size + len(names):
            raise InputError(
                f"RESET takes {size} numbers of the state and {len(names)} of the context; "
                f"found {len(numbers)}"
            )
        context = dict(zip(names, numbers[size:].tolist(), strict=True))
        session.reset(numbers[:size], context=context or None)


def _listening(address: Path | tuple[str, int]) -> socket.socket:
    if isinstance(address, Path):
        if not hasattr(socket, "AF_UNIX"):
            raise InputError("this system has no local sockets: use --port instead")
        if address.exists() and stat.S_ISSOCK(address.stat().st_mode):
            _remove_if_dead(address)
        family, target = socket.AF_UNIX, str(address)
    else:
        family, target = socket.AF_INET, address  # type: ignore[assignment]
    listener = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(target)
    except (OSError, OverflowError) as error:  # no machine has the port 65536
        listener.close()
        named = address if isinstance(address, Path) else f"{address[0]} port {address[1]}"
        words = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {named} ({words}): choose another one") from None
    if isinstance(address, Path):
        address.chmod(0o600)  # for this user alone
    listener.listen()
    return listener


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Return what tells one entry of the disk from another that has its name."""
    if path is None or not path.exists():
        return None
    found = path.lstat()
    return found.st_dev, found.st_ino


def _remove_if_dead(path: Path) -> None:
    """Remove a socket that nobody listens on any more; refuse one that is in use."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink()
            return
    raise InputError(f"another server listens on {path}: choose another one")
