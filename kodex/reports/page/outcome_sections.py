"""The sections about what the policy did: the video, how well it does, where it fails."""

from base64 import b64encode

import numpy as np

from kodex.reports.figures.outcomes import progress_plot, start_plot, success_plot
from kodex.reports.page import wording
from kodex.reports.page.markup import Markup, element, table
from kodex.reports.page.section import Picture, Section, absent, paragraph
from kodex.reports.run import Run

WORST_SHOWN = 10
LARGEST_VIDEO = 8_000_000  # bytes; a page with more is slow to open and cannot be mailed


def video_section(run: Run) -> Section:
    """Show the video, or say why there is none."""
    heading = "Watch it"
    if run.video is None:
        sentence = "This run has no video: drawing one needs GL, which kodex doctor looks for."
        return Section(heading, (absent(sentence),))
    content = run.video.read_bytes()
    if len(content) > LARGEST_VIDEO:
        size = f"{len(content) / 1e6:.0f} MB"
        sentence = f"At {size} the video is too large for this page; it is video.mp4 beside it."
        return Section(heading, (absent(sentence),))
    video = element(
        "video",
        "This browser cannot play the video; it is video.mp4 beside this page.",
        src=f"data:video/mp4;base64,{b64encode(content).decode()}",
        controls="",
        loop="",
        playsinline="",
        preload="metadata",
        aria_label=f"Video of the learned policy at the task {run.results.task}",
    )
    caption = element("figcaption", "The learned policy in the simulator.")
    return Section(heading, (element("figure", video, caption),))


def success_section(run: Run) -> Section:
    """Show how often it worked, and how the episodes went."""
    results, outcomes = run.results, run.outcomes
    rows = [("this policy", results.success, True)]
    if results.expert is not None:
        rows.append(("the expert", results.expert.success, False))
    rows += [
        (f"by {name}'s criterion", rate, False)
        for name, rate in results.definitions.items()
        if name != "paper"  # which is the task's own criterion
    ]
    pictures = [
        Picture.of(
            "success",
            success_plot(rows),
            alternative="Success rates. "
            + "; ".join(f"{name}: {wording.percent(rate.rate)}" for name, rate, _ in rows),
            caption="Dots are success rates and bars their 95 % intervals; where two bars "
            "overlap widely, the difference may be chance.",
        )
    ]
    if not np.isfinite(outcomes.progress).any():
        missing = absent("The rollouts do not record their progress over time.")
        return Section("How well it does", (_comparison(run),), tuple(pictures), after=(missing,))
    pictures.append(
        Picture.of(
            "progress",
            progress_plot(outcomes, wording.progress_name(results.task), run.expert),
            alternative="Progress over time of episodes that succeeded and of those that failed",
            caption="Each failed episode is a line of its own: look at when it leaves the band "
            "of the others.",
        )
    )
    return Section("How well it does", (_comparison(run),), tuple(pictures))


def failure_section(run: Run) -> Section:
    """Show where failures began, and list the worst."""
    heading, outcomes = "Where it fails", run.outcomes
    failed = int(np.sum(~outcomes.succeeded))
    if failed == 0:
        return Section(heading, (paragraph(f"None of {len(outcomes)} episodes failed."),))
    sentence = paragraph(f"{failed} of {len(outcomes)} episodes failed.")
    listing = (_worst_table(run),)
    chosen = outcomes.telling_dimensions(3)
    if not chosen:
        missing = absent("The rollouts do not record where they started.")
        return Section(heading, (sentence, missing), beside=listing)
    names = ", ".join(outcomes.start_names[column] for column in chosen)
    picture = Picture.of(
        "starts",
        start_plot(outcomes),
        alternative=f"Starts of {len(outcomes)} episodes by {names}; {failed} failed",
        caption="Every mark is a start, and crosses failed: failures that keep together, or to "
        "the rim, say where more demonstrations would help.",
    )
    return Section(heading, (sentence,), (picture,), listing)


def _comparison(run: Run) -> Markup:
    if run.results.expert is None:
        return absent("The expert was not rolled out from these starts, so there is no comparison.")
    policy, expert = run.results.success, run.results.expert.success
    if policy.low > expert.high:
        verdict = "better than"
    elif policy.high < expert.low:
        verdict = "worse than"
    else:
        verdict = "not clearly different from"
    return paragraph(
        f"The policy succeeds in {wording.percent(policy.rate)} of its episodes, the expert that "
        f"it learned from in {wording.percent(expert.rate)}: by their intervals it is {verdict} "
        "its teacher."
    )


def _worst_table(run: Run) -> Markup:
    outcomes = run.outcomes
    final, broke_off = outcomes.final_progress, any(outcomes.failures)
    header = ("start", *outcomes.start_names, "at the end")
    caption = (
        "Each start by its index in the draw, with its numbers; at the end stands the "
        f"{wording.progress_name(run.results.task)}. kodex compare and kodex render show more."
    )
    rows = [
        (
            f"#{outcomes.indices[row]}",
            *(wording.decimal(value) for value in outcomes.starts[row]),
            wording.decimal(final[row]),
            *((outcomes.failures[row] or "",) if broke_off else ()),
        )
        for row in outcomes.worst(WORST_SHOWN)
    ]
    return element(
        "figure",
        element("h3", "The worst failures"),
        table((*header, "broke off") if broke_off else header, rows),
        element("figcaption", caption),
    )
