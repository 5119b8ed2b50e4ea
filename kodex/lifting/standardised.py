"""Standardisation: any lifting, of components with mean 0 and standard deviation 1.

Joint angles, metres and velocities then weigh alike in a ridge or a rank cut. Recovery gives back
raw units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Lifting, LiftingLearner, ResamplableLearner
from kodex.lifting.frame import (
    expect_positive,
    expect_sample,
    expect_states,
    mean_and_scale,
)
from kodex.lifting.monomials import MonomialsLearner
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout


@dataclass(frozen=True, eq=False)
class Standardised:
    """The observables of `inner`, which sees s = (x - mean) / scale.

    With `clip` no component of s leaves ±clip, so that a prediction that ran away cannot run
    further when it is lifted again. A state outside is then recovered at the clip's edge.
    """

    layout: StateLayout
    mean: Array  # (n,)
    scale: Array  # (n,)
    inner: Lifting  # its layout is `standard_layout(layout)`
    clip: float | None = None  # in standard deviations

    def __post_init__(self) -> None:
        n = self.layout.size
        found = (self.mean.shape, self.scale.shape)
        if found != ((n,), (n,)):
            raise InputError(f"mean and scale must hold {n} numbers; found {found}")
        if not (self.scale > 0.0).all():
            raise InputError("every scale must be positive; found one that is not")
        if self.clip is not None:
            expect_positive("the clip of a standardised state", self.clip)
        if self.inner.layout != standard_layout(self.layout):
            raise InputError(
                "the inner lifting is for another layout; use StandardisedLearner to fit it"
            )

    @property
    def window(self) -> int:
        """As the inner lifting's."""
        return self.inner.window

    @property
    def names(self) -> tuple[str, ...]:
        """The inner lifting's names, in terms of `standard(x)`."""
        return self.inner.names

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p), in raw units."""
        return self.scale[:, None] * self.inner.recovery

    @cached_property
    def offset(self) -> Array:
        """The mean, if the inner lifting has no offset, (n,)."""
        return self.mean + self.scale * self.inner.offset

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., window · n) -> (..., p)."""
        states = expect_states(states, self.layout, self.window)
        if self.window == 1:
            return self.inner.lift(_standard(states, self.mean, self.scale, self.clip))
        apart = states.reshape(*states.shape[:-1], self.window, self.layout.size)
        standard = _standard(apart, self.mean, self.scale, self.clip)
        return self.inner.lift(standard.reshape(states.shape))

    def stored(self) -> Stored:
        """Return mean, scale, clip and the inner lifting."""
        return Stored(
            type="standardised",
            config={"layout": self.layout.as_config(), "clip": self.clip},
            arrays={"mean": self.mean, "scale": self.scale},
            parts={"inner": self.inner.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        from kodex.lifting import restore_lifting  # late: the table lists this class

        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            mean=stored.arrays["mean"],
            scale=stored.arrays["scale"],
            inner=restore_lifting(stored.parts["inner"]),
            clip=stored.config["clip"],
        )


@dataclass(frozen=True)
class StandardisedLearner:
    """Finds mean and scale, and fits `inner` to what is standardised with them."""

    inner: LiftingLearner = field(default_factory=lambda: MonomialsLearner(1, constant=True))
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.clip is not None:
            expect_positive("the clip of a standardised state", self.clip)

    def fit(self, layout: StateLayout, states: Array) -> Standardised:
        """Return the lifting, fitted to `states`, (samples, n)."""
        sample = expect_sample(states, layout)
        mean, scale = mean_and_scale(sample)
        standard = _standard(sample, mean, scale, self.clip)
        inner = self.inner.fit(standard_layout(layout), standard)
        return Standardised(layout, mean, scale, inner, self.clip)

    def resample(
        self, lifting: Lifting, outputs: Array, states: Array, sharpness: Sequence[float] = (1.0,)
    ) -> Iterator[Lifting]:
        """Yield `lifting` with its inner one resampled, if that can be; else as it is."""
        assert isinstance(lifting, Standardised)
        if not isinstance(self.inner, ResamplableLearner):
            yield lifting
            return
        standard = _standard(states, lifting.mean, lifting.scale, lifting.clip)
        for inner in self.inner.resample(lifting.inner, outputs, standard, sharpness):
            yield replace(lifting, inner=inner)

    def join(self, draws: Sequence[Lifting]) -> Lifting:
        """Return the first of `draws` with the inner features of all; they share their units."""
        parts = [draw for draw in draws if isinstance(draw, Standardised)]
        assert len(parts) == len(draws) > 0 and isinstance(self.inner, ResamplableLearner)
        return replace(parts[0], inner=self.inner.join([part.inner for part in parts]))


def _standard(states: Array, mean: Array, scale: Array, clip: float | None) -> Array:
    standard = states - mean
    standard /= scale
    if clip is not None:  # np.clip takes as long as all the rest for one state
        np.minimum(np.maximum(standard, -clip, out=standard), clip, out=standard)
    return standard


def standard_layout(layout: StateLayout) -> StateLayout:
    """Return the layout of a standardised state, whose names say that it is one."""
    return StateLayout(
        robot=tuple(f"standard({name})" for name in layout.robot),
        object=tuple(f"standard({name})" for name in layout.object),
    )
