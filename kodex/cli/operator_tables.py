"""Tables about an operator and its lifting, for `kodex inspect`."""

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kodex.demonstrations import TrajectorySet
from kodex.interfaces import Array
from kodex.koopman import (
    EigenpairResiduals,
    FitRecord,
    Invariance,
    KoopmanDynamics,
    Mode,
    Spectrum,
    errors_by_horizon,
)
from kodex.trajectory import StateLayout

BAR = 40  # characters of the longest bar
RESIDUALS = (0.01, 0.1, 0.5)


def section(title: str, content: RenderableType) -> Group:
    """Return `content` under a title."""
    return Group(Text(f"\n{title}", style="bold"), content)


def named(*rows: tuple[str, str]) -> Table:
    """Return names with their values."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    for name, value in rows:
        table.add_row(f"  {name}", value)
    return table


def spectrum_table(values: Spectrum, horizon: int) -> Group:
    """Return how large the modes are, and what they grow to within `horizon` states."""
    rows = named(
        ("largest magnitude", f"{values.radius:.6g}"),
        ("above one", f"{values.growing} of {len(values.values)}"),
        ("growth", f"{values.growth(horizon):.3g} over {horizon} states"),
    )
    counts, edges = values.histogram(bins=12)
    table = Table(box=None, show_header=False, pad_edge=False)
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        bar = "█" * round(BAR * count / counts.max()) or ("▏" if count else "")
        table.add_row(f"  {low:.2f} … {high:.2f}", str(count), bar)
    return Group(rows, table)


def mode_table(shown: list[Mode], residuals: Array | None = None) -> Table:
    """Return the modes, with their residuals, (modes,), where demonstrations showed them."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    beside = () if residuals is None else ("residual",)
    for name in ("  magnitude", *beside, "turns in", "doubles in", "observables", "moves"):
        table.add_column(name)
    for number, mode in enumerate(shown):
        table.add_row(
            f"  {mode.magnitude:.5f}",
            *(() if residuals is None else (f"{residuals[number]:.2g}",)),
            "-" if np.isinf(mode.period) else f"{mode.period:.1f} steps",
            f"{mode.doubling:.0f} steps" if 0.0 < mode.doubling < 1e6 else "-",
            ", ".join(term.name for term in mode.combination[:3]),
            ", ".join(term.name for term in mode.motion[:3]) or "-",
        )
    return table


def residual_table(found: EigenpairResiduals) -> Table:
    """Return how many eigenpairs of K are those of the operator, within what error."""
    total = len(found.values)
    return named(
        *(
            (f"residual below {tolerance:g}", f"{len(found.believed(tolerance))} of {total}")
            for tolerance in RESIDUALS
        )
    )


def invariance_table(dynamics: KoopmanDynamics, found: Invariance, top: int) -> Table:
    """Return which observables leave their span in one step, the worst first."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  observable", "missed / its size", "missed / its change in a step"):
        table.add_column(name)
    for index in np.argsort(-found.unexplained, kind="stable")[:top]:
        table.add_row(
            f"  {dynamics.observables[index]}",
            f"{found.unexplained[index]:.2%}",
            f"{found.of_change[index]:.1%}",
        )
    table.add_row(
        "  median of all",
        f"{np.median(found.unexplained):.2%}",
        f"{np.median(found.of_change):.1%}",
    )
    return table


def belief_table(layout: StateLayout, shares: Array, top: int) -> Table:
    """Return how much of an innovation is believed: of robot and object, and the extremes."""
    joints = len(layout.robot)
    shown = [("robot, median", shares[:joints]), ("object, median", shares[joints:])]
    known = np.flatnonzero(np.isfinite(shares))
    order = known[np.argsort(-shares[known], kind="stable")]
    extremes = [*order[:top], *order[top:][-top:]]
    return named(
        *((name, f"{np.nanmedian(part):.0%}") for name, part in shown if np.isfinite(part).any()),
        *((layout.names[index], f"{shares[index]:.0%}") for index in extremes),
    )


def data_table(record: FitRecord) -> Table:
    """Return how much data there was, and how well it spans the observables."""
    observables = len(record.gram_eigenvalues)
    return named(
        ("demonstrations", f"{record.demonstrations:,}"),
        ("transitions", f"{record.transitions:,}"),
        ("rank of G", f"{record.rank} of {observables}"),
        ("effective rank", f"{record.effective_rank:.1f}"),
        ("condition of G", f"{record.condition:.1e}"),
    )


def fit_table(dynamics: KoopmanDynamics, top: int) -> Table:
    """Return the `top` components that K predicts worst one step ahead, in sample."""
    record = dynamics.record
    assert record is not None
    change = np.where(record.one_step_change > 0.0, record.one_step_change, np.inf)
    share = record.one_step_error / change
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  component", "error", "change in a step", "error / change"):
        table.add_column(name)
    for index in np.argsort(-share)[:top]:
        table.add_row(
            f"  {dynamics.layout.names[index]}",
            f"{record.one_step_error[index]:.3g}",
            f"{record.one_step_change[index]:.3g}",
            f"{share[index]:.1%}",
        )
    table.add_row("  median of all", "", "", f"{np.median(share):.1%}")
    return table


def score_table(record: FitRecord) -> Table:
    """Return how each candidate did on held-out demonstrations."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("  candidate")
    table.add_column("error of held-out references, in standard deviations")
    for name, score in record.scores.items():
        chosen = " ← chosen" if name == record.solver else ""
        table.add_row(f"  {name}", f"{score:.4g}{chosen}")
    return table


def horizon_table(dynamics: KoopmanDynamics, demonstrations: TrajectorySet) -> Table:
    """Return how the error of references grows with the number of steps."""
    errors = errors_by_horizon(dynamics, demonstrations)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  state", "error in standard deviations", ""):
        table.add_column(name)
    rows = np.unique(np.linspace(0, len(errors.scaled) - 1, 11).astype(int))
    shown = np.where(np.isfinite(errors.scaled), errors.scaled, 0.0)
    top = max(float(shown[rows].max()), 1e-300)
    for row in rows:
        bar = "█" * round(BAR * shown[row] / top)
        table.add_row(f"  {row + 1}", f"{errors.scaled[row]:.4g}", bar)
    return table


def sentences(found: list[str]) -> Table:
    """Return sentences as a list."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for sentence in found or ["Nothing that can be seen from here."]:
        table.add_row("  •" if found else " ", sentence)
    return table
