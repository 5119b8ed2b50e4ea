"""Radial basis functions: Gaussians around states of the demonstrations."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from kodex.errors import InputError
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


@dataclass(frozen=True, eq=False)
class RadialFeatures(StateFirst):
    """[x, 1, exp(-‖s - c‖² / 2 width²)] of the standardised state s."""

    layout: StateLayout
    mean: Array  # (n,)
    scale: Array  # (n,)
    centres: Array  # c, (features, n), standardised
    width: float  # in standardised units
    constant: bool = True

    def __post_init__(self) -> None:
        n = self.layout.size
        found = (self.mean.shape, self.scale.shape, self.centres.shape[1:])
        if found != ((n,), (n,), (n,)):
            raise InputError(f"mean, scale and every centre must hold {n} numbers; found {found}")
        expect_positive("the width of radial features", self.width)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """`radial_0` and so on."""
        return numbered("radial", len(self.centres))

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, features), for the states `rows`, (rows, n)."""
        standard = (rows - self.mean) / self.scale
        squared_distances(standard, self.centres, out=features)
        features *= -0.5 / self.width**2
        np.exp(features, out=features)

    def stored(self) -> Stored:
        """Return the centres and the standardisation they live in."""
        return Stored(
            type="radial",
            config={
                "layout": self.layout.as_config(),
                "width": self.width,
                "constant": self.constant,
            },
            arrays={"mean": self.mean, "scale": self.scale, "centres": self.centres},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            mean=stored.arrays["mean"],
            scale=stored.arrays["scale"],
            centres=stored.arrays["centres"],
            width=stored.config["width"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class RadialLearner:
    """Chooses centres among the states.

    `farthest` takes, after a random first, the state that is farthest from all centres so far,
    which covers rare states too; `random` takes states as often as they occur.
    """

    count: int = 200
    width: float = 1.0  # in median distances between centres
    centres: Literal["farthest", "random"] = "farthest"
    constant: bool = True
    fewer: bool = False  # take fewer where there are not as many different states
    seed: int = seed_field()

    def __post_init__(self) -> None:
        expect_at_least("the count of radial features", self.count, 2)
        expect_positive("the width of radial features", self.width)
        if self.centres not in ("farthest", "random"):
            raise InputError(f"centres are 'farthest' or 'random'; found {self.centres!r}")

    def fit(self, layout: StateLayout, states: Array) -> RadialFeatures:
        """Return Gaussians around some of `states`, (samples, n)."""
        sample = expect_sample(states, layout)
        mean, scale = mean_and_scale(sample)
        candidates = np.unique((sample - mean) / scale, axis=0)
        count = min(self.count, len(candidates)) if self.fewer else self.count
        if len(candidates) < count:
            raise InputError(
                f"{self.count} radial features need as many different states; "
                f"found {len(candidates)}: lower the count"
            )
        random = generator(self.seed, "lifting", "radial")
        if self.centres == "random":
            centres = candidates[random.choice(len(candidates), size=count, replace=False)]
        else:
            centres = _farthest_points(candidates, count, random)
        width = self.width * _median_distance(centres)
        return RadialFeatures(layout, mean, scale, centres, width, self.constant)


def squared_distances(points: Array, centres: Array, out: Array | None = None) -> Array:
    """Return ‖point - centre‖² for each pair, (points, n), (centres, n) -> (points, centres)."""
    squares: Array = np.matmul(points, -2.0 * centres.T, out=out)
    squares += (points**2).sum(axis=1)[:, None]
    squares += (centres**2).sum(axis=1)
    np.maximum(squares, 0.0, out=squares)  # rounding may leave it just below
    return squares


def _farthest_points(points: Array, count: int, random: np.random.Generator) -> Array:
    squares = (points**2).sum(axis=1)
    chosen = [int(random.integers(len(points)))]
    nearest = np.full(len(points), np.inf)  # squared distance to the nearest chosen point
    while len(chosen) < count:
        last = chosen[-1]
        np.minimum(nearest, squares + squares[last] - 2.0 * (points @ points[last]), out=nearest)
        nearest[last] = -np.inf  # never twice, whatever the rounding
        chosen.append(int(nearest.argmax()))
    return points[chosen]


def _median_distance(centres: Array) -> float:
    pairs = np.triu_indices(len(centres), k=1)
    return float(np.sqrt(np.median(squared_distances(centres, centres)[pairs])))
