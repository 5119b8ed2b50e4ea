"""`kodex inspect`: what a learned model is, what K does for it, and what to worry about."""

from pathlib import Path
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from kodex.cli.operator_tables import (
    belief_table,
    data_table,
    fit_table,
    horizon_table,
    invariance_table,
    mode_table,
    named,
    residual_table,
    score_table,
    section,
    sentences,
    spectrum_table,
)
from kodex.cli.terminal import console
from kodex.demonstrations import TrajectorySet, expect_layout, read
from kodex.errors import printable
from kodex.interfaces import LearnedPolicy
from kodex.koopman import (
    KoopmanDynamics,
    TransitionMoments,
    eigenpair_residuals,
    invariance,
    load,
    modes,
    spectrum,
    worries,
)
from kodex.policies import load as load_policy
from kodex.policies.diagnostics import OperatorRole, believed_shares, operator_role
from kodex.policies.files import POLICIES, policy_folder
from kodex.policies.parts import dynamics_of, part_of
from kodex.storage import read_header, read_model

ALONE = OperatorRole(False, "These are dynamics by themselves: K predicts, and nothing acts.")


class Shown(NamedTuple):
    """Demonstrations that a model is tried on, as its dynamics observe them."""

    trajectories: TrajectorySet
    called: str


def inspect(
    model: Path,
    /,
    demonstrations: Path | None = None,
    horizon: int = 100,
    top: int = 5,
) -> None:
    """Show what a learned model is, what K does for it, and what to worry about.

    Args:
        model: folder of a policy, of Koopman dynamics, or of a run, whose validation demonstrations
            then show errors out of sample
        demonstrations: file of demonstrations to predict: errors by horizon, residuals of modes,
            and how far the observables are from closing under one step; they are out of sample if
            the model has not learned from them
        horizon: states of an episode, over which growth is measured
        top: how many modes and components to show
    """
    folder = policy_folder(model)
    policy = load_policy(folder) if read_model(folder).type in POLICIES else None
    dynamics = load(folder) if policy is None else dynamics_of(policy)
    role = ALONE if policy is None else operator_role(policy)
    shown = _shown(model, folder, demonstrations, policy)
    out = console()
    out.print(_summary(folder, policy, dynamics))
    out.print(section("What K does for it", sentences([role.sentence])))
    if role.facts:
        out.print(named(*role.facts))
    if dynamics is None:
        return
    moments = None
    if shown is not None:
        moments = TransitionMoments.with_actions(dynamics.lifting, shown.trajectories, None)
    values = spectrum(dynamics)
    residuals = None if moments is None else eigenpair_residuals(dynamics.matrix, moments)
    out.print(section("Modes of K", spectrum_table(values, horizon)))
    upper = None if residuals is None else residuals.residuals[residuals.values.imag >= 0.0]
    out.print(section("Largest modes", mode_table(modes(dynamics, count=top), upper)))
    if dynamics.record is not None:
        out.print(section("Data", data_table(dynamics.record)))
        out.print(section("One step ahead, worst components", fit_table(dynamics, top)))
        if dynamics.record.scores:
            out.print(section("Cross-validation", score_table(dynamics.record)))
    if shown is not None and moments is not None and residuals is not None:
        on = f"on {shown.called}"
        out.print(section(f"Error by horizon, {on}", horizon_table(dynamics, shown.trajectories)))
        out.print(section(f"Eigenpairs (ResDMD), {on}", residual_table(residuals)))
        closed = invariance(dynamics.matrix, moments)
        title = f"Observables that one step leads out of their span, {on}"
        out.print(section(title, invariance_table(dynamics, closed, top)))
        shares = None if policy is None else believed_shares(policy, shown.trajectories)
        if shares is not None:
            title = f"How much of an innovation is believed, {on}"
            out.print(section(title, belief_table(dynamics.layout, shares, top)))
    found = worries(dynamics, horizon, values)
    if shown is None:
        found.append("Nothing was seen out of sample: --demonstrations FILE shows it.")
    out.print(section("What to worry about", sentences(found)))


def _shown(
    model: Path, folder: Path, demonstrations: Path | None, policy: LearnedPolicy | None
) -> Shown | None:
    """Return what to try the model on: the given file, or what a run kept for validation."""
    recorded = model / "demonstrations.h5"
    if demonstrations is not None:
        found, called = read(demonstrations), str(demonstrations)
    elif folder != model and recorded.is_file():
        found, called = read(recorded), "the demonstrations of the run, which it learned from"
        counts = read_header(folder).get("provenance", {}).get("counts", {})
        first, count = counts.get("training", 0), counts.get("validation", 0)
        if count and len(found) == first + count:
            found, called = found[first:], f"{count} validation demonstrations of the run"
    else:
        return None
    context = None if policy is None else part_of(policy, "context")
    if context is not None:
        expect_layout(found.layout, context.layout, source="the file of demonstrations")
        found = TrajectorySet(map(context.augmented, found))
    return Shown(found, called)


def _summary(folder: Path, policy: LearnedPolicy | None, dynamics: KoopmanDynamics | None) -> Group:
    what = "Koopman dynamics" if policy is None else "A policy"
    rows = []
    if policy is not None:
        rows.append(("policy", repr(policy)))
    if dynamics is not None:
        layout = dynamics.layout
        rows += [
            ("state", f"{len(layout.robot)} robot + {len(layout.object)} object components"),
            ("lifting", f"{type(dynamics.lifting).__name__}, {len(dynamics.matrix)} observables"),
            ("solver", dynamics.record.solver if dynamics.record else "not recorded"),
        ]
    return Group(Text(printable(f"{what} in {folder}"), style="bold"), named(*rows))
