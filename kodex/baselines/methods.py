"""The written-out table of baselines: each in the paper's setting and in a fair one.

`paper` is what the paper describes and its authors' code does. `fair` is the same architecture as
a good engineer would train it: standard units, one Adam, sensible batches, the best of the
validation, and a training that does what the execution will do.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kodex.baselines import sizes
from kodex.baselines.bc import CloningLearner
from kodex.baselines.dmp import Dmp
from kodex.baselines.lstm import LstmLearner
from kodex.baselines.ndp import NdpLearner
from kodex.baselines.ngf import NgfLearner, WarmUp
from kodex.baselines.ngf_time import NgfTimeLearner
from kodex.baselines.nn import NnLearner
from kodex.baselines.sizes import Size
from kodex.errors import InputError
from kodex.interfaces import Policy, ReferenceDynamics
from kodex.lookup import look_up
from kodex.networks.descent import Descent
from kodex.trajectory import Trajectory


class BaselineLearner(Protocol):
    """Settings of a baseline; `fit` gives reference dynamics, or a policy for state-action BC."""

    @property
    def seed(self) -> int:
        """The seed of all its random numbers."""

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ReferenceDynamics | Policy:
        """Return what was learned from `demonstrations`, chosen by `validation`.

        With `checkpoint`, a folder, a training that stopped goes on from where it stood.
        """


# (size of the networks, seed, whether to show a bar) -> learner
Making = Callable[[Size, int, bool], BaselineLearner]


def _nn_paper(size: Size, seed: int, show: bool) -> NnLearner:
    hidden = sizes.NN[size]
    return NnLearner(hidden=hidden, seed=seed, show_progress=show)


def _nn_fair(size: Size, seed: int, show: bool) -> NnLearner:
    return NnLearner(
        hidden=sizes.NN[size],
        descent=Descent(epochs=300, batch_size=64, annealed=True, patience=60, clip=1.0),
        unroll=20,
        standardise=True,
        seed=seed,
        show_progress=show,
    )


def _lstm_paper(size: Size, seed: int, show: bool) -> LstmLearner:
    found = sizes.LSTM[size]
    return LstmLearner(inputs=found.inputs, hidden=found.hidden, seed=seed, show_progress=show)


def _lstm_fair(size: Size, seed: int, show: bool) -> LstmLearner:
    found = sizes.LSTM[size]
    return LstmLearner(
        inputs=found.inputs,
        hidden=found.hidden,
        descent=Descent(100, 16, learning_rate=5e-3, annealed=True, patience=25, clip=1.0),
        teacher_forcing=False,
        standardise=True,
        seed=seed,
        show_progress=show,
    )


def _ndp_paper(size: Size, seed: int, show: bool) -> NdpLearner:
    found = sizes.NDP[size]
    return NdpLearner(hidden=found.hidden, dmp=Dmp(found.bumps), seed=seed, show_progress=show)


def _ndp_fair(size: Size, seed: int, show: bool) -> NdpLearner:
    found = sizes.NDP[size]
    return NdpLearner(
        hidden=found.hidden,
        dmp=Dmp(found.bumps),
        duration=1.0,
        velocity=None,
        goal_gain=1.0,
        weight_gain=100.0,
        descent=Descent(1000, 16, learning_rate=3e-3, annealed=True, patience=200, clip=1.0),
        standardise=True,
        seed=seed,
        show_progress=show,
    )


def _ngf_paper(size: Size, seed: int, show: bool) -> NgfLearner:
    hidden = sizes.NGF[size].hidden
    return NgfLearner(hidden=hidden, seed=seed, show_progress=show)


def _ngf_fair(size: Size, seed: int, show: bool) -> NgfLearner:
    return NgfLearner(
        hidden=sizes.NGF[size].hidden,
        activation="smooth",
        normalised=False,
        deviation=None,
        diagonal=True,
        last_gain=0.1,
        first_damping=0.7,
        period=1.0,
        integrator="energy",
        warm_ups=(
            WarmUp(10, Descent(10, 32, learning_rate=3e-3, annealed=True, clip=1.0)),
            WarmUp(20, Descent(20, 32, learning_rate=2e-3, annealed=True, clip=1.0)),
            WarmUp(40, Descent(10, 32, annealed=True, clip=1.0)),
        ),
        descent=Descent(epochs=48, batch_size=16, annealed=True, patience=16, clip=1.0),
        standardise=True,
        seed=seed,
        show_progress=show,
    )


def _ngf_time_paper(size: Size, seed: int, show: bool) -> NgfTimeLearner:
    found = sizes.NGF[size]
    return NgfTimeLearner(width=found.width, hidden=found.hidden, seed=seed, show_progress=show)


def _ngf_time_fair(size: Size, seed: int, show: bool) -> NgfTimeLearner:
    found = sizes.NGF[size]
    return NgfTimeLearner(
        width=found.width,
        hidden=found.hidden,
        period=0.1,
        damping_sign=-1,
        descent=Descent(epochs=60, batch_size=16, annealed=True, patience=20, clip=1.0),
        standardise=True,
        seed=seed,
        show_progress=show,
    )


def _bc_paper(size: Size, seed: int, show: bool) -> CloningLearner:
    return CloningLearner(seed=seed, show_progress=show)


def _bc_fair(size: Size, seed: int, show: bool) -> CloningLearner:
    return CloningLearner(
        descent=Descent(epochs=300, batch_size=128, annealed=True, patience=60),
        standardise=True,
        seed=seed,
        show_progress=show,
    )


# name -> setting -> what makes the learner
METHODS: Mapping[str, Mapping[str, Making]] = {
    "nn": {"paper": _nn_paper, "fair": _nn_fair},
    "lstm": {"paper": _lstm_paper, "fair": _lstm_fair},
    "ndp": {"paper": _ndp_paper, "fair": _ndp_fair},
    "ngf": {"paper": _ngf_paper, "fair": _ngf_fair},
    "ngf-time": {"paper": _ngf_time_paper, "fair": _ngf_time_fair},
    "bc": {"paper": _bc_paper, "fair": _bc_fair},
}
SENTENCES: Mapping[str, str] = {
    "nn": "a network that says the next state, fed with its own answers",
    "lstm": "the same with a memory of the states before",
    "ndp": "a network that writes the motion down as movement primitives",
    "ngf": "a geometric fabric with a potential and damping, from networks",
    "ngf-time": "NGF as the paper's authors ran it: a transformer over time, one step of a fabric",
    "bc": "state-action behaviour cloning: a policy by itself, in closed loop",
}


def method(
    name: str,
    setting: str = "fair",
    task_name: str | None = None,
    *,
    size: Size | None = None,
    seed: int = 0,
    show_progress: bool = True,
) -> BaselineLearner:
    """Return the learner of the baseline `name`, by default as the paper sized it for the task."""
    settings = look_up(name, METHODS, "baselines")
    if name == "bc" and size is not None:
        raise InputError("bc has one size, the paper's: leave the size out")
    sized = look_up(size or sizes.chosen(name, task_name), sizes.SIZES, "sizes")
    return look_up(setting, settings, "settings")(sized, seed, show_progress)
