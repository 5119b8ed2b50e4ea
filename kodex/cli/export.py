"""`kodex export`: a policy for where there is no Python."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from kodex.cli.terminal import say
from kodex.errors import InputError
from kodex.export import program_of, samples_of
from kodex.export.program import Program
from kodex.export.samples import Precision, Samples, refuse_above, tolerance
from kodex.policies import load, policy_folder
from kodex.storage import check_output, new_file, read_header


def export(
    policies: Annotated[tuple[Path, ...], tyro.conf.Positional],
    to: Literal["c", "onnx", "web"],
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    precision: Precision = "float64",
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
    from kodex.export.web import LARGEST, size_of, write_page

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


def _as_c(program: Program, samples: Samples, precision: Precision) -> tuple[bytes, str]:
    from kodex.export.c import Compiled, c_source, compiler

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


def _as_onnx(program: Program, samples: Samples, precision: Precision) -> tuple[bytes, str]:
    from kodex.export.onnx import onnx_difference, onnx_model

    model = onnx_model(program, samples, precision).SerializeToString()
    difference = onnx_difference(model, samples)
    refuse_above(difference, tolerance(samples, precision), "ONNX")
    return model, f"ONNX, which in onnxruntime {_differs(difference, samples)}"


def _differs(difference: float, samples: Samples) -> str:
    return (
        f"differs from NumPy by at most {difference:.1e}; NumPy's own rounding is "
        f"{samples.rounding:.1e}"
    )
