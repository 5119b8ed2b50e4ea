"""`kodex play`: the policy, live."""

from typing import Annotated

import tyro


def play(
    policies: Annotated[tuple[str, ...], tyro.conf.Positional],
    task: str | None = None,
    variation: str | None = None,
    seed: int = 7,
    window: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
) -> None:
    """Watch a policy act in real time, push what it handles, and spoil its sensors.

    Args:
        policies: folders of policies or runs, or expert; several can be switched between
        task: tool, door, relocation or reorientation; else what the first policy was learned for
        variation: a physical variation to begin with, such as heavy-object
        seed: seed of the starts
        window: open a window instead of serving a page; needs a display
        host: the address to listen on; any but the loopback address lets others connect
        port: port of the page; 0 for any that is free
        browser: open the page in the browser of this machine
    """
    from kodex.errors import InputError
    from kodex.experiments.named import EXPERT, named_policy
    from kodex.play import play as play_live
    from kodex.policies import load
    from kodex.tasks import task as task_named

    if not policies:
        raise InputError("name what to play: the folder of a policy or of a run, or expert")
    if task is None:
        if policies[0] == EXPERT:
            raise InputError("there is an expert for every task: say which with --task")
        task = load(policies[0]).spec.task
        if task is None:
            raise InputError("this policy does not know its task: say it with --task")
    world = task_named(task, variation)
    found = [(name, named_policy(name, world).policy) for name in policies]
    play_live(world, found, seed=seed, window=window, host=host, port=port, browser=browser)
