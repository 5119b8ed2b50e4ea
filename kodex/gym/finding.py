"""Finding an environment: by its ID in Gymnasium's registry, or by the function that makes it.

Fetch and Shadow-hand environments of gymnasium-robotics 1.4 are made on a MuJoCo newer than they
are: since MuJoCo 3.12, `mjJNT_HINGE == np.int32(3)` is False (and the other way round True), so
that gymnasium-robotics, which asks `joint_type in (mjJNT_HINGE, mjJNT_SLIDE)`, takes every joint
for a wrong one and its Fetch environments cannot be made. Its module, and nothing else, is given
joint types that are plain numbers.
"""

import contextlib
import io
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import gymnasium

from kodex.errors import InputError
from kodex.gym.copies import AnyEnv
from kodex.lookup import imported


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
