"""The sections about what was learned: references, their errors, the operator's eigenvalues."""

from collections.abc import Callable, Sequence

import numpy as np

from kodex.evaluation.analysis import Analysis, Operator
from kodex.reports.figures.dynamics import (
    eigenvalue_histogram,
    eigenvalue_plane,
    horizon_plot,
    reference_plot,
)
from kodex.reports.page.section import Picture, Section, absent, paragraph
from kodex.reports.page.wording import UNKNOWN, steps_axis
from kodex.trajectory import Array, StateLayout

COMPONENTS_SHOWN = 3
UNITS_SHOWN = 4  # panels of errors
UnitOf = Callable[[str], str]
NOT_STORED = "This run was written by an earlier kodex, which did not store its predictions."


def no_unit(name: str) -> str:
    """Say that the unit of a component is not known."""
    return UNKNOWN


def reference_section(
    analysis: Analysis | None,
    unit_of: UnitOf = no_unit,
    time_step: float | None = None,
    commands: tuple[str, ...] = (),
) -> Section:
    """Show references beside the demonstrations that they should resemble."""
    heading = "What it expects to happen"
    if analysis is None:
        return Section(heading, (absent(NOT_STORED),))
    if analysis.references is None:
        return Section(heading, (absent("This policy acts directly, without a reference."),))
    joints, things = moving_components(analysis.layout, analysis.states, COMPONENTS_SHOWN)
    pictures = [
        _reference_picture(
            analysis, analysis.references, components, name, word, unit_of, steps_axis(time_step)
        )
        for name, word, components in (
            ("reference_joints", "the joints that move most", joints),
            ("reference_object", "the object", things),
        )
        if components
    ]
    sentence = (
        f"From the first state of each of {len(analysis.states)} demonstrations that were not "
        "learned from, the dynamics predict all later states without another measurement."
    )
    for name, word, part in (
        ("error_joints", "joints", slice(len(analysis.layout.robot))),
        ("error_object", "object", slice(len(analysis.layout.robot), None)),
    ):
        errors = errors_by_unit(analysis, part, word, unit_of)
        if errors:
            pictures.append(_horizon_picture(errors, name, word, steps_axis(time_step)))
    return Section(heading, (paragraph(sentence),), tuple(pictures), commands=commands)


def errors_by_unit(analysis: Analysis, part: slice, word: str, unit_of: UnitOf) -> dict[str, Array]:
    """Return mean absolute errors by step, (episodes, T), apart for each unit of the components."""
    groups: dict[str, list[int]] = {}
    for index in range(analysis.layout.size)[part]:
        groups.setdefault(unit_of(analysis.layout.names[index]), []).append(index)
    most = sorted(groups, key=lambda unit: -len(groups[unit]))[:UNITS_SHOWN]
    errors = {
        f"{word}, {_counted(groups[unit])}: mean absolute error ({unit})": analysis.error(
            groups[unit]
        )
        for unit in groups
        if unit in most
    }
    return {name: error for name, error in errors.items() if np.isfinite(error).any()}


def spectrum_section(analysis: Analysis | None, commands: tuple[str, ...] = ()) -> Section:
    """Show the eigenvalues of a Koopman matrix, and what they say about long horizons."""
    heading = "How it moves: eigenvalues"
    if analysis is None:
        return Section(heading, (absent(NOT_STORED),))
    operator = analysis.operator
    if operator is None:
        sentence = "These dynamics are not a Koopman operator, so there are no eigenvalues to show."
        return Section(heading, (absent(sentence),))
    spectrum = operator.spectrum
    shown, growing = len(spectrum.values), spectrum.growing
    if shown == 0:
        sentence = (
            "The eigenvalues of this Koopman matrix could not be computed in reasonable time."
        )
        return Section(heading, (absent(sentence),))
    pictures = (
        Picture.of(
            "eigenvalues",
            eigenvalue_plane(spectrum),
            alternative=f"{shown} eigenvalues in the complex plane, {growing} of them "
            "outside the unit circle",
            caption="Outside the circle a mode grows, inside it decays; its angle says how fast "
            "it turns.",
        ),
        Picture.of(
            "eigenvalue_magnitudes",
            eigenvalue_histogram(spectrum),
            alternative=f"Histogram of {shown} magnitudes up to {spectrum.radius:.4f}",
            caption="Modes near 1 remember where the episode began; modes near 0 are gone after "
            "a step.",
        ),
    )
    sentence = _spectrum_sentence(operator, analysis.horizon)
    return Section(heading, (paragraph(sentence),), pictures, commands=commands)


def moving_components(
    layout: StateLayout, demonstrations: Sequence[Array], count: int
) -> tuple[list[int], list[int]]:
    """Return the indices of up to `count` robot and `count` object components worth a look.

    Of the robot the joints that move most. Components of the object have different units, so of
    these one of each group, such as a position's x, y and z, until there are enough.
    """
    movement = np.mean([states.std(axis=0) for states in demonstrations], axis=0)
    overall = np.concatenate(demonstrations).std(axis=0)
    joints = len(layout.robot)
    most = np.argsort(-movement[:joints], kind="stable")[:count]
    share = movement[joints:] / np.maximum(overall[joints:], 1e-300)
    chosen = _one_of_each_group(layout.object, share)[:count]
    return sorted(most.tolist()), sorted(joints + index for index in chosen)


def _one_of_each_group(names: Sequence[str], share: Array) -> list[int]:
    """Return indices: the most moving of each group, then the second of each, and so on."""
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        stem, _, axis = name.rpartition("_")
        groups.setdefault(stem if axis in ("x", "y", "z") else name, []).append(index)
    order: list[tuple[bool, int, int, int]] = []
    for group, indices in enumerate(groups.values()):
        for rank, index in enumerate(sorted(indices, key=lambda index: -share[index])):
            stands_still = bool(share[index] < 0.2)  # differs between episodes, not within them
            order.append((stands_still, rank, group, index))
    return [index for *_, index in sorted(order)]


def _counted(components: Sequence[int]) -> str:
    return "1 component" if len(components) == 1 else f"{len(components)} components"


def _reference_picture(
    analysis: Analysis,
    references: Sequence[Array],
    components: list[int],
    name: str,
    word: str,
    unit_of: UnitOf,
    x: str,
) -> Picture:
    shown = analysis.best_median_worst()
    words = ("best", "median", "worst") if len(shown) == 3 else ("best", "worst")[: len(shown)]
    names = [analysis.layout.names[component] for component in components]
    return Picture.of(
        name,
        reference_plot(
            [f"{each} ({unit_of(each)})" for each in names],
            [analysis.states[index][:, components] for index in shown],
            [references[index][:, components] for index in shown],
            words,
            x,
        ),
        alternative=f"References beside demonstrations over time, for {word}",
        caption=f"Solid with marks is the reference for {word}, dotted the demonstration, of the "
        "best, the median and the worst case: they should lie on each other.",
    )


def _horizon_picture(errors: dict[str, Array], name: str, word: str, x: str) -> Picture:
    last = [error[:, -1][np.isfinite(error[:, -1])] for error in errors.values()]
    ends = [
        f"{title}: {np.median(end):.2g} at the end"
        for title, end in zip(errors, last, strict=True)
        if len(end)
    ]
    return Picture.of(
        name,
        horizon_plot(errors, x),
        alternative=f"Error of the reference by step for the {word}. {'; '.join(ends)}",
        caption=f"How far the reference for the {word} strays as it looks further ahead, apart for "
        "each unit: a steep climb at the end would put a longer task out of reach.",
    )


def _spectrum_sentence(operator: Operator, horizon: int) -> str:
    spectrum = operator.spectrum
    size, shown = operator.observables, len(spectrum.values)
    which = "" if shown == size else f", of whose eigenvalues the {shown} largest are shown"
    with np.errstate(over="ignore"):
        factor = np.float64(spectrum.radius) ** (horizon - 1)
    sentence = (
        f"The Koopman matrix moves {size} observables{which}. The largest magnitude is "
        f"{spectrum.radius:.4f}, and {spectrum.growing} of {shown} lie above 1; over the "
        f"{horizon - 1} steps of an episode the largest mode changes by a factor of {factor:.3g}."
    )
    if operator.relift:
        sentence += (
            " These dynamics lift each prediction anew, so their modes are only a first hint of "
            "what happens over many steps."
        )
    return sentence
