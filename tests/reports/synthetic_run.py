"""A run folder whose every number is known: a linear system instead of a simulator."""

import json
from pathlib import Path

import numpy as np

from kodex.controllers import RidgeControllerLearner
from kodex.demonstrations import TrajectorySet, write
from kodex.evaluation.analysis import Analysis, write_analysis
from kodex.koopman import KoopmanDynamics, KoopmanLearner
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import TrackingPolicy, save
from kodex.seeding import generator
from kodex.trajectory import Start, StateLayout, Trajectory

RESULTS = {
    "format": "kodex-results",
    "version": 1,
    "task": "door",
    "recipe": "default",
    "distribution": "in",
    "seed": 2,
    "variation": None,
    "success": {"rate": 0.9125, "low": 0.8303, "high": 0.9570, "instances": 80},
    "success_by_definition": {
        "gymnasium": {"rate": 0.8875, "low": 0.7998, "high": 0.9400, "instances": 80},
        "dapg": {"rate": 0.7125, "low": 0.6053, "high": 0.8002, "instances": 80},
    },
    "expert": {"success": {"rate": 0.975, "low": 0.9134, "high": 0.9931, "instances": 80}},
    "imitation_error": 0.03141,
    "tracking_error": 0.01732,
    "thrown_out": None,
    "action_change": 0.0577,
    "diverged": 1,
    "seconds": {"collect": 7.31, "learn": 0.4242, "evaluate": 9.87},
    "demonstrations": {"training": 20, "validation": 5, "tried": 27},
    "provenance": {
        "command": "kodex run door --out runs/door",
        "versions": {"kodex": "0.1.0", "numpy": "2.3.1"},
        "seeds": {"collect": 11, "evaluate": 13},
    },
}


def layout(joints=4):
    return StateLayout(
        robot=tuple(f"joint_{index}" for index in range(joints)),
        object=("handle_x", "handle_y", "handle_z", "door_velocity"),
    )


def episodes(count, *, steps=20, joints=4, start_names=("door_x", "door_y"), seed=0, fail=0.1):
    """Return episodes of a linear system; those that begin at the rim fail, as far as `fail`."""
    names, random = layout(joints), generator(seed, "synthetic")
    size = names.size
    turn = np.linalg.qr(random.normal(size=(size, size)))[0]
    step = turn @ np.diag(np.linspace(0.93, 0.999, size)) @ turn.T
    made = []
    for index in range(count):
        values = random.uniform(-1.0, 1.0, len(start_names))
        states = np.empty((steps, size))
        states[0] = random.normal(size=size) + np.resize(values, size)
        for t in range(1, steps):
            states[t] = step @ states[t - 1]
        succeeded = bool(np.abs(values).max(initial=0.0) < 1.0 - fail)
        reach = 1.5 if succeeded else random.uniform(0.0, 1.0)
        progress = reach * np.linspace(0.0, 1.0, steps) ** 2 + 0.02 * random.normal(size=steps)
        made.append(
            Trajectory(
                layout=names,
                states=states,
                actions=2.0 * np.diff(states[:, :joints], axis=0) + states[:-1, :joints],
                progress=progress,
                start=Start("door", "in", seed, index, dict(zip(start_names, values, strict=True))),
                succeeded=succeeded,
                failure="simulation <diverged>" if index == 3 and not succeeded else None,
            )
        )
    return TrajectorySet(made)


def write_synthetic_run(
    folder, *, results=None, expert=True, rollouts=None, demonstrations=None, dynamics=None
):
    """Write a whole run folder, with pieces replaced where they are given."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = RESULTS if results is None else results
    demonstrations = episodes(25, seed=1) if demonstrations is None else demonstrations
    rollouts = episodes(80, seed=2) if rollouts is None else rollouts
    write(folder / "demonstrations.h5", demonstrations)
    write(folder / "rollouts.h5", rollouts)
    if expert:
        write(folder / "expert.h5", rollouts)
    training = demonstrations[: len(demonstrations) * 4 // 5]
    if dynamics is None:
        dynamics = fitted_dynamics(training)
    policy = TrackingPolicy(dynamics, RidgeControllerLearner().fit(training))
    save(policy, folder / "policy")
    write_analysis(folder / "analysis", Analysis.of(policy, demonstrations[len(training) :]))
    (folder / "results.json").write_text(json.dumps(results))
    return folder


def fitted_dynamics(demonstrations, number=1) -> KoopmanDynamics:
    return KoopmanLearner(lifting=PaperPolynomialLearner(number=number)).fit(demonstrations)
