"""The simulation's side of `kodex play`: owns the episode, and lets time pass in it.

A start lives in the model, so another start is another model.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from kodex.interfaces import Policy
from kodex.play.episode import PERFECT, Episode, observed_spread
from kodex.play.exchanged import SECONDS, USUAL, Begin, Frames, Live, Push, Settings
from kodex.play.mujoco_studio import messages, plugin, sim
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import Array, Start

STARTS = 1000  # to draw from, of each distribution
SETTLED_FRAMES = 15  # that a viewer must have drawn of a new model before the episode begins
SPEEDS = (0.02, 2.0)
REST = 1.5  # seconds between two episodes, when they repeat


class Actor(plugin.SimPlugin):  # type: ignore[misc]
    """Owns the episode, on the thread of the simulation."""

    def __init__(self, task: Task, policies: Sequence[tuple[str, Policy]], seed: int) -> None:
        self.task, self.policies, self.seed = task, list(policies), seed
        self.settings = Settings()
        self.policy = self.model = self.finished = self.successes = 0
        self.drawn = {"in": 0, "out": 0}
        self.start = self._draw("in")
        self.episode: Episode | None = None
        self.frames = 0
        self.counted = False
        self.due = self.rested_since = 0.0
        self.spreads: dict[int, Array] = {}  # by policy

    def _draw(self, which: Any) -> Start:
        index = self.drawn[which] % STARTS
        self.drawn[which] += 1
        starts = self.task.starts(which, count=index + 1, seed=self.seed)
        return next(iter(starts[index : index + 1]))

    @messages.handler  # type: ignore[untyped-decorator]
    def on_load(self, event: messages.LoadModelEvent) -> bool:
        """Show the world with its start in it."""
        model, camera = self.task.model_of(self.start), self.task.camera
        # Studio looks from where the model says; none of these moves anything.
        model.stat.center, model.stat.extent = camera.lookat, camera.distance / 1.3
        model.vis.global_.azimuth, model.vis.global_.elevation = camera.azimuth, camera.elevation
        self.model += 1
        self.frames = 0
        self.handle.set_model(model)
        self._begin()
        return True

    @messages.handler  # type: ignore[untyped-decorator]
    def on_begin(self, event: Begin) -> None:
        """Begin what was asked for."""
        if event.policy is not None:
            self.policy = event.policy
        if event.variation is not None:
            name = None if event.variation == USUAL else event.variation
            self.task = task_named(self.task.name, name)
        if event.distribution is not None:
            self.start = self._draw(event.distribution)
        if event.values is not None:
            named = dict(zip(self.task.start_names, event.values, strict=True))
            self.start = dataclasses.replace(self.start, values=named, index=-1)
        if (event.distribution, event.values, event.variation) == (None, None, None):
            self._begin()
        else:
            self.handle.reload()

    @messages.handler  # type: ignore[untyped-decorator]
    def on_settings(self, settings: Settings) -> None:
        """Take over what the panel's sliders say."""
        others = settings.sensors != self.settings.sensors
        self.settings = settings
        if others and self.episode is not None:
            self._begin()  # whatever was measured before was measured by others

    @messages.handler  # type: ignore[untyped-decorator]
    def on_push(self, push: Push) -> None:
        """Push a body in the steps that come next."""
        if self.episode is not None:
            self.episode.push(self.episode.model.body(push.body).id, push.newtons, push.steps)

    @messages.handler  # type: ignore[untyped-decorator]
    def on_frames(self, frames: Frames) -> None:
        """Note that a viewer shows the model."""
        self.frames = frames.count if frames.model == self.model else 0

    @messages.handler(priority=messages.Priority.USER)  # type: ignore[untyped-decorator]
    def on_step_control(self, event: messages.StepControlSnapshot) -> bool:
        """Obey Studio's own buttons too."""
        paused = event.pause_state != sim.PauseState.UNPAUSED
        self.settings = dataclasses.replace(
            self.settings, paused=paused, speed=float(np.clip(event.speed / 100.0, *SPEEDS))
        )
        return True

    @messages.handler  # type: ignore[untyped-decorator]
    def on_reset(self, event: messages.ResetEvent) -> bool:
        """Begin the same start again."""
        self._begin()
        return True

    @messages.handler(priority=messages.Priority.USER)  # type: ignore[untyped-decorator]
    def on_step(self, event: messages.StepEvent) -> bool:
        """Act and simulate when the time has come."""
        assert self.episode is not None
        now = time.perf_counter()
        if self.settings.paused or self.frames < SETTLED_FRAMES:
            self.due = now
        elif self.episode.ended and not self.settings.endless:
            self._rest(now)
        elif now >= self.due:
            self.episode.step()
            self.due = max(self.due + SECONDS / self.settings.speed, now - 0.1)
            if self.episode.ended and not self.counted:
                self.counted = True
                self.finished += 1
                self.successes += self.episode.succeeded
                self.rested_since = now
        self._tell()
        time.sleep(min(0.005, max(0.001, self.due - time.perf_counter())))
        return True

    def _rest(self, now: float) -> None:
        if self.settings.repeat and now - self.rested_since > REST:
            self._begin()

    def _begin(self) -> None:
        policy, sensors = self.policies[self.policy][1], self.settings.sensors
        if policy.spec.substeps != 1:
            sensors = PERFECT  # it is asked more often than sensors measure
        if not sensors.is_perfect and self.policy not in self.spreads:
            self.spreads[self.policy] = observed_spread(self.task, policy)
        spread, data = self.spreads.get(self.policy), self.handle.data
        self.episode = Episode(self.task, policy, self.start, sensors, spread, data)
        self.counted = False
        self.due = time.perf_counter()

    def _tell(self) -> None:
        episode = self.episode
        assert episode is not None
        self.handle.send_to_viewer(
            Live(
                model=self.model,
                policy=self.policy,
                variation=self.task.variation or USUAL,
                start=self.start,
                progress=tuple(episode.progress),
                ended=episode.ended,
                succeeded=episode.succeeded,
                failure=episode.failure,
                novelty=episode.novelty,
                microseconds=episode.microseconds,
                states=np.array(episode.states),
                predicted=episode.predicted,
                finished=self.finished,
                successes=self.successes,
                speed=self.settings.speed,
                paused=self.settings.paused,
                pushed=episode.pushed,
            )
        )
