"""`kodex play` in a real browser, in a process of its own: Studio leaves sockets open at its end.

python -m tests.play.check_browser [PICTURE]
"""

import sys
import threading
import time

import numpy as np

from kodex.experts import collect, expert
from kodex.play import Episode, studio
from kodex.play.exchanged import Begin, Push
from kodex.play.mujoco_studio import ux
from kodex.play.panel import DIRECTIONS
from kodex.policies import fit
from kodex.rollout import roll_out
from kodex.tasks import task
from kodex.trajectory import Starts
from tests.browser import new_page

PANEL_WIDTH, STATUS_BAR = 390, 32  # pixels that the panel and the foot of the page take


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


def mouse(tab, kind, place, **more):
    """Do something with the mouse, and wait: Studio looks at it once per frame that it draws."""
    tab.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=place[0], y=place[1], **more)
    tab.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    time.sleep(0.2)  # until the simulation's side has heard of it


def click(tab, place):
    mouse(tab, "Moved", place)
    mouse(tab, "Pressed", place, button="left", clickCount=1)
    mouse(tab, "Released", place, button="left", clickCount=1)


def agrees(live, world, policies):
    """Compare the numbers of the panel with a rollout from the same start."""
    policy = policies[live.policy][1]
    recorded = roll_out(world, policy, Starts.of([live.start]), batch_size=1)[0]
    np.testing.assert_allclose(live.progress[: world.horizon], recorded.progress, atol=1e-9)
    assert live.succeeded == recorded.succeeded
    verdict = "success" if live.succeeded else "failure"
    print(
        f"{policies[live.policy][0]}: {verdict} at progress {live.progress[-1]:.4f}, as rolled out"
    )


def play_to_the_end(playing):
    """Return the last numbers of the episode; the next one begins soon after."""
    finished, last = playing.actor.finished, []

    def ended():
        live = playing.panel.live
        if live.finished > finished and live.ended:
            last.append(live)
        return last

    playing.wait_for(ended)
    return last[0]


def begin_paused(playing):
    """Stand still at the first state of the same start."""
    playing.panel._set(paused=True)
    playing.wait_for(lambda: playing.panel.live.paused)
    playing.panel.viewer.send_to_sim(Begin())
    playing.wait_for(lambda: len(playing.panel.live.progress) == 1)


def disturbed(playing, world, policies, push=None):
    """Return the progress of a rollout from the same start, and of one that `push` disturbs."""
    live = playing.panel.live
    episodes = [Episode(world, policies[live.policy][1], live.start) for _ in range(2)]
    if push is not None:
        episodes[1].push(episodes[1].model.body(push.body).id, push.newtons, push.steps)
    while not episodes[0].ended:
        for episode in episodes:
            episode.step()
    return [np.array(episode.progress) for episode in episodes]


def pushes_by_the_button(playing, tab, world, policies):
    """Push the door by the panel's button: what happens is what this force does."""
    begin_paused(playing)
    panel = playing.panel
    asked = []
    send = panel.viewer.send_to_sim

    def note(message):
        asked.extend([message] if isinstance(message, Push) else [])
        send(message)

    panel.viewer.send_to_sim = note
    panel.newtons, panel.direction = 60.0, list(DIRECTIONS).index("against y")
    for _ in range(10):
        click(tab, panel.places["push"])
        if asked:
            break
    panel.viewer.send_to_sim = send
    assert len(asked) == 1, asked
    panel._set(paused=False)
    live = play_to_the_end(playing)
    usual, expected = disturbed(playing, world, policies, asked[0])
    np.testing.assert_allclose(live.progress[: world.horizon], expected, atol=1e-9)
    assert live.pushed == asked[0].steps
    most = np.abs(expected - usual).max()
    assert most > 0.01, most
    verdict = "success" if live.succeeded else "failure"
    print(f"pushed by the button: progress differs by up to {most:.3f}, as computed, {verdict}")


def seen_at(playing, width, height, name, right_of):
    """Return a pixel of the page where the body `name` is seen, beside the panel."""
    viewer = playing.panel.viewer
    body = viewer.model.body(name).id
    for y in range(20, height - 20, 10):
        for x in range(right_of, width - 10, 10):
            place = x / width, y / height
            picked = ux.Pick(
                viewer.model, viewer.data, viewer.camera, *place, width / height, viewer.vis_options
            )
            if picked.body == body:
                return x + 5, y + 5
    raise AssertionError(f"{name} is not seen")


def pushes_by_the_mouse(playing, tab, world, policies, size):
    """Hold ctrl and drag the door with the right button: it moves, until the button is let go."""
    begin_paused(playing)
    viewer = playing.panel.viewer
    drawn = size["height"] - STATUS_BAR
    place = seen_at(playing, size["width"], drawn, "door", right_of=PANEL_WIDTH)
    key = {"key": "Control", "code": "ControlLeft", "windowsVirtualKeyCode": 17}
    held = {"button": "right", "modifiers": 2}
    tab.call("Input.dispatchKeyEvent", type="rawKeyDown", modifiers=2, **key)
    mouse(tab, "Moved", place, modifiers=2)
    mouse(tab, "Pressed", place, clickCount=1, buttons=2, **held)
    assert viewer.perturb.select == viewer.model.body("door").id, viewer.perturb.select
    for far in (10, 20, 30):
        mouse(tab, "Moved", (place[0] + far, place[1] + far), buttons=2, **held)
    assert viewer.perturb.active
    playing.panel._set(paused=False)
    live = play_to_the_end(playing)
    usual, _ = disturbed(playing, world, policies)
    assert live.pushed > 0
    most = np.abs(np.array(live.progress[: world.horizon]) - usual).max()
    assert most > 0.01, most
    verdict = "success" if live.succeeded else "failure"
    print(f"pushed by the mouse: progress differs by up to {most:.3f}, {verdict}")
    mouse(tab, "Released", place, clickCount=1, buttons=0, **held)
    tab.call("Input.dispatchKeyEvent", type="keyUp", **key)
    playing.wait_for(lambda: not viewer.perturb.active)
    play_to_the_end(playing)  # the one that was under way
    live = play_to_the_end(playing)
    assert live.pushed == 0
    agrees(live, world, policies)


def main(picture=None):
    """Check the door, another start by a click, another policy, and pushes."""
    world = task("door")
    policies = [("learned", fit(collect(world, 25))), ("expert", expert("door"))]
    # few pixels, as they are drawn in software, unless somebody wants to look
    size = {"width": 520, "height": 620} if picture is None else {"width": 1280, "height": 800}
    with new_page() as tab:
        playing = Playing(world, policies)
        try:
            tab.open(playing.address, **size)
            playing.wait_for(lambda: playing.panel.live is not None)
            live = play_to_the_end(playing)
            first = live.start
            agrees(live, world, policies)
            if picture is not None:
                time.sleep(30)  # until the page has loaded what it draws with
                tab.picture(picture)
            for _ in range(60):
                if playing.actor.start is not first:
                    break
                click(tab, playing.panel.places["another start"])
            assert playing.actor.start.values != first.values
            agrees(play_to_the_end(playing), world, policies)
            start = playing.actor.start
            playing.panel.viewer.send_to_sim(Begin(policy=1))
            playing.wait_for(lambda: playing.panel.live.policy == 1)
            live = play_to_the_end(playing)
            assert live.start is start
            agrees(live, world, policies)
            pushes_by_the_button(playing, tab, world, policies)
            pushes_by_the_mouse(playing, tab, world, policies, size)
            assert tab.complaints == [], tab.complaints
        finally:
            playing.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
