"""`kodex play` in a real browser, in a process of its own: Studio leaves sockets open at its end.

python -m tests.play.check_browser [PICTURE]
"""

import sys
import threading
import time

import numpy as np

from kodex.experts import collect, expert
from kodex.play import studio
from kodex.play.exchanged import Begin
from kodex.policies import fit
from kodex.rollout import roll_out
from kodex.tasks import task
from kodex.trajectory import Starts
from tests.browser import new_page


class Playing:
    """A viewer that runs in the background."""

    def __init__(self, world, policies):
        self.said, self.error, self._ready = [], None, threading.Event()

        def run():
            try:
                studio.play(
                    world, policies, browser=False, say=self.said.append, ready=self._is_ready
                )
            except BaseException as error:
                self.error = error
                self._ready.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        assert self.error is None, self.error

    def _is_ready(self, actor, panel, handle):
        self.actor, self.panel, self.handle = actor, panel, handle
        self._ready.set()

    @property
    def address(self):
        return next(word for word in self.said[0].split() if word.startswith("http"))

    @property
    def port(self):
        return int(self.address.rstrip("/").split(":")[-1])

    def wait_for(self, condition, seconds=90):
        until = time.monotonic() + seconds
        while not condition():
            assert self._thread.is_alive() and time.monotonic() < until, self.error
            time.sleep(0.05)

    def stop(self):
        self.handle._is_running = False
        self._thread.join(30)


def click(tab, place):
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        tab.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **pressed)
        time.sleep(0.4)  # the page draws about ten times a second without a graphics card


def agrees(playing, world, policies):
    """Compare the numbers of the panel with a rollout from the same start."""
    live = playing.panel.live
    policy = policies[live.policy][1]
    recorded = roll_out(world, policy, Starts.of([live.start]), batch_size=1)[0]
    np.testing.assert_allclose(live.progress[: world.horizon], recorded.progress, atol=1e-9)
    assert live.succeeded == recorded.succeeded
    verdict = "success" if live.succeeded else "failure"
    print(
        f"{policies[live.policy][0]}: {verdict} at progress {live.progress[-1]:.4f}, as rolled out"
    )


def play_to_the_end(playing):
    finished = playing.actor.finished
    playing.wait_for(lambda: playing.actor.finished > finished and playing.panel.live.ended)


def main(picture=None):
    """Check the door, another start by a click, and another policy."""
    world = task("door")
    policies = [("learned", fit(collect(world, 25))), ("expert", expert("door"))]
    # few pixels, as they are drawn in software, unless somebody wants to look
    size = {"width": 400, "height": 300} if picture is None else {"width": 1280, "height": 800}
    with new_page() as tab:
        playing = Playing(world, policies)
        try:
            tab.open(playing.address, **size)
            playing.wait_for(lambda: playing.actor.finished > 0 and playing.panel.live.ended)
            first = playing.panel.live.start
            agrees(playing, world, policies)
            if picture is not None:
                time.sleep(30)  # until the page has loaded what it draws with
                tab.picture(picture)
            for _ in range(60):
                if playing.actor.start is not first:
                    break
                click(tab, playing.panel.places["another start"])
            assert playing.actor.start.values != first.values
            play_to_the_end(playing)
            agrees(playing, world, policies)
            start = playing.actor.start
            playing.panel.viewer.send_to_sim(Begin(policy=1))
            playing.wait_for(lambda: playing.panel.live.policy == 1)
            play_to_the_end(playing)
            assert playing.actor.start is start
            agrees(playing, world, policies)
            assert tab.complaints == [], tab.complaints
        finally:
            playing.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
