"""The written-out table of baselines: settings, sizes and what each of them is.

`paper` is what the paper describes and its authors' code does. `fair` is the same architecture as
a good engineer would train it: standard units, one Adam, sensible batches, early stopping on the
validation, and a training that does what the execution will do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from kodex.baselines.bc import CloningLearner
from kodex.baselines.dmp import Dmp
from kodex.baselines.learning import BaselineLearner
from kodex.baselines.lstm import LstmLearner
from kodex.baselines.ndp import NdpLearner
from kodex.baselines.ngf import NgfLearner, WarmUp
from kodex.baselines.ngf_time import NgfTimeLearner
from kodex.baselines.nn import NnLearner
from kodex.errors import InputError, look_up
from kodex.networks.training import TrainingConfig

Size = Literal["small", "median", "large"]
SIZES: Mapping[str, Size] = {"small": "small", "median": "median", "large": "large"}


@dataclass(frozen=True, eq=False)
class Baseline:
    """All that is known about a baseline."""

    sentence: str
    paper: BaselineLearner
    fair: BaselineLearner
    # The fields of the learner that each size sets; none: there is one size, the paper's.
    sizes: Mapping[Size, Mapping[str, Any]] = field(default_factory=dict)
    # What won the paper's comparison on its validation set (its appendix F); else median.
    size_of_task: Mapping[str, Size] = field(default_factory=dict)


_NGF_TASKS: Mapping[str, Size] = {
    "tool": "median",
    "door": "large",
    "relocation": "large",
    "reorientation": "large",
}

BASELINES: Mapping[str, Baseline] = {
    "nn": Baseline(
        sentence="a network that predicts the next state from its own last prediction",
        paper=NnLearner(),
        fair=NnLearner(
            config=TrainingConfig(300, 64, cosine=True, patience=60, clip=1.0),
            unroll=20,
            standardise=True,
        ),
        sizes={
            "small": {"hidden": (32, 64, 32)},
            "median": {"hidden": (64, 128, 64)},
            "large": {"hidden": (128, 256, 128)},
        },
        size_of_task={"tool": "small"},
    ),
    "lstm": Baseline(
        sentence="the same with a memory of the states before (LSTM)",
        paper=LstmLearner(),
        fair=LstmLearner(
            config=TrainingConfig(100, 16, 5e-3, cosine=True, patience=25, clip=1.0),
            teacher_forcing=False,
            standardise=True,
        ),
        sizes={
            "small": {"inputs": 100, "hidden": 200},
            "median": {"inputs": 175, "hidden": 250},
            "large": {"inputs": 250, "hidden": 300},
        },
        size_of_task={"door": "small", "relocation": "large", "reorientation": "small"},
    ),
    "ndp": Baseline(
        sentence="neural dynamic policies: a network outputs the motion as movement primitives",
        paper=NdpLearner(),
        fair=NdpLearner(
            duration=1.0,
            velocity=None,
            goal_gain=1.0,
            weight_gain=100.0,
            config=TrainingConfig(1000, 16, 3e-3, cosine=True, patience=200, clip=1.0),
            standardise=True,
        ),
        sizes={
            "small": {"hidden": (32, 64, 32), "dmp": Dmp(basis_functions=10)},
            "median": {"hidden": (64, 128, 64), "dmp": Dmp(basis_functions=20)},
            "large": {"hidden": (128, 256, 128), "dmp": Dmp(basis_functions=30)},
        },
        size_of_task=dict.fromkeys(("tool", "door", "relocation", "reorientation"), "large"),
    ),
    "ngf": Baseline(
        sentence="neural geometric fabrics: geometry, potential and damping are networks",
        paper=NgfLearner(),
        fair=NgfLearner(
            activation="smooth",
            normalised=False,
            initial_std=None,
            diagonal=True,
            last_gain=0.1,
            initial_damping=0.7,
            period=1.0,
            integrator="energy",
            warm_ups=(
                WarmUp(10, TrainingConfig(10, 32, 3e-3, cosine=True, clip=1.0)),
                WarmUp(20, TrainingConfig(20, 32, 2e-3, cosine=True, clip=1.0)),
                WarmUp(40, TrainingConfig(10, 32, cosine=True, clip=1.0)),
            ),
            config=TrainingConfig(48, 16, cosine=True, patience=16, clip=1.0),
            standardise=True,
        ),
        sizes={
            "small": {"hidden": (64, 32)},
            "median": {"hidden": (128, 64)},
            "large": {"hidden": (256, 128)},
        },
        size_of_task=_NGF_TASKS,
    ),
    "ngf-time": Baseline(
        sentence="NGF as the paper's authors ran it: a transformer over time, one step of a fabric",
        paper=NgfTimeLearner(),
        fair=NgfTimeLearner(
            period=0.1,
            damping_sign=-1,
            config=TrainingConfig(60, 16, cosine=True, patience=20, clip=1.0),
            standardise=True,
        ),
        sizes={
            "small": {"hidden": (64, 32), "width": 32},
            "median": {"hidden": (128, 64), "width": 64},
            "large": {"hidden": (256, 128), "width": 128},
        },
        size_of_task=_NGF_TASKS,
    ),
    "bc": Baseline(
        sentence="state-action behaviour cloning: a policy by itself, in closed loop",
        paper=CloningLearner(),
        fair=CloningLearner(
            config=TrainingConfig(300, 128, cosine=True, patience=60), standardise=True
        ),
    ),
}


def baseline_learner(
    name: str,
    setting: str = "fair",
    task_name: str | None = None,
    *,
    size: Size | None = None,
    seed: int = 0,
    show_progress: bool = True,
) -> BaselineLearner:
    """Return the learner of the baseline `name`, by default as the paper sized it for the task."""
    found = look_up(name, BASELINES, "baselines")
    learner = look_up(setting, {"paper": found.paper, "fair": found.fair}, "settings")
    if size is not None and not found.sizes:
        raise InputError(f"{name} has one size, the paper's: leave the size out")
    sized = look_up(size or found.size_of_task.get(task_name or "", "median"), SIZES, "sizes")
    fields = {**found.sizes.get(sized, {}), "seed": seed, "show_progress": show_progress}
    return cast("BaselineLearner", replace(cast("Any", learner), **fields))
