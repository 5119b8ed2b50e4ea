"""What to worry about in a fitted model, in plain words."""

import numpy as np

from kodex.koopman.analysis import Spectrum, spectrum
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.record import FitRecord

NOTICEABLE_GROWTH = 1.5  # over a horizon; less is within the error of any reference
TRANSITIONS_AN_OBSERVABLE = 10  # a rule of thumb for regression
ILL_CONDITIONED = 1e12  # rounding of the data itself then shows in K
LONGEST_LIST = 5


def worries(
    dynamics: KoopmanDynamics, horizon: int = 100, known: Spectrum | None = None
) -> list[str]:
    """Return one sentence for each thing that could go wrong over `horizon` states.

    `known` saves computing the eigenvalues again.
    """
    found = _of_growth(dynamics, known or spectrum(dynamics), horizon)
    if dynamics.record is None:
        return [*found, "The model does not say what it was fitted to, so the fit is not judged."]
    return found + _of_data(dynamics.record) + _of_fit(dynamics, dynamics.record)


def _of_growth(dynamics: KoopmanDynamics, modes: Spectrum, horizon: int) -> list[str]:
    if not modes.growing:
        return []
    growth = modes.growth(horizon)
    words = (
        f"{modes.growing} of {len(modes.values)} modes grow. The fastest is multiplied by "
        f"{modes.radius:.5g} every step, which is {growth:.3g} over {horizon} states"
    )
    if dynamics.relift:
        return [
            f"{words}. As every prediction is lifted anew this is not the growth of references, "
            "but small errors may grow alike."
        ]
    if growth < NOTICEABLE_GROWTH:
        return [f"{words}: harmless here, but do not run it for much longer."]
    return [
        f"{words}. A small error in the first state grows as much: keep the horizon short, "
        "or fit with max_radius=1."
    ]


def too_little_data(record: FitRecord) -> list[str]:
    """Return a sentence if the data was too little to determine K, and what happened then."""
    observables, is_ridge = len(record.gram_eigenvalues), record.solver.startswith("Ridge")
    if record.transitions < observables:
        what_happened = (
            "the ridge fills in what they leave open"
            if is_ridge
            else "of all K that repeat the demonstrations the smallest was taken, which may not "
            "have learned anything"
        )
        return [
            f"There are fewer transitions ({record.transitions}) than observables "
            f"({observables}): {what_happened}. Use more demonstrations or a smaller lifting."
        ]
    if record.transitions < TRANSITIONS_AN_OBSERVABLE * observables and not is_ridge:
        return [
            f"There are only {record.transitions / observables:.1f} transitions an observable; "
            f"below {TRANSITIONS_AN_OBSERVABLE} K fits noise. Check it on held-out "
            "demonstrations, or fit with Ridge."
        ]
    return []


def _of_data(record: FitRecord) -> list[str]:
    found = too_little_data(record)
    observables = len(record.gram_eigenvalues)
    if record.rank < observables:
        found.append(
            f"The data spans {record.rank} of {observables} directions: some observables are "
            "combinations of others or never vary. K knows nothing about starts that leave them."
        )
    if record.condition > ILL_CONDITIONED and record.solver.startswith("Pinv"):
        found.append(
            f"The Gram matrix has condition {record.condition:.1e}: tiny changes of the data "
            "change K. Ridge, chosen by cross-validation, is steadier."
        )
    return found


def _of_fit(dynamics: KoopmanDynamics, record: FitRecord) -> list[str]:
    moves = record.one_step_change > 0.0
    useless = np.flatnonzero(moves & (record.one_step_error >= record.one_step_change))
    if len(useless) == 0:
        return []
    names = [dynamics.layout.names[index] for index in useless[:LONGEST_LIST]]
    more = f" and {len(useless) - LONGEST_LIST} more" if len(useless) > LONGEST_LIST else ""
    return [
        f"One step ahead, predicting no motion at all is as good for {', '.join(names)}{more}: "
        "the lifting lacks what moves them, they jump at contacts, or the ridge is too strong."
    ]
