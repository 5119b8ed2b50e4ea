"""The page: one HTML file that needs nothing but a browser, not even a network."""

from collections.abc import Mapping, Sequence
from typing import Any

from kodex.evaluation import Results
from kodex.reports.page import wording
from kodex.reports.page.section import Markup, Section, absent, command_block, element, table

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


STYLESHEET = """
:root { color-scheme: light dark;
  --page: #f5f6f7; --surface: #ffffff; --ink: #1e2932; --soft: #56636f; --line: #e1e5e9;
  --accent: #226a88; --accent-soft: #dcebf1; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #12171b; --surface: #1a2127; --ink: #e6ebef; --soft: #a0adb8; --line: #2d373f;
  --accent: #7cc3e0; --accent-soft: #203842; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; padding-bottom: 0.5rem; }
.kicker { color: var(--accent); font-weight: 600; font-size: 0.85rem; letter-spacing: 0.04em;
  margin: 0 0 0.5rem; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.6rem, 4.4vw, 2.5rem); line-height: 1.2; font-weight: 650; margin: 0;
  letter-spacing: -0.015em; text-wrap: balance; overflow-wrap: anywhere; }
.lead { color: var(--soft); font-size: 1.08rem; margin: 0.75rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; font-weight: 620; margin: 2.75rem 0 0.35rem; letter-spacing: -0.01em; }
h3 { font-size: 1rem; font-weight: 620; margin: 1.6rem 0 0; }
h2 + p { margin-top: 0; }
p { max-width: 46rem; }
section > p { color: var(--soft); margin: 0 0 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr));
  gap: 0.9rem; margin: 1.6rem 0 0; padding: 0; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
  padding: 0.95rem 1.1rem; margin: 0; }
.card dt { color: var(--soft); font-size: 0.85rem; }
.card dd { margin: 0; }
.card .value { font-size: 1.75rem; font-weight: 620; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; line-height: 1.3; }
.card .note { color: var(--soft); font-size: 0.82rem; line-height: 1.4; }
.card.main { background: var(--accent-soft); border-color: transparent; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr));
  gap: 0.9rem; align-items: start; }
figure { margin: 0; background: var(--surface); border: 1px solid var(--line);
  border-radius: 12px; padding: 0.9rem 0.9rem 1rem; min-width: 0; }
figure img { display: block; width: 100%; height: auto; max-width: 34rem; margin: 0 auto; }
video { display: block; max-width: 100%; max-height: 85vh; height: auto; margin: 0 auto;
  border-radius: 8px; }
figure .scroll { border: 0; border-radius: 0; margin: 0.3rem 0 0; }
figure th, figure td { padding: 0.34rem 0.6rem; }
figure th { white-space: normal; vertical-align: bottom; }
figure h3 { margin: 0.2rem 0.6rem 0; }
figcaption { color: var(--soft); font-size: 0.9rem; line-height: 1.45; margin: 0.7rem 0.25rem 0; }
/* Pictures are drawn on white. Turned inside out and laid as light on the dark surface, the
   white vanishes and colours keep their hue. */
@media screen and (prefers-color-scheme: dark) {
  figure img { filter: invert(1) hue-rotate(180deg) brightness(1.1); mix-blend-mode: screen; } }
.scroll { overflow-x: auto; background: var(--surface); border: 1px solid var(--line);
  border-radius: 12px; margin: 0.9rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.5rem 0.9rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
main > section > .scroll td:last-child { white-space: normal; min-width: 9rem; }
tbody tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 560; }
code, pre { font: 0.86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
  padding: 0.8rem 1rem; overflow-x: auto; margin: 0.6rem 0; }
.commands { margin: 0.9rem 0 0; }
.commands p { color: var(--soft); font-size: 0.9rem; margin: 0 0 -0.3rem; }
code.command { display: block; user-select: all; -webkit-user-select: all; cursor: copy; }
.absent { border-left: 3px solid var(--line); padding-left: 0.9rem; }
footer { color: var(--soft); font-size: 0.85rem; padding-top: 2.5rem; padding-bottom: 3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 34rem) {
  header { padding-top: 1.75rem; } main, header, footer { padding-left: 0.9rem;
  padding-right: 0.9rem; } .cards { grid-template-columns: 1fr 1fr; gap: 0.6rem; }
  .card { padding: 0.75rem 0.85rem; } .card .value { font-size: 1.4rem; }
  figure { padding: 0.6rem 0.5rem 0.8rem; } th, td { padding: 0.45rem 0.6rem; }
  figure th, figure td { padding: 0.34rem 0.45rem; } pre { white-space: pre-wrap;
  overflow-wrap: anywhere; } }
@media print { body { background: #fff; font-size: 11pt; } video, .screen { display: none; }
  figure, .card, tr, pre { break-inside: avoid; } h2 { break-after: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } header { padding-top: 0; } }
"""
