"""The page: one HTML file that needs nothing but a browser, not even a network."""

from collections.abc import Mapping, Sequence
from typing import Any

from kodex.evaluation import Results
from kodex.reports.page import wording
from kodex.reports.page.markup import Markup, element, table
from kodex.reports.page.section import Section, absent, command_block
from kodex.reports.page.stylesheet import STYLESHEET

# Said to the browser as well: nothing may be fetched, nothing may run.
POLICY = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"


def run_page(results: Results, sections: Sequence[Section]) -> str:
    """Return the page about a run's `results` that shows `sections`."""
    return page(wording.title(results), _header(results), sections, numbers=_cards(results))


def page(
    title: str, header: Markup, sections: Sequence[Section], *, numbers: Markup | None = None
) -> str:
    """Return the page called `title`: a header, a few numbers on cards, and `sections`."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(STYLESHEET)),
    )
    shown = [section.shown() for section in sections]
    body = element(
        "body",
        header,
        element("main", *(shown if numbers is None else [numbers, *shown])),
        element("footer", "Written by kodex from the files in this folder."),
    )
    return "<!doctype html>\n" + element("html", head, "\n", body, lang="en") + "\n"


def header(kicker: str, heading: str, lead: str) -> Markup:
    """Return the head of a page: a line above, the heading, and a sentence."""
    return element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", heading),
        element("p", lead, class_="lead"),
    )


def numbers_section(results: Results) -> Section:
    """List what was measured and has no picture."""
    rows: list[tuple[str, str, str]] = []
    for name, key, meaning in (
        ("imitation error", "imitation_error", "rad or m per joint, beside the expert's"),
        ("tracking error", "tracking_error", "rad or m per joint, beside the reference"),
        ("action change", "action_change", "per step, of actions in [-1, 1]; less is smoother"),
        ("saturation", "action_saturation", "share of action components at their limits"),
    ):
        value = results.score.mean(key)
        if value is not None:
            rows.append((name, wording.number(value), meaning))
    if results.thrown_out is not None:
        rate = results.thrown_out
        rows.append(("thrown out", wording.percent(rate.rate), wording.interval(rate)))
    if results.score.failures:
        failures = str(results.score.failures)
        rows.append(("failed", failures, "episodes that broke off"))
    for name, value in results.seconds.items():
        rows.append((f"time to {name}", wording.seconds(value), "wall clock"))
    counts = results.demonstrations
    if "tried" in counts:
        kept = counts.get("training", 0) + counts.get("validation", 0)
        rows.append(("demonstrations", str(kept), f"of {counts['tried']} that the expert tried"))
    listing = table(("measured", "value", "meaning"), rows)
    return Section(
        "More numbers",
        (listing if rows else absent("Nothing more was measured."),),
        commands=(f"kodex evaluate policy {wording.world_option(results)} --json numbers.json",),
    )


def provenance_section(results: Results) -> Section:
    """Say how the run was made, how to repeat it, and where to look next."""
    made = results.provenance
    command = (
        command_block(
            [str(made["command"])], "To repeat the run, in the folder where it was started"
        )
        if made.get("command")
        else absent("The command of this run was not recorded.")
    )
    rows = [(f"seed to {name}", value) for name, value in _texts(made, "seeds")]
    rows += _texts(made, "versions")
    made_with = (table(("made with", ""), rows),) if rows else ()
    return Section("Where it comes from", (command, *made_with), commands=("kodex report .",))


def _header(results: Results) -> Markup:
    kicker = f"{results.task} · {results.recipe} recipe"
    if results.variation is not None:
        kicker += f" · {results.variation}"
    rate = results.success
    lead = f"{wording.percent(rate.rate)}, {wording.interval(rate)}. {wording.subtitle(results)}"
    return header(kicker, wording.headline(results), lead)


def _cards(results: Results) -> Markup:
    expert = None if results.expert is None else results.expert.success
    learned = results.seconds.get("learn")
    imitation = results.score.mean("imitation_error")
    training = results.demonstrations.get("training")
    source = "" if training is None else f"from {training} demonstrations"
    unknown = "not measured"
    return cards(
        (
            "Success",
            wording.percent(results.success.rate),
            wording.interval(results.success),
        ),
        ("The expert's success", wording.percent(expert.rate), wording.interval(expert))
        if expert is not None
        else ("The expert's success", "–", unknown),
        ("Time to learn", wording.seconds(learned), source)
        if learned is not None
        else ("Time to learn", "–", unknown),
        ("Imitation error", wording.number(imitation), "rad or m, mean over joints and steps")
        if imitation is not None
        else ("Imitation error", "–", unknown),
    )


def cards(*shown: tuple[str, str, str]) -> Markup:
    """Return a few numbers on cards, (name, value, note) each; the first is the main one."""
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", value, class_="value"),
                element("dd", note, class_="note"),
                class_="card main" if place == 0 else "card",
            )
            for place, (name, value, note) in enumerate(shown)
        ),
        class_="cards",
    )


def _texts(provenance: Mapping[str, Any], name: str) -> list[tuple[str, str]]:
    """Return a part of the provenance as texts, whatever somebody wrote there."""
    part = provenance.get(name)
    return [(str(key), str(value)) for key, value in part.items()] if isinstance(part, dict) else []
