"""What a task may read of running simulations, and write of their models, by name.

Sites and bodies lag the joints by one 2 ms substep after a step, as `mj_step` leaves them; the
gymnasium environments, the paper's authors and the experts all see them so, and so do we.
"""

from collections.abc import Callable
from typing import Protocol

import mujoco
import numpy as np
from mujoco.batch import Batch

from kodex.trajectory import Array


class Scene(Protocol):
    """The model fields that a start may change; arrays to write to, with or without episodes."""

    def body_pos(self, name: str) -> Array:
        """Return the position of a body in its parent, (..., 3)."""

    def body_quat(self, name: str) -> Array:
        """Return the orientation of a body in its parent as a quaternion, (..., 4)."""

    def site_pos(self, name: str) -> Array:
        """Return the position of a site in its body, (..., 3)."""


class ModelScene:
    """The scene of one model."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model

    def body_pos(self, name: str) -> Array:
        """Return the position of a body in its parent, (3,)."""
        return np.asarray(self._model.body(name).pos)

    def body_quat(self, name: str) -> Array:
        """Return the orientation of a body in its parent as a quaternion, (4,)."""
        return np.asarray(self._model.body(name).quat)

    def site_pos(self, name: str) -> Array:
        """Return the position of a site in its body, (3,)."""
        return np.asarray(self._model.site(name).pos)


class BatchScene:
    """The scenes of the simulations `episodes` of a batch, to be written with `write`.

    The constants that `mj_setConst` derives are left alone on purpose: the gymnasium environments
    move bodies without deriving them again, and we promise to be equal to them.
    """

    def __init__(self, batch: Batch, episodes: np.ndarray) -> None:
        self._batch = batch
        self._episodes = episodes
        self._drafts: list[tuple[str, int, Array]] = []

    def body_pos(self, name: str) -> Array:
        """Return a draft of the positions of a body in its parent, (episodes, 3)."""
        return self._draft("body_pos", self._batch.model.body(name).id)

    def body_quat(self, name: str) -> Array:
        """Return a draft of the orientations of a body in its parent, (episodes, 4)."""
        return self._draft("body_quat", self._batch.model.body(name).id)

    def site_pos(self, name: str) -> Array:
        """Return a draft of the positions of a site in its body, (episodes, 3)."""
        return self._draft("site_pos", self._batch.model.site(name).id)

    def write(self) -> None:
        """Give the simulations what was drafted."""
        for field, index, draft in self._drafts:
            self._batch.expand(field)[self._episodes, index] = draft

    def _draft(self, field: str, index: int) -> Array:
        # Indexing with an array copies, so the task writes to a draft.
        draft: Array = self._batch.expand(field)[self._episodes, index]
        self._drafts.append((field, index, draft))
        return draft


class Physics:
    """Simulations as (episodes, ...) arrays; live, so copy what is kept.

    `field` returns an array of MjData by its name, with the episodes first: `batch.bind` for a
    batch, `of_one` for a single simulation.
    """

    def __init__(self, model: mujoco.MjModel, field: Callable[[str], Array]) -> None:
        self.model = model
        self.qpos: Array = field("qpos")  # (episodes, nq)
        self.qvel: Array = field("qvel")  # (episodes, nv)
        self._sites = field("site_xpos")
        self._bodies = field("xpos")
        self._quaternions = field("xquat")
        self._sensors = field("sensordata")

    @classmethod
    def of_one(cls, model: mujoco.MjModel, data: mujoco.MjData) -> "Physics":
        """Return the physics of one simulation, as a batch of one."""
        return cls(model, lambda name: getattr(data, name)[None])

    def site(self, name: str) -> Array:
        """Return where a site is in the world, (episodes, 3)."""
        return self._sites[:, self.model.site(name).id]

    def body(self, name: str) -> Array:
        """Return where a body is in the world, (episodes, 3)."""
        return self._bodies[:, self.model.body(name).id]

    def quaternion(self, body: str) -> Array:
        """Return how a body is turned in the world, (episodes, 4)."""
        return self._quaternions[:, self.model.body(body).id]

    def sensor(self, name: str) -> Array:
        """Return the reading of a scalar sensor, (episodes,)."""
        return self._sensors[:, self.model.sensor(name).adr[0]]
