"""The messages between a robot and a served policy: short, of fixed form, readable in any language.

All numbers are little-endian. A message is a header of 8 bytes and float64 numbers:

    bytes 0-3   magic, "kdx1"
    byte  4     kind: one of `Kind`
    byte  5     0
    bytes 6-7   how many float64 follow, unsigned 16 bit

A robot sends `RESET` with the first state followed by the context, or `STEP` with the measured
state; it is answered by `READY` without numbers, or by `ACTION` with the action. `HELLO` is
answered by `SIZES`: the sizes of state, context and action, and the seconds of a step. Whatever
cannot be used is answered by `REFUSED`, followed by a sentence in UTF-8 that fills whole float64s
with spaces. One connection is one robot, and each has an episode of its own.
"""

import enum
import socket
import struct

import numpy as np

from kodex.trajectory import Array

MAGIC = b"kdx1"
HEADER = struct.Struct("<4sBBH")
LITTLE_ENDIAN = np.dtype("<f8")


class Kind(enum.IntEnum):
    """What a message is."""

    HELLO = 0
    SIZES = 1
    RESET = 2
    READY = 3
    STEP = 4
    ACTION = 5
    REFUSED = 6


class Disconnected(Exception):  # noqa: N818 - nothing went wrong
    """The other side has closed the connection."""


class BadMessage(Exception):  # noqa: N818 - named for what was found
    """What arrived is no message of this protocol."""


def send(connection: socket.socket, kind: Kind, numbers: Array | None = None) -> None:
    """Send one message."""
    body = b"" if numbers is None else np.asarray(numbers, dtype=LITTLE_ENDIAN).tobytes()
    connection.sendall(HEADER.pack(MAGIC, kind, 0, len(body) // 8) + body)


def send_refusal(connection: socket.socket, sentence: str) -> None:
    """Send why something cannot be used."""
    text = sentence.encode("utf-8")[: 8 * 0xFFFF]
    text += b" " * (-len(text) % 8)
    connection.sendall(HEADER.pack(MAGIC, Kind.REFUSED, 0, len(text) // 8) + text)


def receive(connection: socket.socket) -> tuple[Kind, bytes]:
    """Return the next message: its kind and the bytes after its header."""
    magic, kind, _, count = HEADER.unpack(_exactly(connection, HEADER.size))
    if magic != MAGIC:
        raise BadMessage(f"a message begins with {MAGIC!r}; found {magic!r}")
    if kind not in tuple(Kind):
        raise BadMessage(f"kinds of messages are 0 to {max(Kind)}; found {kind}")
    return Kind(kind), _exactly(connection, 8 * count)


def numbers_of(body: bytes) -> Array:
    """Return the numbers of a message."""
    return np.frombuffer(body, dtype=LITTLE_ENDIAN).astype(np.float64)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise Disconnected
        found += more
    return found
