"""What moves parameters: Adam, with gradients that torch finds or that are written out.

Where a loss's gradients are written out, as for a network that answers one state at a time, NumPy
trains it: that is two to six times as fast, for most of a small step of torch is not arithmetic
(`python -m benchmarks training`), and torch need not be installed. Both are in single precision.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

    from kodex.networks.training import Loss, TrainingConfig, TrainingProblem

Single = NDArray[np.float32]
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of Adam, for each parameter, as torch names them
EPSILON = 1e-8  # added to the root of the squared gradients' mean, as torch's Adam does
# What Adam remembers of a weight without gradients fades towards numbers so small that a processor
# takes fifty times as long for them. These move nothing in single precision, and are made zero.
LEAST_MEAN, LEAST_SQUARE, FLUSH_EVERY = 1e-20, 1e-30, 256
ROWS_AT_ONCE = 20  # of a problem that says what rows weigh: a gradient is a sum over such groups
CLIP_EPSILON = 1e-6  # added to the gradients' norm, as torch's clipping does


class Optimiser(Protocol):
    """Parameters that change in place."""

    def batches(self, order: NDArray[np.int64], size: int) -> Iterator[Mapping[str, Any]]:
        """Return the rows to learn from in the given order, `size` at a time."""

    def step(self, batch: Mapping[str, Any], rate: float) -> None:
        """Make the loss of `batch` smaller, with the learning rate `rate`."""

    def forget(self) -> None:
        """Begin anew, as an optimiser that has taken no step."""

    def validation_loss(self) -> float:
        """Return the loss of the data to validate with."""

    def copied(self) -> dict[str, Single]:
        """Return the parameters as they are now."""

    def moments(self) -> dict[str, Single]:
        """Return what Adam remembers, by PARAMETER/MOMENT."""

    def restore(self, parameters: Mapping[str, Single], moments: Mapping[str, Single]) -> None:
        """Take over what `copied` and `moments` gave."""


class NumpyOptimiser:
    """Adam in NumPy: all parameters are one vector, and each of them is a view of its part."""

    def __init__(self, problem: "TrainingProblem", config: "TrainingConfig") -> None:
        assert problem.gradients is not None
        self.problem, self.config, self.gradients_of = problem, config, problem.gradients
        self.data = single(problem.data)
        self.validation: Any = single(problem.validation)
        self.constants = single(problem.constants)
        shapes = {name: each.shape for name, each in problem.parameters.items()}
        size = sum(each.size for each in problem.parameters.values())
        self.vector, self.gradient, self.mean, self.square, self.scratch = (
            np.zeros(size, np.float32) for _ in range(5)
        )
        self.steps = 0
        self.parameters = _views(self.vector, shapes)
        self.gradients = _views(self.gradient, shapes)
        self.means, self.squares = _views(self.mean, shapes), _views(self.square, shapes)
        for name, each in problem.parameters.items():
            self.parameters[name][...] = each

    def batches(self, order: NDArray[np.int64], size: int) -> Iterator[Mapping[str, Any]]:
        """Return the rows to learn from in the given order, `size` at a time."""
        shuffled = {name: each[order] for name, each in self.data.items()}
        for begin in range(0, len(order), size):
            yield {name: each[begin : begin + size] for name, each in shuffled.items()}

    def step(self, batch: Mapping[str, Any], rate: float) -> None:
        """Make the loss of `batch` smaller, with the learning rate `rate`."""
        with np.errstate(over="ignore", invalid="ignore"):  # the validation notices
            found = self.gradients_of({**self.parameters, **self.constants}, batch)
            for name, each in found.items():
                self.gradients[name][...] = each
            if self.config.clip is not None:
                norm = float(np.sqrt(self.gradient @ self.gradient))
                if not np.isfinite(norm):  # a diverged prediction would spoil all that follows
                    return
                self.gradient *= min(1.0, self.config.clip / (norm + CLIP_EPSILON))
            self._move(rate)

    def _move(self, rate: float) -> None:
        """Take one step of AdamW; nothing here makes a new array."""
        first, second = self.config.betas
        self.steps += 1
        if self.config.weight_decay:
            self.vector *= 1.0 - rate * self.config.weight_decay
        scratch, gradient = self.scratch, self.gradient
        np.subtract(gradient, self.mean, out=scratch)
        scratch *= 1.0 - first
        self.mean += scratch
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1.0 - second
        self.square *= second
        self.square += scratch
        np.sqrt(self.square, out=scratch)
        scratch *= 1.0 / (1.0 - second**self.steps) ** 0.5
        scratch += EPSILON
        np.divide(self.mean, scratch, out=scratch)
        scratch *= rate / (1.0 - first**self.steps)
        self.vector -= scratch
        if self.steps % FLUSH_EVERY == 0:
            self.mean[np.abs(self.mean) < LEAST_MEAN] = 0.0
            self.square[self.square < LEAST_SQUARE] = 0.0

    def forget(self) -> None:
        """Begin anew, as an optimiser that has taken no step."""
        self.steps = 0
        self.mean[:] = 0.0
        self.square[:] = 0.0

    def validation_loss(self) -> float:
        """Return the loss of the data to validate with."""
        loss = self.problem.validation_loss or self.problem.loss
        with np.errstate(over="ignore", invalid="ignore"):
            parameters: Any = {**self.parameters, **self.constants}
            return float(loss(parameters, self.validation))

    def copied(self) -> dict[str, Single]:
        """Return the parameters as they are now."""
        return {name: each.copy() for name, each in self.parameters.items()}

    def moments(self) -> dict[str, Single]:
        """Return what Adam remembers, by PARAMETER/MOMENT."""
        found: dict[str, Single] = {}
        for name in self.parameters:
            values = (np.array(self.steps), self.means[name], self.squares[name])
            for moment, value in zip(MOMENTS, values, strict=True):
                found[f"{name}/{moment}"] = value.astype(np.float32)
        return found

    def restore(self, parameters: Mapping[str, Single], moments: Mapping[str, Single]) -> None:
        """Take over what `copied` and `moments` gave."""
        for name, each in self.parameters.items():
            each[...] = parameters[name]
            if f"{name}/{MOMENTS[0]}" in moments:
                step, mean, square = (moments[f"{name}/{moment}"] for moment in MOMENTS)
                self.steps = int(step)
                self.means[name][...], self.squares[name][...] = mean, square


class TorchOptimiser:
    """AdamW of torch, and the gradients that it finds."""

    def __init__(self, problem: "TrainingProblem", config: "TrainingConfig") -> None:
        import torch

        def tensors(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
            return {name: torch.from_numpy(each) for name, each in single(arrays).items()}

        self.problem, self.config, self.torch = problem, config, torch
        self.data, self.validation = tensors(problem.data), tensors(problem.validation)
        self.constants, self.parameters = tensors(problem.constants), tensors(problem.parameters)
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.adam = torch.optim.AdamW(
            list(self.parameters.values()),
            lr=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=True,
        )

    def batches(self, order: NDArray[np.int64], size: int) -> Iterator[Mapping[str, Any]]:
        """Return the rows to learn from in the given order, `size` at a time."""
        rows = self.torch.from_numpy(order)
        shuffled = {name: each[rows].split(size) for name, each in self.data.items()}
        for batch in zip(*shuffled.values(), strict=True):
            yield dict(zip(shuffled, batch, strict=True))

    def step(self, batch: Mapping[str, Any], rate: float) -> None:
        """Make the loss of `batch` smaller, with the learning rate `rate`."""
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.zero_grad()
        for part in self._parts(self.problem.loss, batch):
            part.backward()  # type: ignore[no-untyped-call]
        if self.config.clip is not None:
            parameters = list(self.parameters.values())
            norm = self.torch.nn.utils.clip_grad_norm_(parameters, self.config.clip)
            if not norm.isfinite():  # a diverged prediction would spoil all that follows
                return
        self.adam.step()

    def forget(self) -> None:
        """Begin anew, as an optimiser that has taken no step: zeros are cheaper than a new one."""
        for moments in self.adam.state.values():
            for moment in moments.values():
                moment.zero_()

    def validation_loss(self) -> float:
        """Return the loss of the data to validate with."""
        loss = self.problem.validation_loss or self.problem.loss
        with self.torch.no_grad():
            return sum(float(part) for part in self._parts(loss, self.validation))

    def _parts(self, loss: "Loss", batch: Mapping[str, Any]) -> Iterator["torch.Tensor"]:
        """Return numbers whose sum is the loss of `batch`, one after another."""
        known, weight = {**self.parameters, **self.constants}, self.problem.weight
        if weight is None:
            yield loss(known, batch)
            return
        whole = weight(batch)
        for rows in zip(*(each.split(ROWS_AT_ONCE) for each in batch.values()), strict=True):
            part = dict(zip(batch, rows, strict=True))
            yield loss(known, part) * (weight(part) / whole)

    def copied(self) -> dict[str, Single]:
        """Return the parameters as they are now."""
        return {name: each.detach().numpy().copy() for name, each in self.parameters.items()}

    def moments(self) -> dict[str, Single]:
        """Return what Adam remembers, by PARAMETER/MOMENT."""
        return {
            f"{name}/{moment}": values.numpy().copy()
            for name, parameter in self.parameters.items()
            for moment, values in self.adam.state[parameter].items()
        }

    def restore(self, parameters: Mapping[str, Single], moments: Mapping[str, Single]) -> None:
        """Take over what `copied` and `moments` gave."""
        for name, parameter in self.parameters.items():
            parameter.data.copy_(self.torch.from_numpy(parameters[name]))
            if f"{name}/{MOMENTS[0]}" in moments:
                self.adam.state[parameter] = {
                    moment: self.torch.from_numpy(moments[f"{name}/{moment}"].copy())
                    for moment in MOMENTS
                }


def single(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Single]:
    """Return copies of `arrays` in single precision."""
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def _views(vector: Single, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Single]:
    """Return parts of `vector` one after another, in the given shapes."""
    views: dict[str, Single] = {}
    begin = 0
    for name, shape in shapes.items():
        end = begin + int(np.prod(shape))
        views[name] = vector[begin:end].reshape(shape)
        begin = end
    return views
