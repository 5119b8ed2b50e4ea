"""A control loop at 100 Hz, and how well it keeps its time.

    python examples/real_time_loop.py POLICY [--seconds 5] [--server PATH]

Runs a policy on made-up measurements as a robot would run it, sleeping until each tick is due, and
prints how late the ticks were, how long an action took, and how many deadlines were missed. With
--server it asks a policy that `kodex serve POLICY --socket PATH` serves, over the local socket.
"""

import argparse
import gc
import time

import numpy as np

import kodex

USUAL_PERIOD = 0.01  # seconds, where the demonstrations did not say


def main() -> None:
    """Run the loop, and print its statistics."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("policy", help="the folder of a saved policy")
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--server", help="the socket of a served policy")
    given = options.parse_args()
    policy = kodex.load(given.policy)
    spec = policy.spec
    state, context = np.zeros(spec.layout.size), np.zeros(len(spec.context))

    if given.server:
        from kodex.serving.client import RemotePolicy  # needs NumPy alone

        robot = RemotePolicy(given.server)
        robot.reset(state, context)
        act = robot.act
    else:
        session = kodex.Session(policy)
        session.reset(state, dict(zip(spec.context, context, strict=True)) or None, horizon=100)
        act = session.act

    period = spec.control.time_step or USUAL_PERIOD
    late, taken = run(act, state, int(given.seconds / period), period)
    print(f"{len(late)} ticks of {1e3 * period:g} ms")
    print(f"ticks began late by    {percentiles(late)}")
    print(f"an action took         {percentiles(taken)}")
    print(f"missed deadlines       {int(np.sum(late + taken > period))}")


def run(act, state, ticks, period):
    """Return how late each tick began and how long its action took, in seconds, (ticks,)."""
    late, taken = np.empty(ticks), np.empty(ticks)
    random = np.random.default_rng(0)
    measured = state + 0.01 * random.normal(size=(ticks, len(state)))  # drawn before it counts
    gc.collect()
    gc.disable()  # a collection in the loop would be a late tick
    try:
        due = time.perf_counter() + period
        for tick in range(ticks):
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            act(measured[tick])  # clipped to its range, which a robot would now be sent
            late[tick], taken[tick] = began - due, time.perf_counter() - began
            due += period  # from the plan and not from now, so that lateness does not add up
    finally:
        gc.enable()
    return late, taken


def percentiles(seconds):
    """Return the spread of `seconds` in words."""
    median, most, worst = 1e6 * np.percentile(seconds, [50, 99, 100])
    return f"{median:6.0f} µs in the median, {most:6.0f} at 99 %, {worst:6.0f} at most"


if __name__ == "__main__":
    main()
