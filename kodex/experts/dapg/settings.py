"""The settings of DAPG. They need no torch, so that the command line can explain them without."""

from collections.abc import Mapping
from dataclasses import dataclass

from kodex.errors import InputError


@dataclass(frozen=True)
class DapgSettings:
    """Settings of DAPG. The defaults are its authors' but where a comment says otherwise."""

    hidden: tuple[int, ...] = (64, 64)
    iterations: int = 100
    episodes: int = 200  # per iteration
    step_size: float = 0.05  # a step changes the policy by a KL divergence of half of this
    discount: float = 0.995
    trace: float = 0.97  # the λ of generalised advantage estimation
    demonstration_weight: float = 1e-2  # of a demonstrated action, in units of the advantages' std
    demonstration_fade: float = 0.95  # per iteration
    cloning_epochs: int = 50  # authors: 5; we have one demonstrator, who can be cloned closely
    initial_std: float = 0.2  # of the exploration noise; authors: that of the actions
    smallest_std: float = 0.05  # exp(-3)
    conjugate_gradients: int = 10
    damping: float = 1e-4
    value_hidden: tuple[int, ...] = (128, 128)
    value_epochs: int = 2
    # Not in DAPG: what follows rewards success, and keeps actions smooth and in [-1, 1].
    success_bonus: float = 0.0  # reward at the end of an episode that succeeded
    smoothness: float = 0.0  # weight of the squared change of the mean action per step
    bound: float = 0.0  # weight of the squared excess of the mean action over 1

    def __post_init__(self) -> None:
        if self.iterations < 0 or self.episodes < 1 or not self.hidden:
            raise InputError("training needs a hidden layer, episodes, and iterations of 0 or more")
        if not 0.0 < self.smallest_std <= self.initial_std:
            raise InputError(
                "standard deviations must be 0 < smallest <= initial; found "
                f"{self.smallest_std} and {self.initial_std}"
            )


# What each shipped expert was trained with; docs/experts.md tells how the settings came about.
SHIPPED: Mapping[str, DapgSettings] = {
    # A clone of good demonstrations succeeds already; training makes it smooth and robust.
    "tool": DapgSettings(
        hidden=(32, 32),
        iterations=5,
        episodes=100,
        step_size=0.05,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "door": DapgSettings(
        hidden=(32, 32),
        iterations=112,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
    "relocation": DapgSettings(
        hidden=(32, 32),
        iterations=25,
        episodes=100,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "reorientation": DapgSettings(
        hidden=(64, 64),
        iterations=30,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
}
