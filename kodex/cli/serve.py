"""`kodex serve`: a policy for a robot computer."""

from pathlib import Path
from typing import Annotated

import tyro

from kodex.cli.terminal import say


def serve(
    policy: Annotated[Path, tyro.conf.Positional],
    socket: Path | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
    deadline: float | None = None,
) -> None:
    """Serve a policy to robots over a local socket until Ctrl-C.

    Args:
        policy: the folder of a saved policy, or of a run
        socket: the path of a local socket to listen on; else kodex.sock here
        port: listen on this port instead; 0 for any that is free
        host: the address of the port; any but the loopback address lets others connect
        deadline: milliseconds for an action, else the time step; misses are counted
    """
    from kodex.errors import InputError
    from kodex.policies import load
    from kodex.serving.server import Server

    if socket is not None and port is not None:
        raise InputError("listen on a socket or on a port, not on both")
    address = (socket or Path("kodex.sock")) if port is None else (host, port)
    server = Server(load(policy), address, None if deadline is None else deadline / 1e3)
    shown = address if server.port is None else f"{host}:{server.port}"
    say(f"serving {policy} at {shown}; stop with Ctrl-C")
    if port is not None and host != "127.0.0.1":
        say(f"warning: there is no password, and whoever can reach {host} can connect")
    try:
        server.run()
    except KeyboardInterrupt:
        server.close()
    say(server.statistics.sentence(server.deadline))
