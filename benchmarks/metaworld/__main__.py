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
from benchmarks.metaworld.page import FORMAT, check_page, read, write_page
from benchmarks.metaworld.world import DRAWS, MT10, World
from kodex.least_squares import one_blas_thread
from kodex.storage import new_file

RESULTS = Path("docs/results/metaworld")


@dataclass(frozen=True)
class Options:
    """What is to be measured."""

    tasks: tuple[str, ...] = MT10
    methods: tuple[str, ...] = tuple(METHODS)
    demonstrations: tuple[int, ...] = (10, 25)  # in all: nothing is kept back for validation
    draws: tuple[int, ...] = tuple(range(len(DRAWS)))  # each with starts of its own
    starts: int = 50
    results: Path = field(default=RESULTS)
    again: bool = False  # measure what has results already


def main(options: Options) -> None:
    console = Console()
    check_page(options.results)
    warnings.filterwarnings("ignore", module="sklearn")  # 300 epochs, converged or not
    for draw in options.draws:
        shown_seed, unseen_seed = DRAWS[draw]
        for name in options.tasks:
            world, file = World(name), options.results / f"{name}.json"
            found: dict[str, Any] = {"format": FORMAT, "version": 1, "task": name, "draws": {}}
            if file.exists():
                found = read(file)
            cells = found["draws"].setdefault(str(draw), {})
            wanted = [
                (method, count)
                for method in options.methods
                for count in options.demonstrations
                if options.again or f"{method}-{count}" not in cells
            ]
            most = max(options.demonstrations)
            shown = world.demonstrations(most, shown_seed) if wanted else []
            for method, count in wanted:
                cell = measured(world, method, shown[:count], unseen_seed, options.starts)
                cells[f"{method}-{count}"] = cell
                write(file, found)
                console.print(
                    f"{name} {method}-{count}: {sum(cell['succeeded'])} of {options.starts}, "
                    f"learned in {cell['learning_seconds']} s (draw {draw})"
                )
    write_page(options.results)


def measured(world: World, method: str, shown: Any, seed: int, starts: int) -> dict[str, Any]:
    """Return which starts succeeded, and the processor's seconds of learning."""
    with one_blas_thread():
        begun = time.process_time()
        begin = METHODS[method](shown)
        seconds = time.process_time() - begun
        succeeded = [each.succeeded for each in world.episodes(seed, begin, count=starts)]
    return {"succeeded": [int(each) for each in succeeded], "learning_seconds": round(seconds, 2)}


def write(file: Path, content: dict[str, Any]) -> None:
    """Exchange the file in one step, so that it is whole whenever somebody stops this."""
    with new_file(file, replace=True) as fresh:
        fresh.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options))
