"""Checkpoints: where training stands, on disk, exact to the last bit."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.experts.actor import Actor
from kodex.experts.dapg import Training
from kodex.experts.dapg_learner import DapgLearner
from kodex.experts.value_network import ValueNetwork
from kodex.storage import Stored, read_model, write_model

TYPE = "dapg-checkpoint"


def write_checkpoint(
    folder: str | Path, training: Training, learner: DapgLearner, notes: Mapping[str, Any]
) -> None:
    """Write `training` to `folder`, with the settings it was made with and `notes` for JSON."""
    value = training.value
    arrays = {"log_deviation": training.log_deviation}
    for place, (weight, bias) in enumerate(zip(value.weights, value.biases, strict=True)):
        arrays |= {f"value_weight_{place}": weight, f"value_bias_{place}": bias}
    stored = Stored(
        type=TYPE,
        config={
            "seed": training.seed,
            "iteration": training.iteration,
            "value_layers": len(value.weights),
            "value_shift": value.output_shift,
            "value_scale": value.output_scale,
            "learner": _settings(learner),
            "notes": dict(notes),
        },
        arrays=arrays,
        parts={"actor": training.actor.stored()},
    )
    write_model(stored, folder, replace=True)


def read_checkpoint(
    folder: str | Path, learner: DapgLearner, seed: int
) -> tuple[Training, dict[str, Any]]:
    """Return the training in `folder` and its notes; refuse one that had other settings.

    The number of iterations may differ: a longer run goes on where a shorter one ended.
    """
    stored = read_model(folder)
    if stored.type != TYPE:
        raise InputError(f"{folder} is not a checkpoint but a {stored.type!r}")
    # A setting that was not known then was at its default.
    before, now = {**_settings(DapgLearner()), **stored.config["learner"]}, _settings(learner)
    before["seed"], now["seed"] = stored.config["seed"], seed
    differing = sorted(
        name for name in now if name != "iterations" and before.get(name) != now[name]
    )
    if differing:
        raise InputError(
            f"{folder} was trained with another {', '.join(differing)} "
            f"({', '.join(str(before.get(name)) for name in differing)}); "
            "use the same settings to go on, or another folder to begin again"
        )
    actor = Actor.restore(stored.parts["actor"])
    layers = range(stored.config["value_layers"])
    arrays = {name: np.asarray(array, dtype=float) for name, array in stored.arrays.items()}
    value = ValueNetwork(
        weights=tuple(arrays[f"value_weight_{place}"] for place in layers),
        biases=tuple(arrays[f"value_bias_{place}"] for place in layers),
        input_shift=actor.input_shift,
        input_scale=actor.input_scale,
        output_shift=stored.config["value_shift"],
        output_scale=stored.config["value_scale"],
    )
    training = Training(
        seed=seed,
        iteration=stored.config["iteration"],
        actor=actor,
        log_deviation=arrays["log_deviation"],
        value=value,
    )
    return training, dict(stored.config["notes"])


def _settings(learner: DapgLearner) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(learner).items()
    }
