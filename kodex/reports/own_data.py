"""The report of a policy that was learned from somebody's own data, where no simulator is.

Nobody has let the policy act, so the page cannot say how often it succeeds. It says what the data
hold, whether the policy does what was demonstrated, what it expects, and what its monitor promises.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kodex.demonstrations import TrajectorySet, describe
from kodex.errors import InputError
from kodex.evaluation.analysis import Analysis
from kodex.interfaces import LearnedPolicy
from kodex.policies import load, monitored
from kodex.policies.diagnostics import actions_along, unexplained
from kodex.reports.figures import reference_plot
from kodex.reports.page import wording
from kodex.reports.page.dynamics_sections import reference_section, spectrum_section
from kodex.reports.page.page import cards, header, page
from kodex.reports.page.section import Markup, Picture, Section, absent, paragraph, table
from kodex.reports.page.wording import UNKNOWN
from kodex.reports.report import PAGE, write_files
from kodex.storage import read_header
from kodex.trajectory import Array, Trajectory, layout_difference

ACTIONS_SHOWN = 3


@dataclass(frozen=True)
class OwnData:
    """The demonstrations that a policy was learned from, and those it can be tried on."""

    training: TrajectorySet
    shown: TrajectorySet
    held_out: bool  # whether those that are shown were not learned from

    @property
    def units(self) -> dict[str, str]:
        """The units that the data name."""
        return dict(self.shown[0].units)

    @property
    def called(self) -> str:
        """What the shown ones are, in words."""
        count = len(self.shown)
        if self.held_out:
            return f"{count} demonstrations that were held out"
        return f"{count} given demonstrations, which may have been learned from"


def write_policy_report(folder: str | Path, data: OwnData, files: Sequence[str]) -> Path:
    """Write `report.html` and `plots` about the policy in `folder`, and return the page's path."""
    folder = Path(folder)
    policy = load(folder)
    layout = policy.spec.layout
    found = data.shown[0].layout
    if layout is None or layout != found:
        how = "" if layout is None else f" (the file {layout_difference(found, layout)})"
        raise InputError(
            f"{', '.join(files)} has other components than the policy {folder} observes{how}: name "
            "the demonstrations that it was learned from"
        )
    named = " ".join(shlex.quote(str(Path(each).resolve())) for each in files)
    analysis = Analysis.of(policy, data.shown)
    notes = read_header(folder)["provenance"]
    recipe = str(notes.get("recipe", "default")).removesuffix("+monitor")
    time_step = policy.spec.control.time_step
    inspecting = f"kodex inspect . --demonstrations {named}"
    sections = [
        _data_section(data, named),
        _action_section(policy, data, inspecting),
        _monitor_section(policy, data, f"kodex fit {named} -o watched-policy --recipe {recipe}"),
        reference_section(analysis, partial(_unit, data.units), time_step, (inspecting,)),
        spectrum_section(analysis, ("kodex inspect .",)),
        Section(
            "What to do next",
            (
                paragraph(
                    "Success is known only when the policy acts. In a simulator, kodex evaluate "
                    "measures it; on a robot, begin slowly, with the monitor, and with its own "
                    "limits switched on."
                ),
            ),
            commands=("kodex serve .",),
        ),
    ]
    task = policy.spec.task or "own data"
    lead = (
        f"Learned from {len(data.training)} demonstrations. Nobody has let it act yet, so this "
        "page says what was learned and not how often it succeeds."
    )
    head = header(f"{task} · {recipe} recipe", f"A policy from {task}", lead)
    content = page(f"kodex: a policy from {task}", head, sections, numbers=_cards(policy, data))
    drawn = [picture for section in sections for picture in section.pictures]
    pictures = {folder / "plots" / f"{each.name}.png": each.content for each in drawn}
    write_files(folder, {folder / PAGE: content.encode(), **pictures})
    return folder / PAGE


def _unit(units: dict[str, str], name: str) -> str:
    return units.get(name, UNKNOWN)


def _cards(policy: LearnedPolicy, data: OwnData) -> Markup:
    spec = policy.spec
    step = spec.control.time_step
    missed = unexplained(policy, data.shown)
    size = 0 if spec.layout is None else spec.layout.size
    return cards(
        ("Demonstrations", str(len(data.training)), "learned from"),
        ("State", str(size), "components"),
        ("Actions", str(spec.action_size), "components"),
        ("Time step", "–" if step is None else f"{1000 * step:g} ms", "of the data"),
        (
            "Actions explained",
            "–" if missed is None else wording.percent(1.0 - missed),
            "of their variance, in " + ("held-out" if data.held_out else "the given") + " data",
        ),
    )


def _data_section(data: OwnData, named: str) -> Section:
    found = describe(data.training, data.training[0].layout)
    rows = [
        (name, part, _unit(data.units, name), f"{low:.4g}", f"{high:.4g}")
        for name, part, low, high in zip(
            found.layout.names,
            ["robot"] * len(found.layout.robot) + ["object"] * len(found.layout.object),
            found.lowest,
            found.highest,
            strict=True,
        )
    ]
    sentence = (
        f"{found.episodes} demonstrations of {found.shortest} to {found.longest} states, "
        f"{found.transitions} transitions together."
    )
    listing = table(("component", "part", "unit", "lowest", "highest"), rows)
    commands = (f"kodex describe {named}",)
    return Section("What it learned from", (paragraph(sentence), listing), commands=commands)


def _action_section(policy: LearnedPolicy, data: OwnData, command: str) -> Section:
    """Show the policy's actions at recorded states beside those that were demonstrated."""
    heading = "Does it act as demonstrated?"
    missed = unexplained(policy, data.shown)
    shown = [each for each in data.shown if each.actions is not None]
    if missed is None or not shown:
        sentence = "The demonstrations have no actions, or the policy does not act on their states."
        return Section(heading, (absent(sentence),))
    pairs = [(_actions(each), actions_along(policy, each)) for each in shown[:20]]
    order = np.argsort([float(np.mean(np.abs(theirs - ours))) for theirs, ours in pairs])
    chosen = list(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))
    words = ("best", "median", "worst") if len(chosen) == 3 else ("best", "worst")[: len(chosen)]
    spread = np.concatenate([theirs for theirs, _ in pairs]).std(axis=0)
    columns = sorted(np.argsort(-spread, kind="stable")[:ACTIONS_SHOWN].tolist())
    picture = Picture.of(
        "actions",
        reference_plot(
            [f"action component {column} ({UNKNOWN})" for column in columns],
            [pairs[index][0][:, columns] for index in chosen],
            [pairs[index][1][:, columns] for index in chosen],
            words,
            wording.steps_axis(policy.spec.control.time_step),
        ),
        alternative="Actions of the policy beside those that were demonstrated, over time",
        caption="Solid with marks is what the policy would do at the recorded states, dotted what "
        "was demonstrated, of the best, the median and the worst demonstration.",
    )
    sentence = (
        f"Handed the recorded states of {data.called}, the policy explains "
        f"{wording.percent(1.0 - missed)} of the variance of the actions."
    )
    return Section(heading, (paragraph(sentence),), (picture,), commands=(command,))


def _monitor_section(policy: LearnedPolicy, data: OwnData, command: str) -> Section:
    heading = "The run-time monitor"
    if policy.spec.observes != "state" or len(data.training) < 2:
        sentence = "A monitor watches states, and is calibrated on two demonstrations or more."
        return Section(heading, (absent(sentence),))
    monitor = monitored(policy, data.training).monitor
    alarms = 0
    for each in data.shown:
        names = monitor.context.names
        given = np.array([[each.context[name] for name in names]]) if names else None
        memory, highest = monitor.begin(each.states[:1], given), 0.0
        for state in each.states:
            novelty, memory = monitor.step(memory, state[None])
            highest = max(highest, float(novelty[0]))
        alarms += highest > 1.0
    sentence = (
        "A monitor says at every step whether what happens is like the demonstrations. Calibrated "
        f"on the {len(data.training)} above to sound in at most {100 * monitor.false_alarms:.0f} % "
        f"of such episodes, it sounds in {alarms} of {data.called}."
    )
    return Section(heading, (paragraph(sentence),), commands=(f"{command}+monitor",))


def _actions(demonstration: Trajectory) -> Array:
    assert demonstration.actions is not None
    return demonstration.actions
