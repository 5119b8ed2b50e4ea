"""How fast a Koopman model is fitted, how little memory it needs, and how fast it steps."""

import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import linalg

from benchmarks.made_demonstrations import (
    EPISODES,
    SIZES,
    best_times,
    made_demonstrations,
    peak_memory,
)
from kodex.koopman import (
    KoopmanDynamics,
    KoopmanLearner,
    Ridge,
    TransitionMoments,
    left_out_operator,
)
from kodex.lifting import PaperPolynomial
from kodex.trajectory import Array, Trajectory

LOOP_EPISODES = 10  # of the 200; the loop's time grows linearly in them, so it is scaled up
STREAMED = (62_500, 125_000, 250_000, 500_000, 1_000_000)  # transitions


def main() -> None:
    console = Console()
    console.print(_fits())
    console.print(_left_out())
    console.print(_stream())
    console.print(_steps())


def _fits() -> Table:
    """Compare the fit with the loop that it replaces, and with its own matrix products."""
    table = Table(title="Fit of Set 3 to 200 demonstrations (lift, moments, pinv)")
    for name in ("task", "p", "kodex", "loop*", "of it", "products + pinv", "of it"):
        table.add_column(name)
    for task in SIZES:
        demonstrations = made_demonstrations(task)
        lifting = PaperPolynomial(demonstrations[0].layout, number=3)
        now, after = _pairs(lifting, demonstrations)
        fit, bare = best_times(
            [partial(KoopmanLearner().fit, demonstrations), partial(_bare_fit, now, after)]
        )
        begun = time.perf_counter()
        gram, cross = plain_loop(demonstrations[:LOOP_EPISODES])
        loop = (time.perf_counter() - begun) * EPISODES / LOOP_EPISODES
        begun = time.perf_counter()
        _ = cross @ linalg.pinv(gram)
        loop += time.perf_counter() - begun
        table.add_row(
            task,
            str(now.shape[1]),
            f"{fit:.2f} s",
            f"{loop:.1f} s",
            f"1/{loop / fit:.0f} (< 1/15)",
            f"{bare:.2f} s",
            f"{fit / bare:.2f} (< 2)",
        )
    table.caption = (
        f"wanted in brackets; * measured on {LOOP_EPISODES} of {EPISODES} demonstrations, scaled up"
    )
    return table


def _pairs(lifting: PaperPolynomial, demonstrations: list[Trajectory]) -> tuple[Array, Array]:
    lifted = [lifting.lift(each.states) for each in demonstrations]
    now = np.concatenate([each[:-1] for each in lifted])
    return now, np.concatenate([each[1:] for each in lifted])


def _bare_fit(now: Array, after: Array) -> Array:
    return np.asarray((after.T @ now) @ linalg.pinv(now.T @ now))


def plain_loop(demonstrations: list[Trajectory]) -> tuple[Array, Array]:
    """Return G and A the plain way: observable by observable, state by state."""
    robot = len(demonstrations[0].layout.robot)
    size = len(_lift_plainly(demonstrations[0].states[0], robot))
    gram, cross = np.zeros((size, size)), np.zeros((size, size))
    for trajectory in demonstrations:
        weight = len(demonstrations) * (len(trajectory) - 1)
        for t in range(len(trajectory) - 1):
            now = _lift_plainly(trajectory.states[t], robot)
            after = _lift_plainly(trajectory.states[t + 1], robot)
            gram += np.outer(now, now) / weight
            cross += np.outer(after, now) / weight
    return gram, cross


def _lift_plainly(state: Array, robot: int) -> Array:
    """Return Set 3 of one state, in the order of the paper's code."""
    x, y = state[:robot], state[robot:]
    values = [*x, *x**2, *y, *y**2]
    values += [y[i] * y[j] for i in range(len(y)) for j in range(i + 1, len(y))]
    values += [x[i] * x[j] for i in range(len(x)) for j in range(i + 1, len(x))]
    values += [*x**3]
    values += [y[i] ** 2 * y[j] for i in range(len(y)) for j in range(len(y))]
    return np.array(values)


def _left_out() -> Table:
    """Compare the operator without an episode, corrected, with one that is solved again."""
    table = Table(title="The operator of Set 3 without one of 200 demonstrations, by a ridge")
    for name in ("task", "p", "kodex", "solved again", "of it"):
        table.add_column(name)
    ridge = Ridge(1e-6)
    for task in SIZES:
        demonstrations = made_demonstrations(task)
        lifting = PaperPolynomial(demonstrations[0].layout, number=3)
        moments = TransitionMoments.of(lifting, (each.states for each in demonstrations))
        fitted, lifted = ridge.solve(moments.equations), lifting.lift(demonstrations[0].states)
        part = TransitionMoments.of(lifting, [demonstrations[0].states])
        corrected, again = best_times(
            [
                partial(left_out_operator, moments.equations, ridge, lifted, 1 / EPISODES, fitted),
                partial(_solved_without, moments, part, ridge),
            ]
        )
        table.add_row(
            task,
            str(len(fitted)),
            f"{1e3 * corrected:.0f} ms",
            f"{1e3 * again:.0f} ms",
            f"1/{again / corrected:.0f} (< 1/4)",
        )
    table.caption = "wanted in brackets"
    return table


def _solved_without(moments: TransitionMoments, part: TransitionMoments, ridge: Ridge) -> Array:
    return ridge.solve((moments - part).equations)


def _stream() -> Table:
    """Fit a million transitions as a stream, in a process of its own to see its memory."""
    with get_context("spawn").Pool(1) as pool:
        rows, above, size = pool.apply(stream_a_million)
    table = Table(title="Streaming at p = 759 (relocation)")
    for name in ("transitions", "seconds", "processor seconds", "µs of it a transition"):
        table.add_column(name)
    for transitions, seconds, busy in rows:
        table.add_row(
            f"{transitions:,}", f"{seconds:.1f}", f"{busy:.1f}", f"{1e6 * busy / transitions:.1f}"
        )
    table.caption = (
        f"with the solution, p = {size}; peak memory {above:.0f} MiB above the process with its "
        "data (wanted < 1024)"
    )
    return table


def stream_a_million() -> tuple[list[tuple[int, float, float]], float, int]:
    """Return (transitions, seconds, processor seconds), MiB above what was in use before, and p."""
    demonstrations = made_demonstrations("relocation")
    lifting = PaperPolynomial(demonstrations[0].layout, number=3)
    before = peak_memory()
    episodes: Iterator[Array] = (each.states for each in cycle(demonstrations))
    moments = TransitionMoments.none(lifting)
    rows = []
    begun, begun_busy = time.perf_counter(), time.process_time()
    for wanted in STREAMED:
        missing = -(-(wanted - moments.transitions) // (len(demonstrations[0]) - 1))
        moments = moments + TransitionMoments.of(lifting, islice(episodes, missing))
        seconds, busy = time.perf_counter() - begun, time.process_time() - begun_busy
        rows.append((moments.transitions, seconds, busy))
    KoopmanLearner().fit_moments(lifting, moments)
    return rows, peak_memory() - before, len(moments.gram)


def _steps() -> Table:
    """Time one reference of one episode, and whole references of many."""
    demonstrations = made_demonstrations("tool")
    dynamics = KoopmanLearner().fit(demonstrations)
    first = demonstrations[0].states[:1]
    begun = time.perf_counter()
    dynamics.predict(first, 100)
    prepare = time.perf_counter() - begun
    median, worst = _step_times(dynamics, first)
    starts = np.stack([each.states[0] for each in demonstrations])
    many = np.repeat(starts, 50, axis=0)
    (whole,) = best_times([lambda: dynamics.predict(many, 100)])
    table = Table(title="References at p = 763 (tool)")
    table.add_column("what")
    table.add_column("time")
    table.add_row("one step of one episode, median", f"{median:.1f} µs (wanted < 100)")
    table.add_row("one step of one episode, 99th of 100", f"{worst:.1f} µs")
    table.add_row("multiplying out the rows for 100 states, once", f"{1e3 * prepare:.0f} ms")
    table.add_row(f"100 states for {len(many):,} starts", f"{1e3 * whole:.0f} ms")
    return table


def _step_times(dynamics: KoopmanDynamics, first: Array) -> tuple[float, float]:
    times = []
    for _ in range(20):
        memory = dynamics.begin(first)
        for _ in range(99):
            begun = time.perf_counter()
            _, memory = dynamics.step(memory, first)
            times.append(1e6 * (time.perf_counter() - begun))
    return float(np.median(times)), float(np.quantile(times, 0.99))


if __name__ == "__main__":
    main()
