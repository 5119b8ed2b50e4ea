"""The sections about what the policy did: the video, how well it does, where it fails."""

from base64 import b64encode

import numpy as np

from kodex.reports.figures.outcomes import novelty_plot, progress_plot, start_plot, success_plot
from kodex.reports.page import wording
from kodex.reports.page.section import Markup, Picture, Section, absent, element, paragraph, table
from kodex.reports.page.wording import TASKS, UNKNOWN, TaskFacts, facts_of
from kodex.reports.run import Run

WORST_SHOWN = 10
WORST_FILMED = 2
LARGEST_VIDEO = 8_000_000  # bytes; a page with more is slow to open and cannot be mailed


def task_section(run: Run) -> Section:
    """Say what is to be done, and when an episode has succeeded."""
    sentence = facts_of(run.results).sentence
    commands = ("kodex tasks",) if run.results.task in TASKS else ()
    return Section("The task", (paragraph(sentence),), commands=commands)


def video_section(run: Run) -> Section:
    """Show the video, or say why there is none."""
    heading = "Watch it"
    if run.video is None:
        sentence = "This run has no video: drawing one needs GL, which kodex doctor looks for."
        return Section(heading, (absent(sentence),))
    commands = (f"kodex play policy {wording.world_option(run.results)}",)
    content = run.video.read_bytes()
    if len(content) > LARGEST_VIDEO:
        size = f"{len(content) / 1e6:.0f} MB"
        sentence = f"At {size} the video is too large for this page; it is video.mp4 beside it."
        return Section(heading, (absent(sentence),), commands=commands)
    video = element(
        "video",
        "This browser cannot play the video; it is video.mp4 beside this page.",
        src=f"data:video/mp4;base64,{b64encode(content).decode()}",
        controls="",
        loop="",
        playsinline="",
        preload="metadata",
        aria_label=f"Video of the expert and of the learned policy at the task {run.results.task}",
    )
    caption = element(
        "figcaption",
        "The expert on the left and the learned policy on the right, from the same start, four "
        "times slower than it happened. Above is the first start at which the policy succeeded, "
        "below the first at which it failed; if there is no such start, another one.",
    )
    return Section(heading, (element("figure", video, caption),), commands=commands)


def success_section(run: Run) -> Section:
    """Show how often it worked by each definition of success, and how the episodes went."""
    results, outcomes, facts = run.results, run.outcomes, facts_of(run.results)
    others = {name: rate for name, rate in results.definitions.items() if name != "paper"}
    rows = [("this policy", results.success, True)]
    if results.expert is not None:
        rows.append(("the expert", results.expert.success, False))
    rows += [(f"by {name}'s criterion", rate, False) for name, rate in others.items()]
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
    after = [_definitions_table(run, facts)] if others else []
    if np.isfinite(outcomes.progress).any():
        line = None if facts.threshold is None else (facts.threshold, facts.threshold_label)
        axis = wording.steps_axis(outcomes.time_step)
        pictures.append(
            Picture.of(
                "progress",
                progress_plot(outcomes, facts.progress_axis, run.expert, threshold=line, x=axis),
                alternative=f"{facts.progress_axis} over time, of episodes that succeeded and of "
                "those that failed" + ("" if line is None else f"; the line is {line[1]}"),
                caption="Each failed episode is a broken line of its own: look at when it leaves "
                "the band of the others"
                + ("." if line is None else ", and on which side of the dash-dotted line it ends."),
            )
        )
    else:
        after.insert(0, absent("The rollouts do not record their progress over time."))
    world = wording.world_option(results)
    commands = (
        f"kodex evaluate policy {world} --instances 1000 --seed 7",
        f"kodex compare policy expert {world}",
    )
    return Section(
        "How well it does",
        (_comparison(run),),
        tuple(pictures),
        after=tuple(after),
        commands=commands if results.expert is not None else commands[:1],
    )


def failure_section(run: Run) -> Section:
    """Show where failures began, and list the worst."""
    heading, outcomes = "Where it fails", run.outcomes
    failed = int(np.sum(~outcomes.succeeded))
    if failed == 0:
        return Section(heading, (paragraph(f"None of {len(outcomes)} episodes failed."),))
    sentence = paragraph(f"{failed} of {len(outcomes)} episodes failed.")
    listing = (_worst_table(run),)
    shown = outcomes.worst(WORST_FILMED).tolist()
    film = (
        "kodex render rollouts.h5 -o failures.mp4 --episodes "
        f"{' '.join(map(str, shown))} --grid 1x{len(shown)} --every 1",
    )
    commands = film if run.video is not None else ("kodex describe rollouts.h5",)
    chosen = outcomes.telling_dimensions(3)
    if not chosen:
        missing = absent("The rollouts do not record where they started.")
        return Section(heading, (sentence, missing), beside=listing, commands=commands)
    facts, names = facts_of(run.results), _start_names(run)
    picture = Picture.of(
        "starts",
        start_plot(outcomes, names, facts.progress_axis),
        alternative=f"Starts of {len(outcomes)} episodes by "
        f"{', '.join(names[column] for column in chosen)}; {failed} failed",
        caption="Every mark is a start, and crosses failed: failures that keep together, or to "
        "the rim, say where more demonstrations would help.",
    )
    return Section(heading, (sentence,), (picture,), listing, commands=commands)


def monitor_section(run: Run) -> Section:
    """Show what the run-time monitor said of the episodes."""
    heading, outcomes = "The run-time monitor", run.outcomes
    recipe = run.results.recipe.removesuffix("+monitor")
    commands = (f"kodex fit demonstrations.h5 -o watched-policy --recipe {recipe}+monitor",)
    if not np.isfinite(outcomes.novelty).any():
        sentence = "No monitor watched these episodes; a policy with one says when to stop it."
        return Section(heading, (absent(sentence),), commands=commands)
    alarmed = np.nanmax(np.nan_to_num(outcomes.novelty, nan=0.0), axis=1) > 1.0
    good = outcomes.succeeded
    sentences = [
        "The monitor has a Koopman operator of its own, which predicts the next state. Novelty is "
        "the error of this prediction as a share of a limit; above 1 there is an alarm. The "
        "monitor only warns: the policy acts as it does without one.",
        f"There was an alarm in {np.sum(alarmed & ~good)} of {np.sum(~good)} episodes that failed "
        f"and in {np.sum(alarmed & good)} of {np.sum(good)} that succeeded{_promised(run)}.",
    ]
    picture = Picture.of(
        "novelty",
        novelty_plot(outcomes, wording.steps_axis(outcomes.time_step)),
        alternative="Novelty over time by the run-time monitor, of episodes that succeeded and of "
        "those that failed; the line at 1 is the alarm",
        caption="A broken line that climbs over the dash-dotted one early leaves time to stop the "
        "robot.",
    )
    return Section(heading, tuple(map(paragraph, sentences)), (picture,), commands=commands)


def _promised(run: Run) -> str:
    stored = run.results.provenance.get("monitor")
    share = stored.get("false_alarms") if isinstance(stored, dict) else None
    if not isinstance(share, int | float):
        return ""
    return (
        f"; the limit is set so that {100 * share:.0f} % of demonstrations or fewer would exceed "
        "it, on average"
    )


def _definitions_table(run: Run, facts: TaskFacts) -> Markup:
    rows = [("paper" if "paper" in run.results.definitions else "task", facts.criterion)]
    rows += [
        (name, facts.definitions.get(name, "as the task defines it"))
        for name in run.results.definitions
        if name != "paper"
    ]
    rates = {**run.results.definitions, rows[0][0]: run.results.success}
    return table(
        ("definition", "success", "95 % interval", "an episode succeeds if"),
        [
            (
                name,
                wording.percent(rates[name].rate),
                f"{100 * rates[name].low:.1f} to {100 * rates[name].high:.1f} %",
                words,
            )
            for name, words in rows
        ],
    )


def _start_names(run: Run) -> list[str]:
    """Return the names of a start's numbers with their units."""
    facts = facts_of(run.results)
    units = [facts.unit_of(name, run.outcomes.units) for name in run.outcomes.start_names]
    return [
        name if unit == UNKNOWN else f"{name} ({unit})"
        for name, unit in zip(run.outcomes.start_names, units, strict=True)
    ]


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
    header = ("start", *_start_names(run), "at the end")
    caption = (
        "Each start by its index in the draw, with its numbers; at the end stands the "
        f"{facts_of(run.results).progress_axis}."
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
