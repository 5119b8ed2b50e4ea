"""Trajectories made by hand or by Hypothesis, with every field or only a few."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kodex.demonstrations import TrajectorySet
from kodex.trajectory import ActionRange, Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("thumb", "wrist"), object=("hinge",))


def trajectory(value, steps=4, layout=LAYOUT, **fields):
    """Return a trajectory whose states are all `value`."""
    return Trajectory(layout, np.full((steps, layout.size), float(value)), **fields)


def numbered(count, steps=4):
    """Return a set whose episode i has all states i."""
    return TrajectorySet(trajectory(i, steps) for i in range(count))


def numbers_of(trajectories):
    """Return which episodes of a numbered set are there, in order."""
    return [int(each.states[0, 0]) for each in trajectories]


def full_trajectory(index=0, steps=5):
    """Return a trajectory in which no field is missing."""
    draw = np.random.default_rng(index)
    return Trajectory(
        LAYOUT,
        states=draw.normal(size=(steps, 3)),
        actions=draw.uniform(-1, 1, size=(steps - 1, 2)),
        progress=draw.normal(size=steps),
        rewards=draw.normal(size=steps - 1),
        start=Start("door", "out", seed=3, index=index, values={"x": 0.1 + index, "y": -1 / 3}),
        succeeded=bool(index % 2),
        failure=None if index % 2 else "the simulation diverged at step 5",
        signals={"qpos": draw.normal(size=(steps, 4)), "contact": draw.normal(size=steps - 1)},
        provenance={"policy": "expert", "note": "β, 50 %\n"},
        context={"goal": 0.25 * index},
        time_step=0.01,
        action_range=ActionRange((-1.0, -np.inf), (1.0, np.inf)),
        units={"thumb": "rad"},
    )


def content(each):
    """Return all that a trajectory says, with arrays as bytes, so that == means bit for bit."""
    return {
        "layout": each.layout,
        **{
            name: None if values is None else (values.shape, values.dtype.str, values.tobytes())
            for name, values in (
                ("states", each.states),
                ("actions", each.actions),
                ("progress", each.progress),
                ("rewards", each.rewards),
                *((f"signals/{name}", values) for name, values in each.signals.items()),
            )
        },
        "start": each.start,
        "succeeded": each.succeeded,
        "failure": each.failure,
        "provenance": dict(each.provenance),
        "context": dict(each.context),
        "time_step": each.time_step,
        "action_range": each.action_range,
        "units": dict(each.units),
    }


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SIGNAL_NAMES = st.text("abc xyzβ_-.", min_size=1, max_size=6).filter(lambda name: name != ".")
FINITE = st.floats(allow_nan=False, allow_infinity=False)  # with -0.0 and subnormals


@st.composite
def any_trajectory(draw, layout=LAYOUT):
    """Draw a trajectory with any of its optional fields."""
    steps = draw(st.integers(1, 5))

    def array(*shape):
        return draw(hnp.arrays(np.float64, shape, elements=FINITE))

    def perhaps(*shape):
        return array(*shape) if draw(st.booleans()) else None

    names = draw(st.lists(SIGNAL_NAMES, max_size=2, unique=True))
    starts = st.builds(
        Start,
        task=WORDS,
        distribution=st.sampled_from(["in", "out"]),
        seed=st.integers(0, 2**63),
        index=st.integers(0, 10**6),
        values=st.dictionaries(WORDS, FINITE, max_size=2),
    )
    return Trajectory(
        layout,
        states=array(steps, layout.size),
        actions=perhaps(steps - 1, draw(st.integers(0, 2))),
        progress=perhaps(steps),
        rewards=perhaps(steps - 1),
        start=draw(st.none() | starts),
        succeeded=draw(st.sampled_from([None, True, False])),
        failure=draw(st.none() | WORDS),
        signals={name: array(steps - draw(st.integers(0, 1)), 2) for name in names},
        provenance=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
        context=draw(st.dictionaries(WORDS, FINITE, max_size=2)),
        time_step=draw(st.none() | st.floats(1e-6, 1e3)),
        units=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
    )
