"""A real browser, driven over its debugging port: open a page, run JavaScript in it, look at it."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--no-first-run",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
)  # fmt: skip


def browser():
    """Return the path of a browser, or skip the test that needs one."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip("there is no Chromium here")
    pytest.importorskip("websockets", reason="websockets comes with mujoco.studio")
    return found


class Page:
    """One tab, and what its console has complained about."""

    def __init__(self, socket, process):
        self._socket, self._number, self._process = socket, 0, process
        self.complaints = []
        self.messages = []  # all that the console says, complaints among it
        self.requests = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Return the result of a command of the protocol."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=300))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message):
        parameters = message.get("params", {})
        if message["method"] == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])
        elif message["method"] == "Runtime.consoleAPICalled":
            self.messages.append(str([each.get("value") for each in parameters["args"]]))
        if message["method"] == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", str(details)))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.complaints.append(str([each.get("value") for each in parameters["args"]]))
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, address, *, width=1200, height=800, mobile=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip
        self.call("Page.navigate", url=address)

    def prefer(self, scheme):
        """Let the page believe that its reader prefers the "light" or the "dark" scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def nodes(self):
        """Return what a screen reader is told: (role, name) of every part."""
        tree = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in tree
            if not node.get("ignored")
        ]

    def run(self, expression):
        """Return what a JavaScript expression, or its promise, gives."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression, *, seconds=60):
        """Wait until a JavaScript expression is true."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < until, f"{expression} stayed false: {self.complaints}"
            time.sleep(0.1)

    def processor_seconds(self):
        """Return what all processes of the browser have computed so far; Linux alone tells."""
        parents, used = {}, {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended
                continue
            number = int(stat.parent.name)
            parents[number], used[number] = int(fields[1]), int(fields[11]) + int(fields[12])
        family = {self._process}
        while more := {n for n, parent in parents.items() if parent in family} - family:
            family |= more
        return sum(used.get(each, 0) for each in family) / os.sysconf("SC_CLK_TCK")

    def picture(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def new_page():
    """Yield a tab of a fresh browser, and close the browser afterwards."""
    from websockets.sync.client import connect

    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen(
            [browser(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = _port(Path(profile) / "DevToolsActivePort")
            import urllib.request

            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                tabs = json.load(answer)
            address = next(each for each in tabs if each["type"] == "page")["webSocketDebuggerUrl"]
            with connect(address, max_size=None, ping_interval=None) as socket:
                yield Page(socket, process.pid)
        finally:
            process.kill()
            process.wait()
            time.sleep(0.2)  # its children let go of the profile


def _port(path):
    for _ in range(300):
        if path.is_file() and path.read_text().strip():
            return path.read_text().split()[0]
        time.sleep(0.1)
    raise AssertionError("the browser did not start")


@contextmanager
def served(folder):
    """Yield the address of a static server of `folder` on the loopback address."""
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass
