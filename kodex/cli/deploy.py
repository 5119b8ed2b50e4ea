"""A policy at work: `kodex play` it live, `kodex export` it, `kodex serve` it to a robot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kodex.cli.terminal import say
from kodex.errors import InputError

if TYPE_CHECKING:
    from kodex.export import Program, Samples
    from kodex.export.samples import Precision


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
        task: tool, door, relocation or reorientation, or module:TASK of your own; else what the
            first policy was learned for
        variation: a physical variation to begin with, such as heavy-object
        seed: seed of the starts
        window: open a window instead of serving a page; needs a display
        host: the address to listen on; any but the loopback address lets others connect
        port: port of the page; 0 for any that is free
        browser: open the page in the browser of this machine
    """
    from kodex.experiments.named import EXPERT, named_policy
    from kodex.play import play as play_live
    from kodex.policies import load
    from kodex.tasks import TASKS
    from kodex.tasks import task as task_named

    if not policies:
        raise InputError("name what to play: the folder of a policy or of a run, or expert")
    if task is None:
        if policies[0] == EXPERT:
            raise InputError("there is an expert for every task: say which with --task")
        task = load(policies[0]).spec.task
        if task not in TASKS:
            learned_for = "none" if task is None else repr(task)
            raise InputError(
                f"play shows tasks that kodex simulates ({', '.join(TASKS)}), and {policies[0]} "
                f"was learned for {learned_for}: name one of your own, --task module:TASK; kodex "
                f"report {policies[0]} --demonstrations FILE shows a policy of own data"
            )
    world = task_named(task, variation)
    found = [(name, named_policy(name, world).policy) for name in policies]
    play_live(world, found, seed=seed, window=window, host=host, port=port, browser=browser)


def export(
    policies: Annotated[tuple[Path, ...], tyro.conf.Positional],
    to: Literal["c", "onnx", "web"],
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    precision: Literal["float64", "float32"] = "float64",
    replace: bool = False,
) -> None:
    """Export a policy to C, ONNX or a web page, and check that it acts alike there.

    Args:
        policies: the folder of a saved policy or of a run; a page can show several
        to: c is one C99 file without dependencies, onnx a graph with its memory in and
            out, web a static page that simulates the task in a browser
        output: where to write it, else TASK.c, TASK.onnx or the folder TASK-page here
        precision: precision of the numbers; float32 halves the size and differs by about 1e-6
        replace: replace the output if it exists
    """
    from kodex.export import program_of, samples_of
    from kodex.policies import load
    from kodex.storage import check_output, new_file

    if to == "web":
        _write_web(policies, output, replace)
        return
    if len(policies) != 1:
        raise InputError(f"{to} holds one policy; found {len(policies)}: export them one by one")
    learned = load(policies[0])
    program = program_of(learned)
    path = Path(f"{program.name}.{to}") if output is None else output
    check_output(path, replace=replace, kind={"c": "C program", "onnx": "ONNX model"}[to])
    made = {"c": _as_c, "onnx": _as_onnx}[to]
    content, what = made(program, samples_of(learned), precision)
    with new_file(path, replace=replace) as fresh:
        fresh.write_bytes(content)
    say(f"{path}: {path.stat().st_size / 1e6:.2f} MB of {what}")


def _write_web(policies: tuple[Path, ...], output: Path | None, replace: bool) -> None:
    from kodex.export import program_of
    from kodex.export.web import LARGEST, size_of, write_page
    from kodex.policies import load, policy_folder
    from kodex.storage import read_header

    folders = [policy_folder(each) for each in policies]
    learned = [
        (load(each), str(read_header(each)["provenance"].get("recipe", "unknown")))
        for each in folders
    ]
    names = [program_of(policy).name for policy, _ in learned]
    if len(set(names)) < len(names):
        raise InputError("a page shows one policy for each task; found two of the same task")
    folder = Path(f"{'-'.join(names)}-page") if output is None else output
    agreements = write_page(learned, folder, replace=replace)
    for name, agreement in agreements.items():
        if agreement is None:
            say(f"{name}: not compared with Python, as there is no Node here")
        else:
            say(
                f"{name}: the outcome is as in Python from {agreement.same} of "
                f"{agreement.episodes} starts, with a median difference of "
                f"{agreement.median_difference:.1e}, and from {agreement.same_model} if Python "
                f"simulates the page's model; {agreement.times_real_time:.1f} times real time"
            )
    size = size_of(folder)
    note = "" if size < LARGEST * len(names) else ", which is large: use the default recipe"
    say(f"{folder}: {size / 1e6:.1f} MB{note}; python -m http.server -b 127.0.0.1 -d {folder}")


def _as_c(program: "Program", samples: "Samples", precision: "Precision") -> tuple[bytes, str]:
    from kodex.export.c import Compiled, c_source, compiler
    from kodex.export.samples import refuse_above, tolerance

    source = c_source(program, samples, precision)
    difference = None
    if compiler() is not None:
        difference = Compiled(source, program, precision).difference(samples)
        refuse_above(difference, tolerance(samples, precision), "C")
        source = c_source(program, samples, precision, difference)
    if difference is None:
        what = "C99, not checked as there is no C compiler here: call its self_test"
    else:
        what = f"C99, which {_differs(difference, samples)}"
    return source.encode(), what


def _as_onnx(program: "Program", samples: "Samples", precision: "Precision") -> tuple[bytes, str]:
    from kodex.export.onnx import onnx_difference, onnx_model
    from kodex.export.samples import refuse_above, tolerance

    model = onnx_model(program, samples, precision).SerializeToString()
    difference = onnx_difference(model, samples)
    refuse_above(difference, tolerance(samples, precision), "ONNX")
    return model, f"ONNX, which in onnxruntime {_differs(difference, samples)}"


def _differs(difference: float, samples: "Samples") -> str:
    return (
        f"differs from NumPy by at most {difference:.1e}; NumPy's own rounding is "
        f"{samples.rounding:.1e}"
    )


def serve(
    policy: Annotated[Path, tyro.conf.Positional],
    socket: Path | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
    deadline: float | None = None,
) -> None:
    """Serve a policy to robots over a local socket until Ctrl-C.

    Args:
        policy: the folder of a saved policy, or of a run
        socket: the path of a local socket to listen on; else kodex.sock here
        port: listen on this port instead; 0 for any that is free
        host: the address of the port; any but the loopback address lets others connect
        deadline: milliseconds for an action, else the time step; misses are counted
    """
    from kodex.policies import load
    from kodex.serving.server import Server

    if socket is not None and port is not None:
        raise InputError("listen on a socket or on a port, not on both")
    address = (socket or Path("kodex.sock")) if port is None else (host, port)
    server = Server(load(policy), address, None if deadline is None else deadline / 1e3)
    shown = address if server.port is None else f"{host}:{server.port}"
    say(f"serving {policy} at {shown}; stop with Ctrl-C")
    if port is not None and host != "127.0.0.1":
        say(f"warning: there is no password, and whoever can reach {host} can connect")
    try:
        server.run()
    except KeyboardInterrupt:
        server.close()
    say(server.statistics.sentence(server.deadline))
