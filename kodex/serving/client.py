"""The robot's side of a served policy: needs NumPy and the standard library, nothing else."""

import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.serving import protocol
from kodex.serving.protocol import BadMessage, Disconnected, Kind
from kodex.trajectory import Array


class RemotePolicy:
    """A connection to a served policy, which drives one robot.

    `address` is the path of its local socket, or (host, port); `timeout` is in seconds.
    """

    def __init__(self, address: str | Path | tuple[str, int], timeout: float = 1.0) -> None:
        local = not isinstance(address, tuple)
        target = address if isinstance(address, tuple) else str(address)
        family = socket.AF_UNIX if local else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(target)
        except OSError as error:
            self._socket.close()
            raise InputError(
                f"no policy is served at {address} ({error.strerror or error}): "
                "start kodex serve first"
            ) from None
        if not local:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sizes = self._ask(Kind.HELLO, None)
        self.state_size, self.context_size, self.action_size = (int(each) for each in sizes[:3])
        self.seconds_per_step = float(sizes[3])

    def reset(self, state: Array, context: Sequence[float] = ()) -> None:
        """Begin an episode in `state`, (n,), with the numbers of the context in their order."""
        self._ask(Kind.RESET, np.concatenate([np.asarray(state), np.asarray(context, dtype=float)]))

    def act(self, measured: Array) -> Array:
        """Return the action, (m,), for the state that is `measured` now, (n,)."""
        return self._ask(Kind.STEP, np.asarray(measured))

    def _ask(self, kind: Kind, numbers: Array | None) -> Array:
        try:
            protocol.send(self._socket, kind, numbers)
            answer, body = protocol.receive(self._socket)
        except (Disconnected, ConnectionError):
            raise InputError("the served policy has gone away: start it again") from None
        except TimeoutError:
            raise InputError("the served policy did not answer in time: stop the robot") from None
        except BadMessage as error:
            raise InputError(f"this is no served policy: {error}") from None
        if answer == Kind.REFUSED:
            raise InputError(body.decode("utf-8", errors="replace").rstrip())
        return protocol.numbers_of(body)

    def close(self) -> None:
        """Say goodbye."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
