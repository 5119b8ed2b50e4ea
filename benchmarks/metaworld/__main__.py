"""Learn and evaluate in Meta-World: `python -m benchmarks.metaworld --help`.

Every task has one results file, which is added to, so an interrupted run resumes and a method can
be evaluated again by itself.
"""

import json
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from benchmarks.metaworld.methods import METHODS
from benchmarks.metaworld.page import write_page
from benchmarks.metaworld.world import MT10, UNSEEN, World
from kodex.least_squares import one_blas_thread

RESULTS = Path("docs/results/metaworld")


@dataclass(frozen=True)
class Options:
    """What is to be measured."""

    tasks: tuple[str, ...] = MT10
    methods: tuple[str, ...] = tuple(METHODS)
    demonstrations: tuple[int, ...] = (10, 25)  # in all: nothing is kept back for validation
    starts: int = 50
    results: Path = field(default=RESULTS)
    again: bool = False  # measure what has results already


def main(options: Options) -> None:
    console = Console()
    warnings.filterwarnings("ignore", module="sklearn")  # 300 epochs, converged or not
    for name in options.tasks:
        world, file = World(name), options.results / f"{name}.json"
        cells: dict[str, Any] = json.loads(file.read_text())["cells"] if file.exists() else {}
        wanted = [
            (method, count)
            for method in options.methods
            for count in options.demonstrations
            if options.again or f"{method}-{count}" not in cells
        ]
        shown = world.demonstrations(max(options.demonstrations)) if wanted else []
        for method, count in wanted:
            cell = measured(world, method, shown[:count], options.starts)
            cells[f"{method}-{count}"] = cell
            write(file, {"task": name, "starts_seed": UNSEEN, "cells": dict(sorted(cells.items()))})
            console.print(
                f"{name} {method}-{count}: {sum(cell['succeeded'])} of {options.starts}, "
                f"learned in {cell['learning_seconds']} s"
            )
    write_page(options.results)


def measured(world: World, method: str, shown: Any, starts: int) -> dict[str, Any]:
    """Return which starts succeeded, and the processor's seconds of learning."""
    with one_blas_thread():
        begun = time.process_time()
        begin = METHODS[method](shown)
        seconds = time.process_time() - begun
        succeeded = [each.succeeded for each in world.episodes(UNSEEN, begin, count=starts)]
    return {"succeeded": [int(each) for each in succeeded], "learning_seconds": round(seconds, 2)}


def write(file: Path, content: dict[str, Any]) -> None:
    """Exchange the file in one step, so that it is whole whenever somebody stops this."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(content) + "\n")
    fresh.replace(file)


if __name__ == "__main__":
    main(tyro.cli(Options))
