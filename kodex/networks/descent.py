"""Gradient descent with Adam: the one module here that needs torch.

What happens in an epoch depends on the seed and on the epoch's number only, so a training that
stopped goes on from its checkpoint and ends with the same bits as if it had never stopped.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError, MissingFeatureError
from kodex.networks.checkpoint import Checkpoint, fingerprint, read_checkpoint, write_checkpoint
from kodex.progress_bar import progress_bar
from kodex.seeding import generator
from kodex.trajectory import Array

if TYPE_CHECKING:
    import torch

Tensors = Mapping[str, "torch.Tensor"]
# (parameters and constants, rows of the data) -> a number to make small
Loss = Callable[[Tensors, Tensors], "torch.Tensor"]


@dataclass(frozen=True)
class Descent:
    """How parameters are moved."""

    epochs: int
    batch_size: int | None  # rows of the data; None: all of them
    learning_rate: float = 1e-3
    # A fresh Adam has no memory: its first step is the learning rate times the gradient's sign.
    fresh_adam: Literal["never", "epoch", "batch"] = "never"
    annealed: bool = False  # the learning rate falls to nothing along half a cosine
    patience: int | None = None  # epochs without a better validation before stopping; None: never
    # The greatest norm of a gradient, and one that is not finite moves nothing; None: any.
    clip: float | None = None
    decay: float = 0.0  # of weights, as in AdamW
    betas: tuple[float, float] = (0.9, 0.999)
    checkpoint_every: int = 25  # epochs

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "patience", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} must be greater than 0; found {value}")

    def rate(self, epoch: int) -> float:
        """Return the learning rate in `epoch`, counted from 0."""
        if not self.annealed:
            return self.learning_rate
        return float(self.learning_rate * 0.5 * (1.0 + np.cos(np.pi * epoch / self.epochs)))


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned: parameters to begin with, data, and a loss to make small."""

    name: str  # for the progress bar, and for what is said when torch is missing
    parameters: Mapping[str, Array]
    data: Mapping[str, Array]  # rows each
    validation: Mapping[str, Array]
    loss: Loss
    judge: Loss  # of the validation: the parameters it likes best are kept
    constants: Mapping[str, Array]  # handed to the losses beside the parameters
    settings: Mapping[str, Any]  # of the learner, for JSON: a checkpoint belongs to them
    seed: int


def descend(
    problem: Problem, descent: Descent, *, show: bool = False, checkpoint: str | Path | None = None
) -> dict[str, Array]:
    """Return the parameters that the validation liked best.

    With `checkpoint`, a folder, it goes on from what is there, and writes how it stands from time
    to time.
    """
    torch = require_torch(f"training {problem.name}")
    with one_thread():
        run = _Run(torch, problem, descent)
        print_of_it = fingerprint(
            {"descent": asdict(descent), "learner": problem.settings, "seed": problem.seed},
            problem.parameters,
            problem.data,
            problem.validation,
            problem.constants,
        )
        if checkpoint is not None and Path(checkpoint).exists():
            run.go_on_from(read_checkpoint(checkpoint, print_of_it))
        title, left = f"training {problem.name}", descent.epochs - run.standing.epoch
        with progress_bar(title, left, wanted=show) as advance:
            while not run.finished:
                run.epoch()
                advance(1)
                due = run.finished or run.standing.epoch % descent.checkpoint_every == 0
                if checkpoint is not None and due:
                    write_checkpoint(checkpoint, print_of_it, run.checkpoint())
        return {name: array.astype(np.float64) for name, array in run.standing.best.items()}


@dataclass
class _Standing:
    """How far a descent has come."""

    epoch: int  # that are over
    best: dict[str, NDArray[np.float32]]
    best_loss: float
    best_epoch: int


class _Run:
    """One descent: tensors that change in place, and how far it has come."""

    def __init__(self, torch: Any, problem: Problem, descent: Descent) -> None:
        def tensors(arrays: Mapping[str, Array]) -> dict[str, Any]:
            return {
                name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()
            }

        self.torch, self.problem, self.descent = torch, problem, descent
        self.data, self.validation = tensors(problem.data), tensors(problem.validation)
        self.constants = tensors(problem.constants)
        self.parameters = tensors(problem.parameters)
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.optimiser = torch.optim.AdamW(
            list(self.parameters.values()),
            lr=descent.learning_rate,
            betas=descent.betas,
            weight_decay=descent.decay,
            fused=True,
        )
        self.standing = _Standing(0, self._copied(), float("inf"), 0)

    @property
    def finished(self) -> bool:
        standing, patience = self.standing, self.descent.patience
        tired = patience is not None and standing.epoch - standing.best_epoch >= patience
        return tired or standing.epoch >= self.descent.epochs

    def epoch(self) -> None:
        """Go through all rows once, in the order of this epoch, and judge."""
        epoch = self.standing.epoch
        for group in self.optimiser.param_groups:
            group["lr"] = self.descent.rate(epoch)
        rows = len(next(iter(self.data.values())))
        random = generator(self.problem.seed, "epoch", epoch)
        order = self.torch.from_numpy(random.permutation(rows))
        if self.descent.fresh_adam == "epoch":
            self.optimiser.state.clear()
        size = self.descent.batch_size or rows
        shuffled = {name: each[order].split(size) for name, each in self.data.items()}
        for batch in zip(*shuffled.values(), strict=True):
            if self.descent.fresh_adam == "batch":
                self.optimiser.state.clear()
            self._move(dict(zip(shuffled, batch, strict=True)))
        self._judge(epoch + 1)

    def _move(self, batch: Tensors) -> None:
        self.optimiser.zero_grad()
        self.problem.loss({**self.parameters, **self.constants}, batch).backward()  # type: ignore[no-untyped-call]
        if self.descent.clip is not None:
            everything = list(self.parameters.values())
            norm = self.torch.nn.utils.clip_grad_norm_(everything, self.descent.clip)
            if not norm.isfinite():  # what ran away says nothing, and would spoil all that follows
                return
        self.optimiser.step()

    def _judge(self, epoch: int) -> None:
        self.standing.epoch = epoch
        with self.torch.no_grad():
            loss = self.problem.judge({**self.parameters, **self.constants}, self.validation)
        if float(loss) < self.standing.best_loss:  # which a NaN never is
            self.standing = _Standing(epoch, self._copied(), float(loss), epoch)

    def _copied(self) -> dict[str, NDArray[np.float32]]:
        return {name: each.detach().numpy().copy() for name, each in self.parameters.items()}

    def checkpoint(self) -> Checkpoint:
        moments: dict[str, NDArray[np.float32]] = {}
        for name, parameter in self.parameters.items():
            for moment, values in self.optimiser.state[parameter].items():
                moments[f"{name}/{moment}"] = values.numpy().copy()
        standing = self.standing
        return Checkpoint(
            epoch=standing.epoch,
            best_loss=standing.best_loss,
            best_epoch=standing.best_epoch,
            parameters=self._copied(),
            best=standing.best,
            moments=moments,
        )

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        for name, parameter in self.parameters.items():
            parameter.data.copy_(self.torch.from_numpy(checkpoint.parameters[name]))
            moments = {
                moment: self.torch.from_numpy(checkpoint.moments[f"{name}/{moment}"].copy())
                for moment in ("step", "exp_avg", "exp_avg_sq")
                if f"{name}/{moment}" in checkpoint.moments
            }
            if moments:  # a parameter that no gradient reached has none
                self.optimiser.state[parameter] = moments
        self.standing = _Standing(
            checkpoint.epoch, dict(checkpoint.best), checkpoint.best_loss, checkpoint.best_epoch
        )


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
    try:
        import torch
    except ImportError:
        raise MissingFeatureError(
            f"{purpose} needs torch: pip install 'kodex[train]'; acting with a trained one does not"
        ) from None
    return torch
