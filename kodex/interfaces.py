"""The few small interfaces that everything else fits into.

Every numeric method broadcasts over leading axes or takes a batch of episodes first; one episode
is a batch of one. Nothing here is half-fitted: a learner holds settings, `fit` returns a frozen
model. The memory of an episode is a value that is handed back and forth, so a model can drive any
number of episodes at once.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self, runtime_checkable

from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

__all__ = [
    "Array",
    "Controller",
    "ControllerLearner",
    "DrawnAgain",
    "DynamicsLearner",
    "Lifting",
    "LiftingLearner",
    "Policy",
    "ReferenceDynamics",
    "Storable",
    "ToldPolicy",
]


class Storable(Protocol):
    """Something that can be written to a folder and read back bit for bit."""

    def stored(self) -> Stored:
        """Return what it is made of."""

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""


@runtime_checkable
class Lifting(Storable, Protocol):
    """Observables z = φ(x) of a state, each with a name; the state can be read back from z.

    `recover` is affine, x = C z + c with C = `recovery`, c = `offset`, so that C K^t can be
    multiplied out once for all episodes.
    """

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it lifts."""

    @property
    def window(self) -> int:
        """How many consecutive states one lifted vector looks at; 1 but for delay embeddings."""

    @property
    def names(self) -> tuple[str, ...]:
        """A readable name for each of the p observables."""

    @property
    def recovery(self) -> Array:
        """C, (n, p)."""

    @property
    def offset(self) -> Array:
        """c, (n,)."""

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., window · n) -> (..., p); the newest state comes last."""


class LiftingLearner(Protocol):
    """Settings of a lifting; what depends on the data is found by `fit`."""

    def fit(self, layout: StateLayout, states: Array) -> Lifting:
        """Return the lifting for `layout`, fitted to the sample `states`, (samples, n)."""


@runtime_checkable
class DrawnAgain(Protocol):
    """A learner of liftings whose random features can be drawn along what they are used for."""

    def drawn_again(self, lifting: Lifting, outputs: Array, states: Array) -> Lifting:
        """Return other features than those of `lifting`, for what its `outputs` depend on.

        The outputs are D z with D (m, p); `states`, (samples, n), are where it is used.
        """


@runtime_checkable
class ReferenceDynamics(Storable, Protocol):
    """Says where robot and object should go next. All methods of the paper but BC are one."""

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it predicts."""

    def predict(self, first: Array, horizon: int) -> Array:
        """Return open-loop references, (..., n) -> (..., horizon, n); row 0 is `first`."""

    def begin(self, first: Array) -> Any:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""

    def step(self, memory: Any, measured: Array) -> tuple[Array, Any]:
        """Return the next reference, (episodes, n), and the memory after it.

        `measured` is the state now, (episodes, n); open-loop dynamics do not look at it.
        """


class DynamicsLearner(Protocol):
    """Settings of a method; `fit` turns demonstrations into reference dynamics."""

    def fit(self, demonstrations: Sequence[Trajectory]) -> ReferenceDynamics:
        """Return the dynamics learned from `demonstrations`."""


@runtime_checkable
class Controller(Storable, Protocol):
    """Maps where the joints are, and where they should be next, to an action."""

    @property
    def action_size(self) -> int:
        """The number of components of an action."""

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., action_size)."""


class ControllerLearner(Protocol):
    """Settings of a controller; `fit` turns demonstrations into one."""

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> Controller:
        """Return the controller learned from `demonstrations`; `validation` helps to choose."""


@runtime_checkable
class Policy(Protocol):
    """Acts on a batch of episodes, one action each a step."""

    @property
    def sees(self) -> Literal["state", "observation"]:
        """What it is shown: the paper's state, or the task's observation as the experts are."""

    def begin(self, first: Array) -> Any:
        """Return the memory of episodes whose first sight is `first`, (episodes, features)."""

    def step(self, memory: Any, seen: Array) -> tuple[Array, Any]:
        """Return actions, (episodes, action_size), and the memory after them."""


@runtime_checkable
class ToldPolicy(Protocol):
    """A policy that may have to be told numbers of the start, because its first sight hides them.

    Whoever runs it looks up the names in `told`, which may be none, in the start.
    """

    @property
    def told(self) -> tuple[str, ...]:
        """The names of the start's numbers that it has to be told."""

    def begin(self, first: Array, told: Array | None = None) -> Any:
        """Return the memory of episodes; `told` is (episodes, names)."""

    def step(self, memory: Any, seen: Array) -> tuple[Array, Any]:
        """Return actions, (episodes, action_size), and the memory after them."""
