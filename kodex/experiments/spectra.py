"""The operators of a study: how many observables, and how large their eigenvalues are."""

from collections.abc import Sequence
from pathlib import Path

from kodex.experiments.cells import Cell
from kodex.experiments.study_pictures import write_picture
from kodex.experiments.study_results import tasks_of
from kodex.koopman import KoopmanDynamics, Spectrum, spectrum
from kodex.policies import TrackingPolicy, load


def write_spectra(cells: Sequence[Cell], folder: Path) -> str:
    """Draw `TASK-ROW-spectrum.png` for every operator, and return their table as Markdown."""
    from kodex.reports.drawing import png  # late: matplotlib
    from kodex.reports.dynamics_plots import eigenvalue_histogram

    found: dict[tuple[str, str], Spectrum] = {}
    for cell in cells:
        place = folder / cell.place / "policy"
        policy = load(place) if cell.seed == 0 and place.exists() else None
        if isinstance(policy, TrackingPolicy) and isinstance(policy.dynamics, KoopmanDynamics):
            values = found[cell.row, cell.task] = spectrum(policy.dynamics)
            path = folder / f"{cell.task}-{cell.row}-spectrum.png"
            write_picture(png(eigenvalue_histogram(values)), path)
    tasks = tasks_of(cells)
    lines = ["", "### Operators: observables, and the largest magnitude of an eigenvalue", ""]
    lines += [f"| | {' | '.join(tasks)} |", f"| --- |{' ---: |' * len(tasks)}"]
    for row in dict.fromkeys(row for row, _ in found):
        shown = [_shown(found.get((row, task))) for task in tasks]
        lines.append(f"| `{row}` | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _shown(values: Spectrum | None) -> str:
    return "" if values is None else f"{len(values.values)}; {values.radius:.5f}"
