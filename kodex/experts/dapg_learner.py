"""The settings of DAPG. They need no torch, so that the command line can explain them without."""

from dataclasses import dataclass

from kodex.errors import InputError


@dataclass(frozen=True)
class DapgLearner:
    """Settings of DAPG. The defaults are its authors' but where a comment says otherwise."""

    hidden: tuple[int, ...] = (64, 64)
    iterations: int = 100
    episodes: int = 200  # an iteration
    step_size: float = 0.05  # the policy's change a step is a KL divergence of half of this
    discount: float = 0.995
    trace: float = 0.97  # the λ of generalised advantage estimation
    demonstration_weight: float = 1e-2  # of a demonstrated action, in units of the advantages' std
    demonstration_fade: float = 0.95  # an iteration
    cloning_epochs: int = 50  # authors: 5; we have one demonstrator, whom we can copy closely
    initial_deviation: float = 0.2  # of the exploration noise; authors: that of the actions
    smallest_deviation: float = 0.05  # exp(-3)
    conjugate_gradients: int = 10
    damping: float = 1e-4
    value_hidden: tuple[int, ...] = (128, 128)
    value_epochs: int = 2
    # Not in DAPG: what follows rewards what is judged, and keeps actions smooth and in [-1, 1].
    success_bonus: float = 0.0  # reward at the end of an episode that succeeded
    smoothness: float = 0.0  # weight of the squared change of the mean action a step
    bound: float = 0.0  # weight of the squared excess of the mean action over 1

    def __post_init__(self) -> None:
        if self.iterations < 0 or self.episodes < 1 or not self.hidden:
            raise InputError("training needs a hidden layer, episodes, and iterations of 0 or more")
        if not 0.0 < self.smallest_deviation <= self.initial_deviation:
            raise InputError(
                "deviations must be 0 < smallest <= initial; found "
                f"{self.smallest_deviation} and {self.initial_deviation}"
            )
