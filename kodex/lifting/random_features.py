"""Random features: cosines of a Gaussian kernel, and half-spaces that switch on.

Random Fourier features: for standardised states s and s' the mean over features of their products
tends to exp(-scale² · ‖s - s'‖² / 2n), so that a linear model of many of them is a kernel machine.
They stay bounded where polynomials explode.

A kernel that treats all directions alike wastes most of its features on directions that do not
matter. Once there is a model y = D z, the average gradient outer product (AGOP) M, the mean of JᵀJ
over the data with J = ∂y/∂s, shows which do, and the frequencies can be resampled with covariance
M / trace M instead of 1 / n (Radhakrishnan et al., Science 2024): a lifting fitted to its use,
without gradient descent.

A gradient is steep where states hardly differ: between a position and the position one step before
lies the velocity, small and almost the last action, so M points there, and the policy repeats
itself instead of looking where it is. With the covariance S of the standardised states, √S M √S
counts a direction by how much the outputs change along it in the data, as gradient descent would.

ReLU features are for motion with kinks, such as making contact: the paper names non-smooth
observables as what its polynomials lack.

Cosines of many phases at a time are about three times as fast here as NumPy's and as accurate.
NumPy's cosine in double precision takes one number after the other on most processors. Here a phase
is counted in turns, of which whole ones are taken off without rounding; what is left, at most half
a turn, is folded to t, at most a quarter of one, and

    √2 cos(2π y) = √2 sin(2π t),    t = 1/4 - |y - round(y)|,

is t times a polynomial in t², which misses it by 3e-16. Each step is one pass of NumPy over a block
that stays in the cache of one core.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Lifting
from kodex.lifting.frame import (
    StateFirst,
    expect_at_least,
    expect_positive,
    expect_sample,
    mean_and_scale,
    numbered,
)
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

SENSITIVITY_SAMPLES = 4000  # states are enough to say which directions matter


@dataclass(frozen=True, eq=False)
class FourierFeatures(StateFirst):
    """[x, 1, √2 cos(W x + b)]: each feature has mean square 1, as a standardised component has."""

    layout: StateLayout
    frequencies: Array  # W, (features, n), per raw unit: the standardisation is multiplied in
    phases: Array  # b, (features,)
    constant: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.phases), self.layout.size)
        if self.frequencies.shape != expected:
            raise InputError(f"frequencies must be {expected}; found {self.frequencies.shape}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """`fourier_0` and so on."""
        return numbered("fourier", len(self.phases))

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, features), for the states `rows`, (rows, n)."""
        write_cosines(rows, self.frequencies, self.phases, features)

    def sensitivity(self, outputs: Array, states: Array) -> Array:
        """Return the mean of JᵀJ over `states`, (samples, n) -> (n, n).

        J = ∂(D z)/∂x says how the `outputs` D, (m, p), of this lifting change with the state.
        """
        straight = outputs[:, : self.layout.size]  # (m, n)
        weights = outputs[:, self.layout.size + self.constant :]  # (m, features)
        slopes = -np.sqrt(2.0) * np.sin(states @ self.frequencies.T + self.phases)
        products = slopes.T @ slopes / len(slopes)  # (features, features)
        curved = self.frequencies.T @ ((weights.T @ weights) * products) @ self.frequencies
        mixed = straight.T @ ((weights * slopes.mean(axis=0)) @ self.frequencies)
        return np.asarray(straight.T @ straight + mixed + mixed.T + curved)

    def stored(self) -> Stored:
        """Return frequencies and phases."""
        return Stored(
            type="fourier",
            config={"layout": self.layout.as_config(), "constant": self.constant},
            arrays={"frequencies": self.frequencies, "phases": self.phases},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            frequencies=stored.arrays["frequencies"],
            phases=stored.arrays["phases"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class FourierLearner:
    """Draws frequencies for the standardised state."""

    count: int = 2000
    scale: float = 1.5  # frequencies are normal with standard deviation scale / √n
    constant: bool = True
    spread: bool = False  # resample with √S M √S: directions count by how far states spread there
    seed: int = seed_field()

    def __post_init__(self) -> None:
        expect_at_least("the count of Fourier features", self.count, 1)
        expect_positive("the scale of Fourier features", self.scale)

    def fit(self, layout: StateLayout, states: Array) -> FourierFeatures:
        """Return features for states that spread like `states`, (samples, n)."""
        return self._sampled(layout, states, None)

    def resample(
        self, lifting: Lifting, outputs: Array, states: Array, sharpness: Sequence[float] = (1.0,)
    ) -> Iterator[FourierFeatures]:
        """Yield features resampled with the AGOP of the `outputs` D, (m, p), of `lifting`."""
        assert isinstance(lifting, FourierFeatures)
        some = states[:: max(1, len(states) // SENSITIVITY_SAMPLES)]
        metric = lifting.sensitivity(outputs, some)
        for factor in sharpness:
            sharper = replace(self, scale=self.scale * factor)
            yield sharper._sampled(lifting.layout, states, metric)

    def join(self, draws: Sequence[Lifting]) -> FourierFeatures:
        """Return the features of all `draws` as one lifting; state and constant are there once."""
        parts = [draw for draw in draws if isinstance(draw, FourierFeatures)]
        assert len(parts) == len(draws) > 0
        return replace(
            parts[0],
            frequencies=np.concatenate([part.frequencies for part in parts]),
            phases=np.concatenate([part.phases for part in parts]),
        )

    def _sampled(self, layout: StateLayout, states: Array, metric: Array | None) -> FourierFeatures:
        """Return features with the covariance `metric`, (n, n) per raw unit; None: isotropic."""
        mean, scale = mean_and_scale(expect_sample(states, layout))
        spread = np.eye(layout.size) / np.sqrt(layout.size)
        if metric is not None:
            metric = scale[:, None] * metric * scale
            if self.spread:
                root = _root_covariance((states - mean) / scale)
                metric = root @ metric @ root
            sizes, directions = np.linalg.eigh(metric)
            sizes = np.maximum(sizes, 0.0)
            if sizes.sum() > 0.0:  # else nothing depends on anything, and no direction is better
                spread = (directions * np.sqrt(sizes / sizes.sum())) @ directions.T
        random = generator(self.seed, "lifting", "fourier")
        drawn = random.normal(size=(self.count, layout.size)) @ spread * self.scale
        phases = random.uniform(0.0, 2.0 * np.pi, size=self.count)
        frequencies = drawn / scale
        return FourierFeatures(layout, frequencies, phases - frequencies @ mean, self.constant)


def _root_covariance(standard: Array) -> Array:
    """Return the symmetric √S of the covariance of standardised states, (samples, n) -> (n, n)."""
    sizes, directions = np.linalg.eigh(standard.T @ standard / len(standard))
    return np.asarray((directions * np.sqrt(np.maximum(sizes, 0.0))) @ directions.T)


@dataclass(frozen=True, eq=False)
class ReluFeatures(StateFirst):
    """[x, 1, max(0, W x + b)]."""

    layout: StateLayout
    weights: Array  # W, (features, n), per raw unit: the standardisation is multiplied in
    biases: Array  # b, (features,)
    constant: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.biases), self.layout.size)
        if self.weights.shape != expected:
            raise InputError(f"weights must be {expected}; found {self.weights.shape}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """`relu_0` and so on."""
        return numbered("relu", len(self.biases))

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, features), for the states `rows`, (rows, n)."""
        np.matmul(rows, self.weights.T, out=features)
        features += self.biases
        np.maximum(features, 0.0, out=features)

    def stored(self) -> Stored:
        """Return weights and biases."""
        return Stored(
            type="relu",
            config={"layout": self.layout.as_config(), "constant": self.constant},
            arrays={"weights": self.weights, "biases": self.biases},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            weights=stored.arrays["weights"],
            biases=stored.arrays["biases"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class ReluLearner:
    """Draws directions in the standardised state and says where along them to switch on.

    `data` puts each kink through a state that was seen, so that kinks are where the motion is;
    `random` puts it at a normal distance from the mean.
    """

    count: int = 500
    kinks: Literal["data", "random"] = "data"
    constant: bool = True
    seed: int = seed_field()

    def __post_init__(self) -> None:
        expect_at_least("the count of ReLU features", self.count, 1)
        if self.kinks not in ("data", "random"):
            raise InputError(f"kinks are placed by 'data' or 'random'; found {self.kinks!r}")

    def fit(self, layout: StateLayout, states: Array) -> ReluFeatures:
        """Return ReLU features for states that spread like `states`, (samples, n)."""
        sample = expect_sample(states, layout)
        mean, scale = mean_and_scale(sample)
        random = generator(self.seed, "lifting", "relu")
        directions = random.normal(size=(self.count, layout.size)) / np.sqrt(layout.size)
        weights = directions / scale
        if self.kinks == "data":
            through = sample[random.integers(len(sample), size=self.count)]
            biases = -(weights * through).sum(axis=1)
        else:
            biases = random.normal(size=self.count) - weights @ mean
        return ReluFeatures(layout, weights, biases, self.constant)


# Of √2 sin(2π t) / t in t², the highest power first: through the 8 positive zeros of T₁₆(4t).
SINE = (
    -0.9793523686903746,
    5.398570251389012,
    -21.346855301550402,
    59.479969748522464,
    -108.47846708656056,
    115.40725028636209,
    -58.46599599996143,
    8.885765876316732,
)
BLOCK_VALUES = 2**14  # with its scratch 384 KiB, and a core has 512 KiB or more of its own
FEW = 2**13  # values, of which NumPy's cosine is done sooner than twenty passes are begun


def write_cosines(rows: Array, frequencies: Array, phases: Array, features: Array) -> None:
    """Fill `features`, (rows, features), with √2 cos(W x + b) of `rows`, (rows, n)."""
    if features.size < FEW:
        np.matmul(rows, frequencies.T, out=features)
        features += phases
        np.cos(features, out=features)
        features *= np.sqrt(2.0)
        return
    turning, beginning = frequencies.T / (2.0 * np.pi), phases / (2.0 * np.pi)
    block = max(1, BLOCK_VALUES // features.shape[1])
    scratch = np.empty((3, min(block, len(rows)), features.shape[1]))
    for first in range(0, len(rows), block):
        some = rows[first : first + block]
        value, folded, square = scratch[:, : len(some)]
        np.matmul(some, turning, out=value)
        value += beginning
        np.rint(value, out=folded)
        np.subtract(value, folded, out=folded)
        np.abs(folded, out=folded)
        np.subtract(0.25, folded, out=folded)
        np.multiply(folded, folded, out=square)
        np.multiply(square, SINE[0], out=value)
        for coefficient in SINE[1:-1]:
            value += coefficient
            value *= square
        value += SINE[-1]
        np.multiply(value, folded, out=features[first : first + block])
