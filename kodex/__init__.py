"""Dexterous manipulation skills from demonstrations, with Koopman operators, in closed form.

From demonstrations to an evaluated skill:

    task = kodex.task("door")
    demonstrations = kodex.collect(task, episodes=200, seed=0)
    policy = kodex.fit(demonstrations)
    rollouts = kodex.roll_out(task, policy, task.starts("in", count=1000, seed=1))
    print(kodex.score(rollouts))

A name is imported when it is first used, so `import kodex` itself costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> the module that it comes from
_MODULES = {
    "InputError": "kodex.errors",
    "MissingFeatureError": "kodex.errors",
    "StateLayout": "kodex.trajectory",
    "Start": "kodex.trajectory",
    "Starts": "kodex.trajectory",
    "Trajectory": "kodex.trajectory",
    "TrajectorySet": "kodex.demonstrations",
    "demonstrations_from": "kodex.demonstrations",
    "read": "kodex.demonstrations",
    "stream": "kodex.demonstrations",
    "write": "kodex.demonstrations",
    "KoopmanDynamics": "kodex.koopman",
    "KoopmanLearner": "kodex.koopman",
    "Predictor": "kodex.policies",
    "Session": "kodex.policies",
    "TrackingPolicy": "kodex.policies",
    "fit": "kodex.policies",
    "load": "kodex.policies",
    "monitored": "kodex.policies",
    "save": "kodex.policies",
    "task": "kodex.tasks",
    "environment": "kodex.gym",
    "roll_out": "kodex.rollout",
    "replay": "kodex.rollout",
    "score": "kodex.evaluation",
    "collect": "kodex.experts",
    "expert": "kodex.experts",
}

__all__ = [*_MODULES, "__version__"]

if TYPE_CHECKING:
    from kodex.demonstrations import TrajectorySet as TrajectorySet
    from kodex.demonstrations import demonstrations_from as demonstrations_from
    from kodex.demonstrations import read as read
    from kodex.demonstrations import stream as stream
    from kodex.demonstrations import write as write
    from kodex.errors import InputError as InputError
    from kodex.errors import MissingFeatureError as MissingFeatureError
    from kodex.evaluation import score as score
    from kodex.experts import collect as collect
    from kodex.experts import expert as expert
    from kodex.gym import environment as environment
    from kodex.koopman import KoopmanDynamics as KoopmanDynamics
    from kodex.koopman import KoopmanLearner as KoopmanLearner
    from kodex.policies import Predictor as Predictor
    from kodex.policies import Session as Session
    from kodex.policies import TrackingPolicy as TrackingPolicy
    from kodex.policies import fit as fit
    from kodex.policies import load as load
    from kodex.policies import monitored as monitored
    from kodex.policies import save as save
    from kodex.rollout import replay as replay
    from kodex.rollout import roll_out as roll_out
    from kodex.tasks import task as task
    from kodex.trajectory import Start as Start
    from kodex.trajectory import Starts as Starts
    from kodex.trajectory import StateLayout as StateLayout
    from kodex.trajectory import Trajectory as Trajectory


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'kodex' has no attribute {name!r}")
    from kodex.errors import explaining

    with explaining(f"kodex.{name}"):
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


import_module("kodex.environments")  # the tasks join Gymnasium's registry, if ever it is imported
