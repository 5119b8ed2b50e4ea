"""A user's own function as a lifting: [x, 1, f(x)].

A model's file never holds code. It holds the function's name and a few of its values; to read the
model again, say which function the name means:

    with known_functions(contact_distance=contact_distance):
        policy = load("door-policy")
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.lifting.frame import (
    StateFirst,
    expect_sample,
    numbered,
)
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

Function = Callable[[Array], Array]  # (rows, n) -> (rows, features)
PROBES = 8  # states whose values are stored, to notice a function that has changed

_known: ContextVar[Mapping[str, Function]] = ContextVar(
    "known_functions", default=MappingProxyType({})
)


@contextmanager
def known_functions(**functions: Function) -> Iterator[None]:
    """Let models that are read inside this block use `functions` by their names."""
    token = _known.set({**_known.get(), **functions})
    try:
        yield
    finally:
        _known.reset(token)


@dataclass(frozen=True, eq=False)
class FunctionLifting(StateFirst):
    """The state, perhaps a constant, and the values of `function`."""

    layout: StateLayout
    function: Function
    name: str  # under which `known_functions` finds it again
    labels: tuple[str, ...]  # a name for each value of the function
    probes: Array  # (probes, n) states that its values are remembered for
    constant: bool = False

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise InputError(
                f"the values of {self.name!r} need names that differ from each other and from "
                f"the state's; found {', '.join(self.labels)}"
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, features), for the states `rows`, (rows, n)."""
        features[:] = _values(self.function, self.name, rows, len(self.labels))

    def stored(self) -> Stored:
        """Return the function's name and some of its values, never the function."""
        values = _values(self.function, self.name, self.probes, len(self.labels))
        return Stored(
            type="function",
            config={
                "layout": self.layout.as_config(),
                "name": self.name,
                "labels": list(self.labels),
                "constant": self.constant,
            },
            arrays={"probes": self.probes, "values": values},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from, with the function that `known_functions` names."""
        name = stored.config["name"]
        if name not in _known.get():
            raise InputError(
                f"this model lifts with a function of yours, {name!r}, which a file cannot hold; "
                f"read it inside `with kodex.lifting.known_functions({name}=...):`"
            )
        lifting = cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            function=_known.get()[name],
            name=name,
            labels=tuple(stored.config["labels"]),
            probes=stored.arrays["probes"],
            constant=stored.config["constant"],
        )
        values = _values(lifting.function, name, lifting.probes, len(lifting.labels))
        if not np.allclose(values, stored.arrays["values"], rtol=1e-9, atol=1e-12, equal_nan=True):
            raise InputError(
                f"the function {name!r} gives other values than when the model was fitted; "
                "pass the one it was fitted with"
            )
        return lifting


@dataclass(frozen=True)
class FunctionLearner:
    """Wraps `function`, (rows, n) -> (rows, features), which must not change what it is given."""

    function: Function
    name: str | None = None  # the function's own, if not said
    labels: tuple[str, ...] | None = None  # `name_0`, `name_1`, …, if not said
    constant: bool = False

    def fit(self, layout: StateLayout, states: Array) -> FunctionLifting:
        """Return the lifting; `states`, (samples, n), tell how many values the function has."""
        name = str(self.name or getattr(self.function, "__name__", ""))
        if not name.isidentifier():
            raise InputError(f"the function needs a name to be stored by; found {name!r}")
        probes = expect_sample(states, layout)[:PROBES].copy()
        count = _values(self.function, name, probes, None).shape[1]
        labels = numbered(name, count) if self.labels is None else self.labels
        if len(labels) != count:
            raise InputError(f"the function {name!r} has {count} values; found {len(labels)} names")
        return FunctionLifting(layout, self.function, name, labels, probes, self.constant)


def _values(function: Function, name: str, rows: Array, count: int | None) -> Array:
    shown = rows.view()
    shown.flags.writeable = False  # the states belong to the caller
    values = np.asarray(function(shown), dtype=np.float64)
    if values.ndim != 2 or len(values) != len(rows) or count not in (None, values.shape[1]):
        raise InputError(
            f"the function {name!r} must return ({len(rows)}, {count or 'features'}) values for "
            f"{len(rows)} states; found shape {values.shape}"
        )
    return values
