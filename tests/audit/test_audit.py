"""The audit of pinned versions: what is known is told, and what nobody answered is not safe."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.audit.__main__ import INDEX, PINNED, ROOT, main

WEAK = {"id": "PYSEC-1", "fixed_in": ["1.1"], "summary": "reads\x1b[2J too much", "withdrawn": None}
ANSWERS = {
    "/pypi/safe/1.0/json": {"vulnerabilities": []},
    "/pypi/weak/1.0/json": {"vulnerabilities": [WEAK]},
    "/pypi/absolved/1.0/json": {"vulnerabilities": [WEAK | {"withdrawn": "2026-01-01"}]},
    "/pypi/odd/1.0/json": ["vulnerabilities"],
}


class Index(BaseHTTPRequestHandler):
    """A package index of a few answers."""

    def do_GET(self):
        self.send_response(200 if self.path in ANSWERS else 404)
        self.end_headers()
        self.wfile.write(json.dumps(ANSWERS.get(self.path)).encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def audit(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def audited(*names, options=(), index=f"http://127.0.0.1:{server.server_port}"):
        path = tmp_path / "constraints.txt"
        path.write_text("# pinned\n" + "".join(f"{name}==1.0\n" for name in names))
        return main(["--constraints", str(path), "--index", index, *options])

    yield audited
    server.shutdown()
    server.server_close()


def test_a_known_weakness_fails_and_is_named(audit, capsys):
    assert audit("safe", "weak") == 1
    said = capsys.readouterr().out
    assert "weak 1.0: PYSEC-1, repaired in 1.1: reads" in said
    assert "\x1b" not in said
    assert "2 of 2 pinned versions asked, 1 known weaknesses" in said


def test_what_is_withdrawn_is_no_weakness(audit):
    assert audit("absolved", options=["--all"]) == 0


@pytest.mark.parametrize("name", ["missing", "odd"])
def test_what_was_not_answered_is_never_counted_as_safe(audit, capsys, name):
    assert audit("safe", name) == 0
    said = capsys.readouterr()
    assert "1 of 2 pinned versions asked" in said.out
    assert "1 pinned versions could not be asked" in said.err
    assert audit("safe", name, options=["--all"]) == 2


def test_one_that_the_index_does_not_have_keeps_none_of_the_others_from_being_asked(audit):
    assert audit("missing", "weak") == 1


def test_without_a_network_it_is_a_note(audit, capsys):
    assert audit("safe", "weak", index="http://127.0.0.1:9") == 0
    assert "2 pinned versions could not be asked" in capsys.readouterr().err


def test_every_pin_is_asked_about():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line.strip() and not line.startswith("#")]
    assert len(PINNED.findall("\n".join(pins))) == len(pins) > 50
    assert INDEX.startswith("https://")
