"""`kodex inspect`: what a learned model is like, and what to worry about."""

from pathlib import Path

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kodex.demonstrations import TrajectorySet, expect_layout, read
from kodex.koopman import (
    FitRecord,
    KoopmanDynamics,
    Mode,
    Spectrum,
    errors_by_horizon,
    load,
    modes,
    spectrum,
    worries,
)
from kodex.policies import LiftedPolicy, RemindedPolicy
from kodex.policies import load as load_policy
from kodex.policies.learners import LearnedPolicy
from kodex.storage import Stored, read_model

REMEMBERING = ("lifted", "reminded")  # types of policies whose dynamics see the start too
BAR = 40  # characters of the longest bar


def inspect(
    model: Path,
    /,
    demonstrations: Path | None = None,
    horizon: int = 100,
    top: int = 5,
) -> None:
    """Say what a learned model is, and what to worry about.

    Parameters
    ----------
    model
        Folder of a Koopman model, or of a policy that holds one.
    demonstrations
        File of demonstrations to predict, to see the error by horizon.
    horizon
        States of an episode, over which growth is judged.
    top
        How many modes and components to show.
    """
    dynamics, stored = load(model), read_model(model)
    held = None
    if demonstrations is not None:
        held = read(demonstrations)
        if stored.type in REMEMBERING:
            held = _as_seen_by(load_policy(model), held)
    values = spectrum(dynamics)
    console = Console()
    console.print(_summary(model, dynamics, _way(stored, dynamics)))
    console.print(_section("Modes of K", _spectrum(values, horizon)))
    console.print(_section("Largest modes", _modes(modes(dynamics, count=top))))
    if dynamics.record is not None:
        console.print(_section("Data", _data(dynamics.record)))
        console.print(_section("One step ahead, worst components", _fit(dynamics, top)))
        if dynamics.record.scores:
            console.print(_section("Cross-validation", _scores(dynamics.record)))
    if held is not None:
        console.print(_section("Error by horizon", _horizon(dynamics, held)))
    found = worries(dynamics, horizon, values)
    console.print(_section("What to worry about", _sentences(found)))


def _as_seen_by(policy: LearnedPolicy, demonstrations: TrajectorySet) -> TrajectorySet:
    """Return the demonstrations as the dynamics in `policy` see them: beside their start."""
    assert isinstance(policy, LiftedPolicy | RemindedPolicy)
    starts = policy.starts
    expect_layout(demonstrations.layout, starts.layout, source="the file of demonstrations")
    return TrajectorySet(map(starts.remember, demonstrations))


def _section(title: str, content: RenderableType) -> Group:
    return Group(Text(f"\n{title}", style="bold"), content)


def _rows(*rows: tuple[str, str]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    for name, value in rows:
        table.add_row(f"  {name}", value)
    return table


def _holds(stored: Stored, kind: str) -> bool:
    """Say whether something of type `kind` is in what was stored."""
    return stored.type == kind or any(_holds(part, kind) for part in stored.parts.values())


def _way(stored: Stored, dynamics: KoopmanDynamics) -> str:
    """Return how the dynamics are used to say where to go."""
    if stored.type == "lifted":
        return "one step ahead of every measured state, from which the actions come too"
    if _holds(stored, "observer"):
        return "observables that every measured state corrects"
    way = "lifts every prediction anew" if dynamics.relift else "open loop from the first state"
    if dynamics.feedback:
        way += f", pulled {dynamics.feedback:.0%} to the measured state"
    return way


def _summary(model: Path, dynamics: KoopmanDynamics, way: str) -> Group:
    layout = dynamics.layout
    return Group(
        Text(f"Koopman dynamics in {model}", style="bold"),
        _rows(
            ("state", f"{len(layout.robot)} robot + {len(layout.object)} object components"),
            ("lifting", f"{type(dynamics.lifting).__name__}, {len(dynamics.matrix)} observables"),
            ("solver", dynamics.record.solver if dynamics.record else "not recorded"),
            ("references", way),
        ),
    )


def _spectrum(values: Spectrum, horizon: int) -> Group:
    rows = _rows(
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


def _modes(shown: list[Mode]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  magnitude", "turns in", "doubles in", "observables", "moves"):
        table.add_column(name)
    for mode in shown:
        table.add_row(
            f"  {mode.magnitude:.5f}",
            "-" if np.isinf(mode.period) else f"{mode.period:.1f} steps",
            f"{mode.doubling:.0f} steps" if 0.0 < mode.doubling < 1e6 else "-",
            ", ".join(term.name for term in mode.combination[:3]),
            ", ".join(term.name for term in mode.motion[:3]) or "-",
        )
    return table


def _data(record: FitRecord) -> Table:
    observables = len(record.gram_eigenvalues)
    return _rows(
        ("demonstrations", f"{record.demonstrations:,}"),
        ("transitions", f"{record.transitions:,}"),
        ("rank of G", f"{record.rank} of {observables}"),
        ("effective rank", f"{record.effective_rank:.1f}"),
        ("condition of G", f"{record.condition:.1e}"),
    )


def _fit(dynamics: KoopmanDynamics, top: int) -> Table:
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


def _scores(record: FitRecord) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("  candidate")
    table.add_column("error of held-out references, in standard deviations")
    for name, score in record.scores.items():
        chosen = " ← chosen" if name == record.solver else ""
        table.add_row(f"  {name}", f"{score:.4g}{chosen}")
    return table


def _horizon(dynamics: KoopmanDynamics, demonstrations: TrajectorySet) -> Table:
    errors = errors_by_horizon(dynamics, demonstrations)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("  state", "error in standard deviations", ""):
        table.add_column(name)
    places = np.unique(np.linspace(0, len(errors.scaled) - 1, 11).astype(int))
    shown = np.where(np.isfinite(errors.scaled), errors.scaled, 0.0)
    top = max(float(shown[places].max()), 1e-300)
    for place in places:
        bar = "█" * round(BAR * shown[place] / top)
        table.add_row(f"  {place + 1}", f"{errors.scaled[place]:.4g}", bar)
    return table


def _sentences(found: list[str]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for sentence in found or ["Nothing that can be seen from here."]:
        table.add_row("  •" if found else " ", Text(sentence))
    return table
