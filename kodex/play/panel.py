"""The viewer's side of `kodex play`: draws the episode's numbers, and sends what was clicked.

Studio selects a body by a double-click (0.3 s, by Dear ImGui's default), and sees the mouse once
per frame of the page. Press, release and press again are three frames, too many for a page that
draws slowly. Here a body is taken hold of by the press that begins the drag.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from kodex.interfaces import Policy
from kodex.play.actor import SPEEDS
from kodex.play.exchanged import SECONDS, USUAL, Begin, Frames, Live, Push, Settings
from kodex.play.mujoco_studio import imgui, implot, messages, plugin, ux
from kodex.rollout.sensors import Sensors
from kodex.tasks import Task

MOST_EVERY, MOST_DELAY, MOST_NOISE = 20, 10, 0.5
MOST_NEWTONS, MOST_STEPS = 100.0, 50
PROGRESS = "progress"
DIRECTIONS = {
    "along x": (1.0, 0.0, 0.0),
    "against x": (-1.0, 0.0, 0.0),
    "along y": (0.0, 1.0, 0.0),
    "against y": (0.0, -1.0, 0.0),
    "up": (0.0, 0.0, 1.0),
    "down": (0.0, 0.0, -1.0),
}
BUTTONS = (imgui.MouseButton.Left, imgui.MouseButton.Right, imgui.MouseButton.Middle)
GREEN, RED, GREY = (
    imgui.Vec4(*colour) for colour in ((0.4, 0.85, 0.5, 1), (1, 0.4, 0.35, 1), (0.7, 0.7, 0.7, 1))
)


class Panel(plugin.ViewerPlugin):  # type: ignore[misc]
    """Draws the numbers, on the thread of the viewer, and sends what was clicked."""

    def __init__(self, task: Task, policies: Sequence[tuple[str, Policy]]) -> None:
        self.task, self.names = task, [name for name, _ in policies]
        self.settings = Settings()
        self.live: Live | None = None
        self.frames = 0
        self.typed: list[float] = []
        self.plotted = 1 + len(task.layout.robot)  # the object's first component
        self.body = self.direction = 0  # of what is pushed, and where to
        self.newtons, self.steps = 20.0, 10
        self.places: dict[str, tuple[float, float]] = {}  # of buttons, for who clicks by program

    @messages.handler  # type: ignore[untyped-decorator]
    def on_live(self, live: Live) -> None:
        """Keep the newest numbers."""
        if self.live is None or live.start is not self.live.start:
            self.typed = [live.start.values[name] for name in self.task.start_names]
        if self.live is None or live.model != self.live.model:
            self.frames = 0
        if self.live is not None and (live.paused, live.speed) != (
            self.live.paused,
            self.live.speed,
        ):
            self.settings = dataclasses.replace(self.settings, paused=live.paused, speed=live.speed)
        self.live = live

    @messages.handler  # type: ignore[untyped-decorator]
    def on_update(self, event: messages.UpdateEvent) -> None:
        """Take hold of what the mouse is on, before Studio looks what is dragged."""
        viewer, place = self.viewer, mouse_takes()
        if place is None or viewer.model is None:
            return
        size = imgui.GetIO().DisplaySize
        world = (viewer.model, viewer.data, viewer.camera, viewer.vis_options, viewer.perturb)
        take_hold(*world, place, size.x / size.y)

    @messages.handler  # type: ignore[untyped-decorator]
    def on_gui(self, event: messages.BuildGuiEvent) -> None:
        """Draw the panel."""
        if self.live is None:
            return
        self.frames += 1
        self.viewer.send_to_sim(Frames(self.live.model, self.frames))
        imgui.SetNextWindowSize(imgui.Vec2(370, 696), imgui.Cond.FirstUseEver)
        imgui.SetNextWindowPos(imgui.Vec2(8, 32), imgui.Cond.FirstUseEver)
        if imgui.Begin("kodex")[0]:
            self._numbers(self.live)
            self._start(self.live)
            self._time()
            self._push(self.live)
            self._sensors()
            self._plot(self.live)
        imgui.End()

    def _numbers(self, live: Live) -> None:
        imgui.TextUnformatted(self.task.title)
        chosen, policy = imgui.Combo("policy", live.policy, self.names)
        if chosen:
            self.viewer.send_to_sim(Begin(policy=policy))
        variations = [USUAL, *self.task.variations]
        changed, at = imgui.Combo("variation", variations.index(live.variation), variations)
        if changed:
            self.viewer.send_to_sim(Begin(variation=variations[at]))
        imgui.TextUnformatted(
            f"{(len(live.progress) - 1) * SECONDS:5.2f} s   progress {live.progress[-1]:8.4f}   "
            f"{live.microseconds:4.0f} us per action"  # Studio's font has no µ
        )
        imgui.TextUnformatted(f"success: {self.task.criterion}")
        verdict = live.failure or ("met" if live.succeeded else "not met")
        over = ", the time is over" if live.ended else ""
        imgui.TextColored(GREEN if live.succeeded else GREY, f"{verdict}{over}")
        imgui.SameLine()
        imgui.TextUnformatted(f"{live.successes} of {live.finished} episodes succeeded")
        if live.novelty is not None:
            alarm = live.novelty > 1.0
            said = "not as demonstrated" if alarm else "as demonstrated"
            imgui.TextColored(RED if alarm else GREEN, f"monitor: {said} ({live.novelty:.2f} of 1)")

    def _start(self, live: Live) -> None:
        imgui.SeparatorText("start")
        self._button("another start", Begin(distribution="in"))
        imgui.SameLine()
        self._button("out of distribution", Begin(distribution="out"))
        imgui.SameLine()
        self._button("again", Begin())
        for at, name in enumerate(self.task.start_names):
            _, self.typed[at] = imgui.InputFloat(name, self.typed[at], 0.01, 0.1, "%.4f")
        self._button("begin with these numbers", Begin(values=tuple(self.typed)))

    def _time(self) -> None:
        imgui.SeparatorText("time")
        settings = self.settings
        _, paused = imgui.Checkbox("pause", settings.paused)
        imgui.SameLine()
        _, repeat = imgui.Checkbox("repeat", settings.repeat)
        imgui.SameLine()
        _, endless = imgui.Checkbox("act on after the end", settings.endless)
        _, speed = imgui.SliderFloat("times real time", settings.speed, *SPEEDS, "%.2f")
        self._set(paused=paused, repeat=repeat, endless=endless, speed=speed)

    def _push(self, live: Live) -> None:
        names, directions = objects(self.viewer.model), list(DIRECTIONS)
        if not names:
            return
        imgui.SeparatorText("push")
        _, self.body = imgui.Combo("body", min(self.body, len(names) - 1), names)
        _, self.direction = imgui.Combo("direction", self.direction, directions)
        _, self.newtons = imgui.SliderFloat("newtons", self.newtons, 0.0, MOST_NEWTONS, "%.0f")
        _, self.steps = imgui.SliderInt("steps", self.steps, 1, MOST_STEPS)
        x, y, z = (self.newtons * part for part in DIRECTIONS[directions[self.direction]])
        self._button("push", Push(names[self.body], (x, y, z), self.steps))
        imgui.SameLine()
        imgui.TextUnformatted(f"pushed for {live.pushed * SECONDS:.2f} s so far")
        imgui.TextUnformatted("or hold ctrl and drag a body with the right")
        imgui.TextUnformatted("mouse button (the left one turns it)")

    def _sensors(self) -> None:
        imgui.SeparatorText("sensors")
        sensors = self.settings.sensors
        _, every = imgui.SliderInt("measure every", sensors.every, 1, MOST_EVERY)
        _, noise = imgui.SliderFloat("noise, in stds", sensors.noise, 0.0, MOST_NOISE, "%.2f")
        _, delay = imgui.SliderInt("steps of delay", sensors.delay, 0, MOST_DELAY)
        self._set(sensors=Sensors(every=max(1, every), delay=max(0, delay), noise=max(0.0, noise)))

    def _plot(self, live: Live) -> None:
        imgui.SeparatorText("what happens")
        names = [PROGRESS, *self.task.layout.names]
        _, self.plotted = imgui.Combo("shown", self.plotted, names)
        if implot.BeginPlot(f"{names[self.plotted]}###plot", imgui.Vec2(-1, 170)):
            auto = implot.AxisFlags.AutoFit
            implot.SetupAxes("", "", auto, auto)
            for label, values in self._lines(live).items():
                if np.isfinite(values).all():
                    implot.PlotLine(label, SECONDS * np.arange(len(values)), values.copy())
            implot.EndPlot()
        if live.predicted is None:
            imgui.TextUnformatted("this policy acts without a prediction")

    def _lines(self, live: Live) -> dict[str, np.ndarray]:
        """Return what is drawn: the threshold or the prediction, and what happened."""
        if self.plotted == 0:
            threshold = np.full(self.task.horizon, self.task.threshold)
            return {"success": threshold, "happened": np.array(live.progress)}
        at, lines = self.plotted - 1, {}
        if live.predicted is not None:
            lines["predicted"] = live.predicted[:, at]
        return lines | {"happened": live.states[:, at]}

    def _button(self, label: str, event: Begin | Push) -> None:
        if imgui.Button(label):
            self.viewer.send_to_sim(event)
        low, high = imgui.GetItemRectMin(), imgui.GetItemRectMax()
        self.places[label] = (0.5 * (low.x + high.x), 0.5 * (low.y + high.y))

    def _set(self, **changes: Any) -> None:
        changed = dataclasses.replace(self.settings, **changes)
        if changed != self.settings:
            self.settings = changed
            self.viewer.send_to_sim(changed)


def objects(model: mujoco.MjModel) -> list[str]:
    """Return the names of bodies that move and that no actuator drives, or of all that move."""
    joints = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    driven = model.dof_treeid[model.jnt_dofadr[model.actuator_trnid[joints, 0]]]
    moves = (model.body_weldid != 0) & (model.body_treeid >= 0)
    named = [bool(model.body(body).name) for body in range(model.nbody)]
    moves &= np.array(named)
    passive = moves & ~np.isin(model.body_treeid, driven)
    chosen = passive if passive.any() else moves
    return [model.body(int(body)).name for body in np.flatnonzero(chosen)]


def take_hold(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: mujoco.MjvCamera,
    options: mujoco.MjvOption,
    perturb: mujoco.MjvPerturb,
    place: tuple[float, float],
    aspect: float,
) -> bool:
    """Select what is seen at `place`, in shares of width and height, if it can move.

    What was selected stays selected if nothing there can move.
    """
    picked = ux.Pick(model, data, camera, *place, aspect, options)
    if picked.body <= 0 or model.body_weldid[picked.body] == 0:
        return False
    perturb.select, perturb.flexselect, perturb.skinselect = picked.body, picked.flex, picked.skin
    offset = np.array(picked.point, dtype=float) - data.xpos[picked.body]
    perturb.localpos = np.array(data.xmat[picked.body]).reshape(3, 3).T @ offset
    return True


def mouse_takes() -> tuple[float, float] | None:
    """Return where a mouse button went down with ctrl held, in shares; None if none did."""
    inputs = imgui.GetIO()
    width, height = inputs.DisplaySize.x, inputs.DisplaySize.y
    if inputs.WantCaptureMouse or not inputs.KeyCtrl or width <= 0 or height <= 0:
        return None
    if not any(imgui.IsMouseClicked(button) for button in BUTTONS):
        return None
    return inputs.MousePos.x / width, inputs.MousePos.y / height
