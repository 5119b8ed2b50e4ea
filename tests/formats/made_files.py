"""Demonstrations to convert, and files as the owners of the formats write them."""

import json

import h5py
import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.trajectory import ActionRange, StateLayout, Trajectory

LAYOUT = StateLayout(("lift", "turn"), ("lid",))


def demonstrations(count=3, signals=False):
    """Return demonstrations in which every field that a format may hold is there."""
    made = []
    for number in range(count):
        random = np.random.default_rng(number)
        steps = 4 + number
        made.append(
            Trajectory(
                LAYOUT,
                states=random.normal(size=(steps, 3)),
                actions=random.uniform(-2, 2, size=(steps - 1, 2)),
                rewards=random.normal(size=steps - 1),
                succeeded=number != 1,
                context={"goal": 0.5 * number},
                time_step=0.02,
                action_range=ActionRange((-2.0, -2.0), (2.0, 3.0)),
                units={"lift": "m"},
                provenance={"task": "open the lid"},
                signals={"qpos": random.normal(size=(steps, 4))} if signals else {},
            )
        )
    return TrajectorySet(made)


def write_minari(folder, observations, actions, *, metadata=None, state_in="infos", qpos=None):
    """Write a data set as Minari 0.5 does (`infos/state`), or as older files are (`state`)."""
    data = folder / "data"
    data.mkdir(parents=True)
    with h5py.File(data / "main_data.hdf5", "w") as file:
        for number, (seen, acted) in enumerate(zip(observations, actions, strict=True)):
            group = file.create_group(f"episode_{number}")
            group.attrs["id"], group.attrs["total_steps"] = number, len(acted)
            if isinstance(seen, dict):
                for name, values in seen.items():
                    group[f"observations/{name}"] = values
            else:
                group["observations"] = seen
            group["actions"] = acted
            group["rewards"] = np.arange(len(acted), dtype=float)
            group["terminations"] = group["truncations"] = np.zeros(len(acted), bool)
            group["infos/success"] = np.arange(len(acted) + 1) == len(acted)
            if qpos is not None:
                group[f"{'infos/' * (state_in == 'infos')}state/qpos"] = qpos[number]
    (data / "metadata.json").write_text(json.dumps(metadata or {"total_episodes": 1}))
    return folder


def write_d4rl(path, lengths, *, cut=False, after=False, **extra):
    """Write rows as D4RL does, with timeouts at the ends of episodes."""
    rows = sum(lengths)
    random = np.random.default_rng(0)
    observations, actions = random.normal(size=(rows, 3)), random.normal(size=(rows, 2))
    ends = np.zeros(rows, bool)
    ends[np.cumsum(lengths) - 1] = True
    if cut:
        ends[-1] = False
    with h5py.File(path, "w") as file:
        file["observations"], file["actions"] = observations.astype(np.float32), actions
        file["rewards"], file["terminals"], file["timeouts"] = np.ones(rows), np.zeros(rows), ends
        if after:
            file["next_observations"] = observations + 1.0
        for name, values in extra.items():
            file[name.replace("__", "/")] = values
    return observations.astype(np.float32), actions
