"""The page: one HTML file that needs nothing but a browser, not even a network."""

from collections.abc import Iterable, Sequence

from kodex.reports import wording
from kodex.reports.markup import Markup, element, table, together
from kodex.reports.results import Results
from kodex.reports.section import Section, absent, paragraph
from kodex.reports.stylesheet import STYLESHEET

# Said to the browser as well: nothing may be fetched, nothing may run.
POLICY = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"


def page(results: Results, sections: Sequence[Section]) -> str:
    """Return the page about `results` that shows `sections`."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", wording.title(results)),
        element("style", Markup(STYLESHEET)),
    )
    body = element(
        "body",
        _header(results),
        element("main", _cards(results), *(section.shown() for section in sections)),
        element("footer", "Written by kodex from the files in this folder."),
    )
    return "<!doctype html>\n" + element("html", head, "\n", body, lang="en") + "\n"


def numbers_section(results: Results) -> Section:
    """List what was measured and has no picture."""
    rows: list[tuple[str, str, str]] = []
    for name, value, meaning in (
        ("imitation error", results.imitation_error, "joints, beside the expert's"),
        ("tracking error", results.tracking_error, "joints, beside the reference"),
        ("action change", results.action_change, "from one step to the next; less is smoother"),
    ):
        if value is not None:
            rows.append((name, wording.number(value), meaning))
    if results.thrown_out is not None:
        rate = results.thrown_out
        rows.append(("thrown out", wording.percent(rate.rate), wording.interval(rate)))
    if results.diverged is not None:
        rows.append(("diverged", str(results.diverged), "episodes that the simulator gave up"))
    for name, value in results.seconds.items():
        rows.append((f"time to {name}", wording.seconds(value), "wall clock"))
    if results.tried is not None:
        kept = sum(count or 0 for count in (results.training, results.validation))
        rows.append(("demonstrations", str(kept), f"of {results.tried} that the expert tried"))
    listing = table(("measured", "value", "meaning"), rows)
    return Section("More numbers", (listing if rows else absent("Nothing more was measured."),))


def provenance_section(results: Results) -> Section:
    """Say how the run was made, how to repeat it, and where to look next."""
    command = (
        (paragraph("To repeat it:"), _commands([results.command]))
        if results.command
        else (absent("The command of this run was not recorded."),)
    )
    rows = [(f"seed to {name}", value) for name, value in results.seeds.items()]
    rows += list(results.versions.items())
    made_with = (table(("made with", ""), rows),) if rows else ()
    task = results.task
    further = _commands(
        [
            "kodex inspect policy",
            f"kodex evaluate policy --task {task} --starts out --instances 1000 --seed 7",
            f"kodex compare policy expert --task {task}",
            "kodex report .",
        ]
    )
    return Section(
        "Where it comes from",
        (
            *command,
            paragraph("Where to look next, from inside this folder:"),
            further,
            *made_with,
        ),
    )


def _header(results: Results) -> Markup:
    kicker = f"{results.task} · {results.recipe} recipe"
    if results.variation is not None:
        kicker += f" · {results.variation}"
    rate = results.success
    lead = f"{wording.percent(rate.rate)}, {wording.interval(rate)}. {wording.subtitle(results)}"
    return element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", wording.headline(results)),
        element("p", lead, class_="lead"),
    )


def _cards(results: Results) -> Markup:
    expert, learned = results.expert, results.seconds.get("learn")
    imitation = results.imitation_error
    source = "" if results.training is None else f"from {results.training} demonstrations"
    unknown = "not measured"
    return element(
        "dl",
        _card(
            "Success",
            wording.percent(results.success.rate),
            wording.interval(results.success),
            kind="card main",
        ),
        _card("The expert's success", wording.percent(expert.rate), wording.interval(expert))
        if expert is not None
        else _card("The expert's success", "–", unknown),
        _card("Time to learn", wording.seconds(learned), source)
        if learned is not None
        else _card("Time to learn", "–", unknown),
        _card("Imitation error", wording.number(imitation), "mean over joints and steps")
        if imitation is not None
        else _card("Imitation error", "–", unknown),
        class_="cards",
    )


def _card(name: str, value: str, note: str, kind: str = "card") -> Markup:
    return element(
        "div",
        element("dt", name),
        element("dd", value, class_="value"),
        element("dd", note, class_="note"),
        class_=kind,
    )


def _commands(lines: Iterable[str]) -> Markup:
    return element("pre", element("code", together("\n".join(lines))))
