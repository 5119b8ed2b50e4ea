"""Making environments: by ID or by a function, one or copies that take their steps together.

Single copies take their steps one after the other, and one that raises an error hurts only itself.
A vector environment takes the steps of all; an error there cannot be told apart and ends them all.

Fetch and Shadow-hand environments of gymnasium-robotics 1.4 are made on a MuJoCo newer than they
are: since MuJoCo 3.12, `mjJNT_HINGE == np.int32(3)` is False (and the other way round True), so
that gymnasium-robotics, which asks `joint_type in (mjJNT_HINGE, mjJNT_SLIDE)`, takes every joint
for a wrong one and its Fetch environments cannot be made. Its module, and nothing else, is given
joint types that are plain numbers.
"""

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from kodex.errors import InputError, imported
from kodex.gym.flattening import row_of
from kodex.trajectory import Array

AnyEnv = gymnasium.Env[Any, Any]
AnyVectorEnv = VectorEnv[Any, Any, Any]


class Outcome(NamedTuple):
    """What one environment answered."""

    observation: Any
    info: Mapping[str, Any]
    reward: float = 0.0
    ended: bool = False


Answer = Outcome | str  # a text says why there is no answer
Answers = list[Answer | None]  # None: this one was not asked


class Copies(Protocol):
    """As many copies as episodes run at once."""

    def reset(self, seeds: Sequence[int]) -> Answers:
        """Begin an episode in each."""

    def step(self, actions: Array, asked: NDArray[np.bool_]) -> Answers:
        """Act in those that are `asked`."""


class SingleCopies:
    """Environments of their own, made when they are first needed."""

    def __init__(
        self,
        make: Callable[[], AnyEnv],
        made: Sequence[AnyEnv],
        *,
        keep_broken: bool = False,
    ) -> None:
        self._make = make
        self._all: list[AnyEnv | None] = list(made)
        self._keep_broken = keep_broken  # because there is no other

    def sized(self, count: int) -> "SingleCopies":
        """Return these, with room for `count`."""
        self._all += [None] * (count - len(self._all))
        return self

    def reset(self, seeds: Sequence[int]) -> Answers:
        """Begin an episode in as many copies; one that failed before is made anew."""
        return [
            self._try(at, "reset", partial(self._reset, at, seed)) for at, seed in enumerate(seeds)
        ]

    def step(self, actions: Array, asked: NDArray[np.bool_]) -> Answers:
        """Act in those copies that are `asked`."""
        return [
            self._try(at, "step", partial(self._step, at, action)) if asked[at] else None
            for at, action in enumerate(actions)
        ]

    def _reset(self, at: int, seed: int) -> Outcome:
        environment = self._all[at]
        if environment is None:
            environment = self._all[at] = self._make()
        answer = environment.reset(seed=seed)
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)):
            raise TypeError("it must return an observation and an info, which is a dict")
        return Outcome(*answer)

    def _step(self, at: int, action: Array) -> Outcome:
        environment = self._all[at]
        assert environment is not None  # it was reset
        space = environment.action_space
        observation, reward, terminated, truncated, info = environment.step(
            action.reshape(space.shape or ()).astype(space.dtype)
        )
        return Outcome(observation, info, float(reward), bool(terminated or truncated))

    def _try(self, at: int, what: str, call: Callable[[], Outcome]) -> Answer:
        try:
            return call()
        except Exception as error:  # whatever somebody's environment raises
            broken = self._all[at]
            if broken is not None and not self._keep_broken:
                self._all[at] = None
                with suppress(Exception):
                    broken.close()
            return f"the environment's {what} raised {type(error).__name__}: {error}"


class VectorCopies:
    """The environments of one vector environment; those that are too many idle along."""

    def __init__(self, environment: AnyVectorEnv, count: int) -> None:
        self._environment, self._count = environment, count
        self._mode = environment.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._done = np.zeros(environment.num_envs, dtype=bool)

    def reset(self, seeds: Sequence[int]) -> Answers:
        """Begin an episode in each."""
        all_seeds: Any = [*seeds, *[seeds[-1]] * (self._environment.num_envs - len(seeds))]
        self._done[:] = False
        try:
            observations, info = self._environment.reset(seed=all_seeds)
        except Exception as error:  # whatever somebody's environment raises
            reason = f"the vector environment's reset raised {type(error).__name__}: {error}"
            return [reason] * self._count
        return [Outcome(row_of(observations, at), info_of(info, at)) for at in range(self._count)]

    def step(self, actions: Array, asked: NDArray[np.bool_]) -> Answers:
        """Act in all, and answer for those that are `asked`."""
        environment = self._environment
        space = environment.single_action_space
        padded = np.zeros((environment.num_envs, actions.shape[1]))
        padded[: self._count] = np.where(asked[:, None], actions, 0.0)
        shaped = padded.reshape(-1, *(space.shape or ())).astype(space.dtype)
        if self._mode == AutoresetMode.DISABLED and self._done.any():
            environment.reset(options={"reset_mask": self._done.copy()})
        try:
            observations, rewards, terminated, truncated, info = environment.step(shaped)
        except Exception as error:  # whatever somebody's environment raises
            reason = f"the vector environment's step raised {type(error).__name__}: {error}"
            return [reason if each else None for each in asked]
        self._done = np.asarray(terminated) | np.asarray(truncated)
        same = self._mode == AutoresetMode.SAME_STEP
        answers: Answers = []
        for at in range(self._count):
            shown, said = row_of(observations, at), info_of(info, at)
            if same and self._done[at]:  # what is shown belongs to the next episode already
                shown, said = info["final_obs"][at], info_of(info["final_info"], at)
            outcome = Outcome(shown, said, float(rewards[at]), bool(self._done[at]))
            answers.append(outcome if asked[at] else None)
        return answers


def info_of(info: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return what a vector environment's `info` says of one episode."""
    found = {}
    for name, values in info.items():
        if name.startswith("_") and name[1:] in info:
            continue
        mask = info.get(f"_{name}")
        if mask is not None and not mask[number]:
            continue
        if isinstance(values, Mapping):
            found[name] = info_of(values, number)
        elif np.ndim(values) and len(values) > number:
            found[name] = values[number]
    return found


def maker_of(source: Any, arguments: Mapping[str, Any]) -> tuple[Callable[[], AnyEnv], bool]:
    """Return what makes the environment called `source`, and whether there is only the one."""
    if isinstance(source, gymnasium.Env):
        _refuse(arguments, "an environment that is made already")
        return lambda: source, True
    if isinstance(source, str):
        function = _function(source)
        if function is None:
            return lambda: _made(source, arguments), False
        source = function
    if callable(source):
        _refuse(arguments, "a function that makes an environment")
        return lambda: _checked(source()), False
    raise InputError(
        "an environment is an ID, a Gymnasium environment or a function that makes one; "
        f"found {type(source).__name__}"
    )


def _made(name: str, arguments: Mapping[str, Any]) -> AnyEnv:
    module, _, identity = name.rpartition(":")
    # Packages greet when they are imported.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if module:
            imported(module, "an environment")
        if identity not in gymnasium.registry and find_spec("gymnasium_robotics"):
            gymnasium.register_envs(import_module("gymnasium_robotics"))
    known = gymnasium.registry.get(identity)
    if known is not None and str(known.entry_point).startswith("gymnasium_robotics"):
        let_joint_types_be_numbers()
    try:
        return gymnasium.make(identity, **arguments)
    except (gymnasium.error.Error, TypeError) as error:
        text = " ".join(str(error).split())
        hint = "" if module else "; install its package, and name MODULE:ID to import that first"
        raise InputError(f"Gymnasium cannot make {identity}: {text}{hint}") from None


def _function(name: str) -> Callable[[], Any] | None:
    """Return the function that `module:function` names; None: it is the ID of an environment."""
    module, _, attribute = name.rpartition(":")
    if not module or not attribute.isidentifier():
        return None
    function = getattr(imported(module, "an environment"), attribute, None)
    return function if callable(function) else None


def _checked(made: Any) -> AnyEnv:
    if not isinstance(made, gymnasium.Env):
        raise InputError(
            f"the function must return a Gymnasium environment; found {type(made).__name__}"
        )
    return made


def _refuse(arguments: Mapping[str, Any], what: str) -> None:
    if arguments:
        raise InputError(f"{what} takes no further arguments; found {', '.join(arguments)}")


def let_joint_types_be_numbers() -> None:
    """Mend gymnasium-robotics in this process, if it is there and needs it."""
    import mujoco
    import numpy as np

    hinge = mujoco.mjtJoint.mjJNT_HINGE
    if hinge == np.int32(int(hinge)):
        return
    from gymnasium_robotics.utils import mujoco_utils

    mujoco_utils.mujoco = _MuJoCo(mujoco)


class _MuJoCo:
    """MuJoCo, but for its joint types."""

    def __init__(self, mujoco: Any) -> None:
        self._mujoco = mujoco
        kinds = mujoco.mjtJoint.__members__
        self.mjtJoint = SimpleNamespace(**{name: int(kind) for name, kind in kinds.items()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mujoco, name)
