"""Training with Adam: one loop for every network, whoever finds its gradients.

What happens in an epoch depends on the seed and on the epoch's number only, so a training that
stopped resumes from its checkpoint and ends with the same bits as if it had never stopped.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError, explaining
from kodex.executors import one_blas_thread, progress_bar
from kodex.networks.checkpoint import Checkpoint, digest, read_checkpoint, write_checkpoint
from kodex.networks.operations import Signal
from kodex.networks.optimisers import MOMENTS, NumpyOptimiser, Optimiser, TorchOptimiser
from kodex.seeding import generator
from kodex.storage import Stored, check_output, read_model, restoring
from kodex.trajectory import Array

if TYPE_CHECKING:
    import torch

Tensors = Mapping[str, "torch.Tensor"]
# (parameters and constants, rows of the data) -> a number to make small
Loss = Callable[[Tensors, Tensors], "torch.Tensor"]
# rows of the data -> what they count in a mean of the losses of several groups of rows
Weight = Callable[[Tensors], "torch.Tensor"]
# as a loss -> the gradient of that number for each parameter
Gradients = Callable[[Mapping[str, Signal], Mapping[str, Signal]], Mapping[str, Signal]]


@dataclass(frozen=True)
class TrainingConfig:
    """How parameters are trained."""

    epochs: int
    batch_size: int | None  # rows of the data; None: all of them
    learning_rate: float = 1e-3
    # A new Adam has no memory: its first step is the learning rate times the gradient's sign.
    reset_optimiser: Literal["never", "epoch", "batch"] = "never"
    cosine: bool = False  # the learning rate falls to zero along half a cosine
    patience: int | None = None  # epochs without a better validation before stopping; None: never
    # The greatest norm of a gradient, and one that is not finite is skipped; None: any.
    clip: float | None = None
    weight_decay: float = 0.0  # as in AdamW
    betas: tuple[float, float] = (0.9, 0.999)
    checkpoint_every: int = 25  # epochs

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "patience", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} must be greater than 0; found {value}")

    def rate(self, epoch: int) -> float:
        """Return the learning rate in `epoch`, counted from 0."""
        if not self.cosine:
            return self.learning_rate
        return float(self.learning_rate * 0.5 * (1.0 + np.cos(np.pi * epoch / self.epochs)))


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What is to be learned: initial parameters, data, and a loss to make small."""

    name: str  # for the progress bar, and for the message when torch is missing
    parameters: Mapping[str, Array]
    data: Mapping[str, Array]  # rows each
    loss: Loss
    seed: int
    validation: Mapping[str, Array] = field(default_factory=dict)  # empty: there is none
    validation_loss: Loss | None = None  # None: the same loss
    constants: Mapping[str, Array] = field(default_factory=dict)  # handed to losses as parameters
    weight: Weight | None = None  # None: a batch is taken whole; else in groups that fit a cache
    gradients: Gradients | None = None  # of the loss, written out: NumPy trains; None: torch does
    settings: Mapping[str, Any] = field(default_factory=dict)  # for JSON: a checkpoint's identity


def train(
    problem: TrainingProblem,
    config: TrainingConfig,
    *,
    show: bool = False,
    checkpoint: str | Path | None = None,
) -> dict[str, Array]:
    """Return the parameters with the least validation loss, or the last if nothing validates.

    With `checkpoint`, a folder, it resumes from what is there, and writes how far it has come from
    time to time.
    """
    if problem.gradients is None:
        require_torch(f"training {problem.name}")
    with one_thread() if problem.gradients is None else one_blas_thread():
        run = _Run(problem, config)
        settings = _identity(problem, config) if checkpoint is not None else {}
        if checkpoint is not None and Path(checkpoint).exists():
            _resume(run, checkpoint, settings)
        title, left = f"training {problem.name}", config.epochs - run.state.epoch
        with progress_bar(title, left, wanted=show) as advance:
            while not run.finished:
                run.train_epoch()
                advance(1)
                due = run.finished or run.state.epoch % config.checkpoint_every == 0
                if checkpoint is not None and due:
                    write_checkpoint(checkpoint, settings, run.checkpoint())
        return {name: array.astype(np.float64) for name, array in run.state.best.items()}


def _resume(run: "_Run", folder: str | Path, settings: Mapping[str, Any]) -> None:
    """Let `run` go on where the checkpoint is; what is damaged costs time, and nothing else."""
    try:
        read_model(folder)
    except InputError as damage:
        warnings.warn(f"{damage}; the training begins again", stacklevel=3)
        check_output(folder, replace=True, folder=True)  # or else no checkpoint could be written
        return
    found = read_checkpoint(folder, settings)
    with restoring(f"{folder} is not a whole checkpoint; remove it to begin again"):
        run.resume(found)


def _identity(problem: TrainingProblem, config: TrainingConfig) -> dict[str, Any]:
    """Return all that the result depends on; numbers stand there as their digest."""
    tables = (problem.parameters, problem.data, problem.validation, problem.constants)
    return {
        "training": asdict(config),
        "learner": dict(problem.settings),
        "seed": problem.seed,
        "data": digest(*tables),
    }


@dataclass
class _State:
    """How far a training has come."""

    epoch: int  # completed
    best: dict[str, NDArray[np.float32]]
    best_loss: float
    best_epoch: int


class _Run:
    """One training: parameters that change in place, and how far it has come."""

    def __init__(self, problem: TrainingProblem, config: TrainingConfig) -> None:
        self.problem, self.config = problem, config
        kind = TorchOptimiser if problem.gradients is None else NumpyOptimiser
        self.optimiser: Optimiser = kind(problem, config)
        self.state = _State(0, self.optimiser.copied(), float("inf"), 0)

    @property
    def finished(self) -> bool:
        state, patience = self.state, self.config.patience
        patience_exhausted = patience is not None and state.epoch - state.best_epoch >= patience
        return patience_exhausted or state.epoch >= self.config.epochs

    def train_epoch(self) -> None:
        """Go through all rows once, in the order of this epoch, and validate."""
        epoch, reset = self.state.epoch, self.config.reset_optimiser
        rows = len(next(iter(self.problem.data.values())))
        order = generator(self.problem.seed, "epoch", epoch).permutation(rows)
        if reset == "epoch":
            self.optimiser.forget()
        for batch in self.optimiser.batches(order, self.config.batch_size or rows):
            if reset == "batch":
                self.optimiser.forget()
            self.optimiser.step(batch, self.config.rate(epoch))
        self._validate(epoch + 1)

    def _validate(self, epoch: int) -> None:
        self.state.epoch = epoch
        if not self.problem.validation:
            self.state = _State(epoch, self.optimiser.copied(), float("inf"), epoch)
            return
        loss = self.optimiser.validation_loss()
        if loss < self.state.best_loss:  # which a NaN never is
            self.state = _State(epoch, self.optimiser.copied(), loss, epoch)

    def checkpoint(self) -> Checkpoint:
        tables = {
            "parameters": self.optimiser.copied(),
            "best": self.state.best,
            "moments": self.optimiser.moments(),
        }
        loss = self.state.best_loss
        return Checkpoint(
            progress={
                "epoch": self.state.epoch,
                "best_loss": loss if math.isfinite(loss) else None,
                "best_epoch": self.state.best_epoch,
            },
            parts={name: Stored(type="arrays", arrays=table) for name, table in tables.items()},
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        progress, parts = checkpoint.progress, checkpoint.parts
        epoch, best, loss = (progress[name] for name in ("epoch", "best_epoch", "best_loss"))
        if not (type(epoch) is int and type(best) is int and 0 <= best <= epoch):
            raise InputError(f"its epochs make no sense: {epoch!r:.40}, the best {best!r:.40}")
        if not (loss is None or type(loss) is float):
            raise InputError(f"its best loss must be a number or null; found {loss!r:.40}")
        names = set(self.problem.parameters)
        for table in ("parameters", "best"):
            self._check(parts[table].arrays, names)
        moments = dict(parts["moments"].arrays)
        # A parameter that no gradient reached has none.
        moved = [name for name in names if f"{name}/{MOMENTS[0]}" in moments]
        self._check(moments, {f"{name}/{moment}" for name in moved for moment in MOMENTS})
        self.optimiser.restore(parts["parameters"].arrays, moments)
        self.state = _State(
            epoch=epoch,
            best=dict(parts["best"].arrays),
            best_loss=float("inf") if loss is None else loss,
            best_epoch=best,
        )

    def _check(self, arrays: Mapping[str, NDArray[Any]], names: set[str]) -> None:
        """Refuse other arrays than `names`, and those of another size than their parameters."""
        if arrays.keys() != names:
            raise InputError(f"it has other arrays: {sorted(names ^ arrays.keys())[:3]}")
        for name, array in arrays.items():
            step = name.endswith("/step")
            parameters = self.problem.parameters
            owner = name if name in parameters else name.rpartition("/")[0]
            shape = () if step else parameters[owner].shape
            if array.dtype != np.float32 or array.shape != shape:
                raise InputError(f"{name} is {array.dtype} {array.shape}; it was float32 {shape}")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: networks this small lose more to waiting than they gain.

    It also makes a result the same bit for bit on any number of cores.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def require_torch(purpose: str) -> Any:
    """Return torch, or say how to get it."""
    with explaining(purpose, "; acting with a trained one does not"):
        import torch
    return torch
