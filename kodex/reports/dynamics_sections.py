"""The sections about what was learned: references, their errors, the operator's eigenvalues."""

from collections.abc import Callable
from functools import partial

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.interfaces import Policy
from kodex.koopman import KoopmanDynamics, ObserverDynamics, Spectrum
from kodex.policies import LiftedPolicy, RemindedPolicy, TrackingPolicy
from kodex.reports.dynamics_plots import (
    eigenvalue_histogram,
    eigenvalue_plane,
    horizon_plot,
    reference_plot,
)
from kodex.reports.learned import Predictions, moving_components
from kodex.reports.run_folder import Run
from kodex.reports.section import Picture, Section, absent, paragraph
from kodex.reports.spectrum import affordable_spectrum
from kodex.trajectory import Array

COMPONENTS_SHOWN = 3


def reference_section(run: Run) -> Section:
    """Show references beside the demonstrations that they should resemble."""
    heading, policy = "What it expects to happen", run.policy
    predict = _prediction_of(policy, run.validation)
    if predict is None:
        return Section(heading, (absent("This policy acts directly, without a reference."),))
    predictions = Predictions.of(predict, run.validation)
    joints, things = moving_components(run.validation, COMPONENTS_SHOWN)
    pictures = [
        _reference_picture(run, predictions, components, name, word)
        for name, word, components in (
            ("reference_joints", "the joints that move most", joints),
            ("reference_object", "the object", things),
        )
        if components
    ]
    sentence = (
        f"From the first state of each of {len(run.validation)} demonstrations that were not "
        "learned from, the dynamics run ahead to the end without looking again."
    )
    pictures += [
        _horizon_picture(error, name, word)
        for name, word, error in (
            ("error_joints", "joints", predictions.robot_error),
            ("error_object", "object", predictions.object_error),
        )
        if np.isfinite(error).any()
    ]
    return Section(heading, (paragraph(sentence),), tuple(pictures))


def _prediction_of(
    policy: Policy, demonstrations: TrajectorySet
) -> Callable[[Array, int], Array] | None:
    """Return what predicts states from the first ones, told what their starts say, if anything."""
    if isinstance(policy, TrackingPolicy):
        return policy.predict
    if isinstance(policy, RemindedPolicy) and not policy.follows_a_reference:
        return None
    if isinstance(policy, LiftedPolicy | RemindedPolicy):
        return partial(policy.predict, told=policy.starts.told_by(demonstrations))
    return None


def spectrum_section(run: Run) -> Section:
    """Show the eigenvalues of a Koopman matrix, and what they say about long horizons."""
    heading, policy = "How it moves: eigenvalues", run.policy
    dynamics = policy.dynamics if isinstance(policy, TrackingPolicy | LiftedPolicy) else None
    if isinstance(dynamics, ObserverDynamics):
        dynamics = dynamics.dynamics
    if not isinstance(dynamics, KoopmanDynamics):
        sentence = "These dynamics are not a Koopman operator, so there are no eigenvalues to show."
        return Section(heading, (absent(sentence),))
    spectrum = affordable_spectrum(dynamics.matrix)
    shown, growing = len(spectrum.values), spectrum.growing
    if shown == 0:
        return Section(
            heading,
            (absent("The eigenvalues of this Koopman matrix could not be found in good time."),),
        )
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
    horizon = max(map(len, run.validation))
    sentence = _spectrum_sentence(dynamics, spectrum, horizon)
    return Section(heading, (paragraph(sentence),), pictures)


def _reference_picture(
    run: Run, predictions: Predictions, components: list[int], name: str, word: str
) -> Picture:
    places = predictions.best_middle_worst()
    words = ("best", "median", "worst") if len(places) == 3 else ("best", "worst")[: len(places)]
    return Picture.of(
        name,
        reference_plot(
            [run.validation.layout.names[place] for place in components],
            [run.validation[place].states[:, components] for place in places],
            [predictions.references[place][:, components] for place in places],
            words,
        ),
        alternative=f"References beside demonstrations over time, for {word}",
        caption=f"Solid is the reference for {word}, dotted the demonstration, of the best, the "
        "median and the worst case: they should lie on each other.",
    )


def _horizon_picture(error: Array, name: str, word: str) -> Picture:
    last = error[:, -1][np.isfinite(error[:, -1])]
    end = f", {np.median(last):.2g} at the end" if len(last) else ""
    return Picture.of(
        name,
        horizon_plot(error, f"{word}: mean absolute error"),
        alternative=f"Error of the reference by step for the {word}{end}",
        caption=f"How far the reference for the {word} strays as it looks further ahead: a steep "
        "climb at the end would put a longer task out of reach.",
    )


def _spectrum_sentence(dynamics: KoopmanDynamics, spectrum: Spectrum, horizon: int) -> str:
    size, shown = len(dynamics.matrix), len(spectrum.values)
    which = "" if shown == size else f", of whose eigenvalues the {shown} largest are shown"
    with np.errstate(over="ignore"):
        factor = np.float64(spectrum.radius) ** (horizon - 1)
    sentence = (
        f"The Koopman matrix moves {size} observables{which}. The largest magnitude is "
        f"{spectrum.radius:.4f}, and {spectrum.growing} of {shown} lie above 1; over the "
        f"{horizon - 1} steps of an episode the largest mode changes by a factor of {factor:.3g}."
    )
    if dynamics.relift:
        sentence += (
            " These dynamics lift each prediction anew, so their modes are only a first hint of "
            "what happens over many steps."
        )
    return sentence
