"""`kodex play` in MuJoCo Studio: in the browser, or in a window where there is a display.

Studio's server has no password and would listen on every interface; here it listens on the loopback
address unless another one is asked for.
"""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.play.actor import Actor
from kodex.play.mujoco_studio import (
    launch_passive,
    messages,
    studio_app,
    viewer_handle,
    viewer_protocol,
    web_server,
    web_viewer,
)
from kodex.play.panel import Panel
from kodex.tasks import Task

LOOPBACK = "127.0.0.1"


def play(
    task: Task,
    policies: Sequence[tuple[str, Policy]],
    *,
    seed: int = 7,
    window: bool = False,
    host: str = LOOPBACK,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] = print,
    ready: Callable[[Actor, Panel, Any], None] | None = None,
) -> None:
    """Show `policies` acting in `task` until the viewer is closed.

    `ready` is called with what runs, before the loop begins.
    """
    if window and not has_display():
        raise InputError("there is no display for a window here: leave out --window")
    for _, policy in policies:
        policy.spec.check_task(task.name, task.layout, task.action_size)
    actor, panel = Actor(task, policies, seed), Panel(task, policies)
    config = viewer_protocol.ViewerConfig(
        title=f"kodex: {task.title}", gfx="" if window else "web", http_port=port
    )
    if not window:
        port = config.http_port = free_port(host, port)
        listen_on(host)
        say(opened(f"http://{'localhost' if host == LOOPBACK else host}:{port}/", browser))
        if host == LOOPBACK:
            say("there is no password, so only this machine can connect; stop with Ctrl-C")
        else:
            say(f"warning: there is no password, and whoever can reach {host} can connect")
    app = studio_app.App()
    app.config.show_options = app.config.show_inspector = False  # the View menu has them
    with launch_passive.launch(config, plugins=[app, actor, panel]) as handle:
        handle.dispatch(messages.LoadModelEvent(path=""))
        if ready is not None:
            ready(actor, panel, handle)
        viewer_handle.run_sim_loop(handle)


def has_display() -> bool:
    """Return whether windows can be opened here."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def opened(address: str, wanted: bool) -> str:
    """Open `address` in a browser, if one is wanted and there is one; return what to say."""
    if not wanted:
        return f"open {address} in a browser"
    if has_display() and webbrowser.open(address):
        return f"opened {address} in a browser"
    port = address.rstrip("/").split(":")[-1]
    return (
        f"there is no browser here: open {address} in one, from another machine after "
        f"ssh -L {port}:localhost:{port} THIS_MACHINE"
    )


def free_port(host: str, port: int) -> int:
    """Return `port`, or a free one for 0; refuse one that is taken, or an address not ours."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:  # no machine has the port 65536
            words = getattr(error, "strerror", None) or error
            raise InputError(
                f"cannot listen on {host} port {port} ({words}): choose another --port, "
                "or 0 for any that is free"
            ) from None
        return int(probe.getsockname()[1])


def listen_on(host: str) -> None:
    """Let Studio's server listen on `host`; by itself it listens on every interface."""
    original = getattr(web_server.bind_public_socket, "original", web_server.bind_public_socket)

    def bind(_: str, port: int = 0) -> socket.socket:
        found: socket.socket = original(host, port)
        return found

    bind.original = original  # type: ignore[attr-defined]
    web_server.bind_public_socket = bind
    web_viewer._print_url_banner = lambda *_: None  # which would name every interface
