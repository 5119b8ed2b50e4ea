"""`kodex play`: only this machine can connect, and gaps are named.

`make check-play` tries it in a real browser.
"""

import importlib
import socket
import sys

import pytest

pytest.importorskip("mujoco.studio", reason="MuJoCo Studio comes with mujoco 4")

from kodex.cli import main
from kodex.errors import InputError, MissingFeatureError
from kodex.experts import expert
from kodex.play import studio
from kodex.tasks import task


def test_only_the_loopback_address_is_listened_on_unless_asked():
    studio.listen_on(studio.LOOPBACK)
    from mujoco.studio.web import web_server

    with web_server.bind_public_socket("::", 0) as bound:
        assert bound.getsockname()[0] == studio.LOOPBACK


def test_a_port_in_use_is_one_sentence():
    with socket.socket() as taken:
        taken.bind((studio.LOOPBACK, 0))
        taken.listen()
        with pytest.raises(InputError, match="choose another --port"):
            studio.free_port(studio.LOOPBACK, taken.getsockname()[1])


def test_a_port_that_no_machine_has_is_one_sentence():
    with pytest.raises(InputError, match=r"port 99999 .*choose another --port"):
        studio.free_port(studio.LOOPBACK, 99999)


def test_a_window_without_a_display_is_one_sentence(monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main(["play", "expert", "--task", "door", "--window"]) == 2
    assert "no display" in capsys.readouterr().err


def test_an_expert_without_a_task_is_one_sentence(capsys):
    assert main(["play", "expert"]) == 2
    assert "--task" in capsys.readouterr().err


def test_a_policy_of_another_task_is_refused():
    with pytest.raises(InputError):
        studio.play(task("tool"), [("expert", expert("door"))])


def test_an_older_mujoco_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco.studio", None)
    monkeypatch.delitem(sys.modules, "kodex.play.mujoco_studio")
    with pytest.raises(MissingFeatureError, match="comes with mujoco 4"):
        importlib.import_module("kodex.play.mujoco_studio")


def test_without_a_browser_the_address_and_the_way_there_are_said(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    sentence = studio.opened("http://localhost:8123/", True)
    assert "no browser here" in sentence and "ssh -L 8123:localhost:8123" in sentence
    assert (
        studio.opened("http://localhost:8123/", False) == "open http://localhost:8123/ in a browser"
    )
