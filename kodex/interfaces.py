"""The few small interfaces that everything else fits into.

Every numeric method broadcasts over leading axes or takes a batch of episodes first; one episode
is a batch of one. Nothing here is half-fitted: a learner holds settings, `fit` returns a frozen
model. The memory of an episode is a value that is handed back and forth, so a model can drive any
number of episodes at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout, Trajectory, layout_difference

__all__ = [
    "Array",
    "Controller",
    "ControllerLearner",
    "DynamicsLearner",
    "LearnedPolicy",
    "Learner",
    "Lifting",
    "LiftingLearner",
    "Policy",
    "PolicyLearner",
    "PolicySpec",
    "ReferenceDynamics",
    "ResamplableLearner",
    "Step",
    "Storable",
]


Model = TypeVar("Model", covariant=True)  # what a learner gives


@runtime_checkable
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
class ResamplableLearner(Protocol):
    """A learner of liftings whose random features can be resampled for what they are used for."""

    def resample(
        self, lifting: Lifting, outputs: Array, states: Array, sharpness: Sequence[float] = (1.0,)
    ) -> Iterator[Lifting]:
        """Yield other features than those of `lifting`, for what its `outputs` depend on.

        The outputs are D z with D (m, p); `states`, (samples, n), are where it is used. Features
        of sharpness 2 change within half the distance.
        """

    def join(self, draws: Sequence[Lifting]) -> Lifting:
        """Return the features of all `draws` as one lifting; state and constant are there once."""


@runtime_checkable
class ReferenceDynamics(Storable, Protocol):
    """Predicts where robot and object should go next. All methods of the paper but BC are one."""

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


@runtime_checkable
class Controller(Storable, Protocol):
    """Maps where the joints are, and where they should be next, to an action."""

    @property
    def action_size(self) -> int:
        """The number of components of an action."""

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., action_size)."""


@dataclass(frozen=True)
class PolicySpec:
    """What has to be known of a policy to use it."""

    layout: StateLayout | None  # of the states; None: it does not look at states
    action_size: int
    task: str | None = None  # what it was learned for; None: not recorded
    observes: Literal["state", "observation"] = "state"  # the task's own observation: experts
    context: tuple[str, ...] = ()  # what must be given when an episode begins, such as the goal
    reference: bool = False  # whether `step` returns a reference, and `predict` works
    substeps: int = 1  # how often it is asked within one step of the task
    accepts_missing: bool = False  # NaN in an observation means: not measured now
    control: Control = field(default_factory=Control)  # time step, range of actions, units

    def __post_init__(self) -> None:
        limits = self.control.action_range
        if limits is not None:
            limits.check(self.action_size)

    def as_config(self) -> dict[str, Any]:
        """Return what a policy's file says about it: task, control, and the names of the state."""
        layout = self.layout or StateLayout(robot=(), object=())
        return {
            "task": self.task,
            "control": self.control.as_config(),
            **layout.as_config(),  # for whoever reads the file with their eyes
        }

    def check_observed(self, observed: Array) -> None:
        """Refuse what is not one state per episode, (episodes, n)."""
        size = 0 if self.layout is None else self.layout.size
        shape = np.shape(observed)
        if len(shape) != 2 or shape[1] != size:
            raise InputError(f"observed states must be (episodes, {size}); found {shape}")

    def check_task(
        self, name: str, layout: StateLayout, action_size: int, *, called: str = "this policy"
    ) -> None:
        """Refuse a task that the policy, `called` so, was not learned for."""
        if self.task is not None and self.task != name:
            raise InputError(f"{called} was learned for {self.task}; the task is {name}")
        if self.layout is not None and layout != self.layout:
            raise InputError(
                f"{called} was learned for other states than those of {name}, which "
                f"{layout_difference(layout, self.layout)}"
            )
        if action_size != self.action_size:
            raise InputError(
                f"{called} gives actions of {self.action_size} components; "
                f"{name} takes {action_size}"
            )


class Step(NamedTuple):
    """What a policy returns when it is asked for actions."""

    actions: Array  # (episodes, action_size)
    memory: Any  # to be handed to the next call
    reference: Array | None = None  # (episodes, n) the state expected after this action
    novelty: Array | None = None  # (episodes,) of a monitor; above 1: not as demonstrated
    intended: Array | None = None  # (episodes, m) the actions before a disturbance was added

    @property
    def alarm(self) -> NDArray[np.bool_] | None:
        """Whether what was observed is outside what was demonstrated; None: nobody watches."""
        return None if self.novelty is None else self.novelty > 1.0


@runtime_checkable
class Policy(Protocol):
    """Acts on a batch of episodes; whoever runs it keeps their memory.

    `step` is called once per step of the task, or `spec.substeps` times: the memory knows which
    of them it is. One robot is a batch of one: `kodex.Session` drives it.
    """

    @property
    def spec(self) -> PolicySpec:
        """What it observes, which context it needs, what it returns."""

    def begin(self, first: Array, context: Array | None = None) -> Any:
        """Return the memory of episodes whose first observation is `first`, (episodes, n).

        `context` is (episodes, names) in the order of `spec.context`.
        """

    def step(self, memory: Any, observed: Array) -> Step:
        """Return actions for what is `observed` now, (episodes, n)."""

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return the open-loop reference, (..., n) -> (..., horizon, n); row 0 is `first`.

        A policy without `spec.reference` refuses.
        """


class LearnedPolicy(Policy, Storable, Protocol):
    """A policy that was learned, so that it can be kept."""

    def save(
        self,
        folder: str | Path,
        *,
        provenance: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Path:
        """Write it to `folder` as `config.json` and `model.safetensors`."""


class Learner(Protocol[Model]):
    """Settings of a method; `fit` turns demonstrations into what is learned.

    A learner may have an attribute `requires`: the names of packages beyond the core that its
    training imports; and one `validates`: False if it selects nothing by `validation`, so that no
    demonstration need be kept back for it.
    """

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> Model:
        """Return what was learned from `training`, selected by `validation`.

        With `checkpoint`, a folder, a training that was interrupted resumes.
        """


DynamicsLearner = Learner[ReferenceDynamics]
ControllerLearner = Learner[Controller]
PolicyLearner = Learner[LearnedPolicy]
