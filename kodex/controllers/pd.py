"""A tracking controller for demonstrations without actions: it knows the servos instead.

A position servo pulls a joint to its set-point with a stiffness, against the joint's damping. To
stand still at q, the set-point is q. To be at q_next one period from now, the set-point must lie
ahead of it, the further the harder the joint is damped:

    set-point = q_next + lead · (q_next - q)

The second term is the proportional part, on the error that is still to be removed; the derivative
part is the joint's own damping, which the lead makes up for. The lead follows from the model, and
can be improved by trying it in a simulation; nothing is tuned by hand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kodex.controllers.transitions import check_joints
from kodex.demonstrations import check_training
from kodex.errors import InputError
from kodex.interfaces import Controller
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Servos:
    """One position servo a joint: force = gain · control + bias · q - damping · dq/dt.

    The control is middle + half_range · action, as the action goes from -1 to 1.
    """

    middle: Array  # (n,)
    half_range: Array  # (n,)
    gain: Array  # (n,) force by control
    bias: Array  # (n,) force by position; negative, or the servo would run away
    damping: Array  # (n,) force by velocity, as a positive number

    def __post_init__(self) -> None:
        shapes = {np.shape(part) for part in vars(self).values()}
        if len(shapes) != 1 or len(shapes.pop()) != 1:
            raise InputError("servos need one number per joint for each of their five properties")
        if not (np.all(self.bias < 0.0) and np.all(self.gain != 0.0) and np.all(self.damping > 0)):
            raise InputError(
                "position servos have a negative bias, a gain and a damping; "
                f"found bias {self.bias}, gain {self.gain}, damping {self.damping}"
            )

    def lead(self, period: float) -> Array:
        """Return the lead with which a joint without inertia arrives in one `period` of seconds.

        Such a joint closes the share 1 - exp(-stiffness · period / damping) of its distance.
        """
        lead: Array = 1.0 / np.expm1(-self.bias * period / self.damping)
        return lead


@dataclass(frozen=True, eq=False)
class PdController:
    """Set-points that lead the desired joints, as actions."""

    slope: Array  # (n,) action = slope · set-point + offset holds a joint at the set-point
    offset: Array  # (n,)
    lead: Array  # (n,)

    @classmethod
    def of(cls, servos: Servos, period: float) -> "PdController":
        """Return the controller that follows from the model of the servos."""
        return cls(
            slope=-servos.bias / (servos.gain * servos.half_range),
            offset=-servos.middle / servos.half_range,
            lead=servos.lead(period),
        )

    @property
    def action_size(self) -> int:
        """The number of components of an action: one per joint."""
        return int(self.slope.shape[0])

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., n_robot)."""
        check_joints(current, desired, self.action_size)
        actions: Array = self.lead * (desired - current)
        actions += desired
        actions *= self.slope
        actions += self.offset
        return actions

    def stored(self) -> Stored:
        """Return what it is made of."""
        arrays = {"slope": self.slope, "offset": self.offset, "lead": self.lead}
        return Stored(type="pd", arrays=arrays)

    @classmethod
    def restore(cls, stored: Stored) -> "PdController":
        """Return what `stored` was made from."""
        return cls(**stored.arrays)


# Tracks the demonstrations' joints in simulation, and returns each joint's error, (n_robot,).
Tracking = Callable[[Controller, Sequence[Trajectory]], Array]


@dataclass(frozen=True, eq=False)
class PdControllerLearner:
    """The lead of the model, and if `simulate` is given, better ones found by trying.

    Joints hardly disturb each other, so every joint tries its own lead in the same simulation: a
    round simulates one factor up and one down for all joints together, and each keeps what served
    it best. When a round helps nobody, the factor shrinks.
    """

    servos: Servos
    period: float = 0.01  # seconds between two actions
    simulate: Tracking | None = None
    rounds: int = 8
    factor: float = 1.5

    def __post_init__(self) -> None:
        if self.period <= 0.0 or self.factor <= 1.0 or self.rounds < 1:
            raise InputError("period must be above 0, factor above 1 and rounds 1 or more")

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> PdController:
        """Return the controller; actions in the demonstrations, if any, are not looked at.

        With `validation`, leads are tried on those demonstrations instead.
        """
        joints = len(check_training(training, validation, actions=False).layout.robot)
        controller = PdController.of(self.servos, self.period)
        if joints != controller.action_size:
            raise InputError(
                f"the demonstrations have {joints} joints; the servos are of "
                f"{controller.action_size}"
            )
        if self.simulate is None:
            return controller
        tried = training if validation is None else validation
        return _search(controller, lambda one: self._error(one, tried), self.rounds, self.factor)

    def _error(self, controller: PdController, demonstrations: Sequence[Trajectory]) -> Array:
        assert self.simulate is not None
        error = np.asarray(self.simulate(controller, demonstrations))
        if error.shape != controller.lead.shape:
            raise InputError(
                f"a simulation must return one error per joint, {controller.lead.shape}; "
                f"found {error.shape}"
            )
        return np.where(np.isfinite(error), error, np.inf)


def _search(
    controller: PdController, error_of: Callable[[PdController], Array], rounds: int, factor: float
) -> PdController:
    """Return `controller` with the leads of least error, as far as multiplying finds them."""
    best, least = controller.lead, error_of(controller)
    for _ in range(rounds):
        candidates = [best, best * factor, best / factor]
        errors = [
            least,
            error_of(replace(controller, lead=candidates[1])),
            error_of(replace(controller, lead=candidates[2])),
        ]
        choice = np.argmin(errors, axis=0)
        together = np.choose(choice, candidates)
        error = error_of(replace(controller, lead=together))
        # Joints chose one by one: keep the choice only if it also serves them together.
        if choice.any() and error.sum() < least.sum():
            best, least = together, error
        else:
            factor = np.sqrt(factor)
    return replace(controller, lead=best)
