"""Checkers for parts that others write: what every policy, lifting, controller and task must do.

    from kodex.testing import check_policy
    check_policy(my_policy, demonstrations)

Call them in your own tests. They raise `AssertionError` with what was expected; kodex's own parts
are tested with them too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Controller, Lifting, Policy, Storable
from kodex.trajectory import Array, Starts, Trajectory
from kodex.world import Simulation, World

READINGS = ("state", "observation", "progress", "reward")


def check_policy(policy: Policy, episodes: Sequence[Trajectory]) -> None:
    """Assert that `policy` keeps the contract of `kodex.interfaces.Policy` along `episodes`.

    The episodes are of the policy's layout, of equal length, and have the context that it needs.
    """
    assert isinstance(policy, Policy), f"{policy!r} lacks a part of kodex.interfaces.Policy"
    spec = policy.spec
    states = np.stack([each.states for each in episodes])
    context = _context(spec.context, episodes)
    together = _actions(policy, states, context)
    _check_shapes(policy, states, context)
    for number in range(len(episodes)):
        one = slice(number, number + 1)
        alone = _actions(policy, states[one], None if context is None else context[one])
        np.testing.assert_allclose(
            alone[0],
            together[number],
            rtol=1e-6,
            atol=1e-6,  # networks in single precision round by the size of the batch
            err_msg="an episode must not depend on those beside it",
        )
    np.testing.assert_array_equal(
        _actions(policy, states, context),
        together,
        err_msg="the memory must not be kept inside the policy",
    )
    if spec.context:
        _assert_refuses(
            lambda: policy.begin(states[:, 0]), "a policy must refuse to begin without its context"
        )
    _assert_refuses(
        lambda: policy.step(policy.begin(states[:, 0], context), states[:, 0, :-1]),
        "a policy must refuse an observation of another size",
    )


def check_lifting(lifting: Lifting, states: Array) -> None:
    """Assert that `lifting` keeps the contract of `kodex.interfaces.Lifting` at `states`, (m, n).

    A lifting with a window looks at so many consecutive rows of them.
    """
    assert isinstance(lifting, Lifting), f"{lifting!r} lacks a part of kodex.interfaces.Lifting"
    names, size = lifting.names, lifting.layout.size
    assert len(set(names)) == len(names), "every observable needs a name of its own"
    windows = len(states) - lifting.window + 1
    assert windows > 1, f"a window of {lifting.window} needs more states; found {len(states)}"
    rows = np.stack([states[at : at + lifting.window].ravel() for at in range(windows)])
    kept = rows.copy()
    together = lifting.lift(rows)
    assert together.shape == (windows, len(names)), "lift gives (..., p), one number per name"
    assert together.dtype == np.float64, f"observables are float64; found {together.dtype}"
    np.testing.assert_array_equal(rows, kept, err_msg="lift must leave its argument alone")
    np.testing.assert_allclose(
        [lifting.lift(row) for row in rows],
        together,
        rtol=1e-9,
        atol=1e-9,
        err_msg="a state must be lifted alike, alone and beside others",
    )
    assert lifting.lift(rows[:, None]).shape == (windows, 1, len(names)), "any leading axes"
    np.testing.assert_allclose(
        together @ lifting.recovery.T + lifting.offset,
        rows[:, -size:],
        rtol=1e-9,
        atol=1e-9,
        err_msg="recovery @ z + offset must be the newest state",
    )
    wrong = np.zeros((3, rows.shape[1] + 1))
    _assert_refuses(lambda: lifting.lift(wrong), "a lifting must refuse states of another size")
    again = _restored(lifting)
    assert again.names == names, "names must survive being stored"
    np.testing.assert_array_equal(
        again.lift(rows), together, err_msg="a stored lifting must come back bit for bit"
    )


def check_controller(controller: Controller, episodes: Sequence[Trajectory]) -> None:
    """Assert that `controller` keeps the contract of `kodex.interfaces.Controller`.

    Its joints are those of `episodes`.
    """
    assert isinstance(controller, Controller), (
        f"{controller!r} lacks a part of kodex.interfaces.Controller"
    )
    joints = np.concatenate([each.robot[:-1] for each in episodes])
    ahead = np.concatenate([each.robot[1:] for each in episodes])
    kept = joints.copy(), ahead.copy()
    together = controller.act(joints, ahead)
    expected = (len(joints), controller.action_size)
    assert together.shape == expected, f"actions must be {expected}; found {together.shape}"
    assert np.isfinite(together).all(), "actions along demonstrations must be finite"
    np.testing.assert_array_equal((joints, ahead), kept, err_msg="act must leave its arguments be")
    some = slice(0, min(len(joints), 20))
    np.testing.assert_allclose(
        [controller.act(*pair) for pair in zip(joints[some], ahead[some], strict=True)],
        together[some],
        rtol=1e-4,
        atol=1e-5,
        err_msg="an episode must not depend on those beside it",
    )
    np.testing.assert_allclose(
        controller.act(joints[some], ahead[0]),
        controller.act(joints[some], np.broadcast_to(ahead[0], joints[some].shape)),
        rtol=1e-4,
        atol=1e-5,
        err_msg="leading axes must broadcast",
    )
    _assert_refuses(
        lambda: controller.act(joints[:, :-1], ahead[:, :-1]),
        "a controller must refuse joints of another number",
    )
    np.testing.assert_array_equal(
        _restored(controller).act(joints, ahead),
        together,
        err_msg="a stored controller must come back bit for bit",
    )


def check_task(world: World, *, steps: int = 5, seed: int = 0) -> None:
    """Assert that `world`, a task or an environment, keeps the contract of `kodex.world.World`."""
    assert isinstance(world, World), f"{world!r} lacks a part of kodex.world.World"
    count = min(3, world.largest_batch or 3)
    starts = world.starts("in", count=count, seed=seed)
    _check_starts(world, starts, seed)
    limits = world.control.action_range
    if limits is not None:
        limits.check(world.action_size)
    random = np.random.default_rng(seed)
    actions = random.uniform(-1.0, 1.0, (steps, count, world.action_size))
    together = world.simulation(count, threads=1)
    seen = _simulated(world, together, starts, actions)
    sizes = {"state": (count, world.layout.size), "progress": (count,), "reward": (count,)}
    for name, expected in sizes.items():
        found = np.shape(seen[name][0])
        assert found == expected, f"{name} must be {expected}; found {found}"
        assert np.isfinite(seen[name]).all(), f"{name} must be finite numbers"
    succeeded = np.asarray(world.succeeded(np.stack(seen["progress"], axis=-1)))
    assert succeeded.shape == (count,), "`succeeded` maps progress (..., T) to (...)"
    assert succeeded.dtype == np.bool_, "`succeeded` returns truth values"
    _assert_alike(
        seen, _simulated(world, together, starts, actions), "a reset must forget all that was"
    )
    if count > 1:
        alone = _simulated(world, world.simulation(1, threads=1), starts[1:2], actions[:, 1:2])
        of_one = {name: [row[1:2] for row in rows] for name, rows in seen.items()}
        _assert_alike(of_one, alone, "an episode must not depend on those beside it")
    wrong = np.zeros((count, world.action_size + 1))
    _assert_refuses(
        lambda: together.step(wrong, physics_steps=world.substeps),
        "a simulation must refuse actions of another size",
    )


def _check_starts(world: World, starts: Starts, seed: int) -> None:
    count = len(starts)
    assert starts.task == world.name, f"starts must be of {world.name!r}; found {starts.task!r}"
    more = world.starts("in", count=count + 2, seed=seed)
    np.testing.assert_array_equal(
        more.values[:count], starts.values, err_msg="more starts must begin with the same"
    )
    other = world.starts("in", count=count, seed=seed + 1)
    assert starts.values.size == 0 or not np.array_equal(other.values, starts.values), (
        "another seed must give other starts"
    )


def _simulated(
    world: World, simulation: Simulation, starts: Starts, actions: Array
) -> dict[str, list[Array]]:
    """Return what is read at the start and after each of `actions`, (steps, episodes, m)."""
    simulation.reset(starts)
    seen: dict[str, list[Array]] = {name: [getattr(simulation, name)()] for name in READINGS}
    for taken in actions:
        simulation.step(taken, physics_steps=world.substeps)
        for name in READINGS:
            seen[name].append(getattr(simulation, name)())
    return seen


def _assert_alike(first: dict[str, list[Array]], second: dict[str, list[Array]], why: str) -> None:
    for name, rows in first.items():
        np.testing.assert_array_equal(np.stack(rows), np.stack(second[name]), err_msg=why)


def _check_shapes(policy: Policy, states: Array, context: Array | None) -> None:
    spec, first = policy.spec, states[:, 0]
    step = policy.step(policy.begin(first, context), first)
    expected = (len(first), spec.action_size)
    assert step.actions.shape == expected, f"actions must be {expected}, not {step.actions.shape}"
    assert spec.reference == (step.reference is not None), "spec.reference must match `step`"
    if not spec.reference:
        _assert_refuses(
            lambda: policy.predict(first, 3, context),
            "a policy without a reference must refuse to predict",
        )
        return
    assert step.reference is not None
    assert step.reference.shape == first.shape, "a reference is a state of each episode"
    predicted = policy.predict(first, 4, context)
    assert predicted.shape == (len(first), 4, first.shape[1]), "predict gives (..., horizon, n)"
    np.testing.assert_allclose(
        predicted[:, 0], first, rtol=1e-9, atol=1e-12, err_msg="row 0 is the first state"
    )


def _actions(policy: Policy, states: Array, context: Array | None) -> Array:
    """Return the actions along measured `states`, (episodes, steps, n) -> (episodes, steps, m)."""
    memory, taken = policy.begin(states[:, 0], context), []
    for step in range(states.shape[1] - 1):
        found = policy.step(memory, states[:, step].copy())
        memory = found.memory
        taken.append(found.actions)
    return np.stack(taken, axis=1)


def _context(names: tuple[str, ...], episodes: Sequence[Trajectory]) -> Array | None:
    if not names:
        return None
    return np.array([[each.context[name] for name in names] for each in episodes])


def _restored(part: Storable) -> Any:
    return type(part).restore(part.stored())


def _assert_refuses(call: Callable[[], object], sentence: str) -> None:
    try:
        call()
    except InputError:
        return
    raise AssertionError(f"{sentence}, with an InputError")
