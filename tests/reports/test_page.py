"""The report: one page, from files alone, that needs nothing but a browser."""

import base64
import copy
import functools
import inspect
import io
import re
import shlex
import shutil
from dataclasses import dataclass, replace
from html import unescape
from html.parser import HTMLParser
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import imread
from synthetic_run import RESULTS, episodes, fitted_dynamics, layout, write_synthetic_run

from kodex.cli import VERBS, main, parse
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation.analysis import Analysis
from kodex.experts import expert
from kodex.policies import load
from kodex.reports.page.dynamics_sections import reference_section, spectrum_section
from kodex.reports.page.outcome_sections import (
    failure_section,
    monitor_section,
    success_section,
    video_section,
)
from kodex.reports.page.section import VOID, element
from kodex.reports.page.wording import TASKS as FACTS
from kodex.reports.page.wording import UNKNOWN, facts_of, headline, seconds
from kodex.reports.report import write_report
from kodex.reports.run import Outcomes, read_run
from kodex.tasks import TASKS, task
from tests.browser import new_page


class Page(HTMLParser):
    """The elements and the text of a page; a tag closed in the wrong order is an error."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.text, self._open = [], "", []
        self.feed(source)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open and self._open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def changed(**changes):
    return copy.deepcopy(RESULTS) | changes


def page_of(folder):
    return Page(write_report(folder).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = write_synthetic_run(tmp_path_factory.mktemp("runs") / "door")
    write_report(folder)
    return folder


@pytest.fixture
def words_only(monkeypatch):
    """Spare a test that reads the page's words the work of drawing its pictures."""
    monkeypatch.setattr("kodex.reports.page.section.png", lambda figure: b"\x89PNG\r\n\x1a\n")


@pytest.fixture
def fresh_folder(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "run")


def test_the_page_says_the_results_in_words_and_numbers(run_folder):
    text = Page((run_folder / "report.html").read_text()).text
    assert "Opened the door in 73 of 80 unseen starts." in text
    assert "To be run in the folder of this page" in text
    for number in (
        "91.2 %",
        "95 % interval 83.0 to 95.7 %",
        "97.5 %",  # the expert
        "0.0314",  # imitation error
        "0.42 s",  # to learn
        "from 20 demonstrations",
        "of 27 that the expert tried",
        "kodex run door --out runs/door",
        "2.3.1",  # NumPy's version
        "seed to evaluate",
    ):
        assert number in text


def test_the_page_refers_to_nothing_outside_of_itself(run_folder):
    source = (run_folder / "report.html").read_text()
    assert not re.search(r"https?://|@import|<script|<iframe|url\(", source)
    for _, attributes in Page(source).elements:
        for name in ("src", "href", "srcset", "poster", "action"):
            assert attributes.get(name, "data:").startswith("data:")


def test_every_picture_is_embedded_described_and_also_a_file(run_folder):
    images = Page((run_folder / "report.html").read_text()).all("img")
    files = {path.read_bytes() for path in (run_folder / "plots").glob("*.png")}
    assert len(images) == len(files) == 9
    for image in images:
        content = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
        assert content in files
        height, width = imread(io.BytesIO(content)).shape[:2]
        assert (image["width"], image["height"]) == (str(width), str(height))
        assert len(image["alt"]) > 20


def test_the_eigenvalues_of_the_operator_are_in_the_text(run_folder):
    dynamics = load(run_folder / "policy").dynamics
    magnitudes = np.abs(np.linalg.eigvals(dynamics.matrix))
    text = Page((run_folder / "report.html").read_text()).text
    assert f"The largest magnitude is {magnitudes.max():.4f}" in text
    assert f"moves {len(magnitudes)} observables" in text


def test_a_second_report_is_the_same_and_changes_nothing_else(fresh_folder):
    (fresh_folder / "plots" / "mine.txt").write_text("keep")

    def content():
        return {path: path.read_bytes() for path in fresh_folder.rglob("*") if path.is_file()}

    before = content()
    write_report(fresh_folder)
    assert content() == before
    assert fresh_folder / "report.html" in before


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"])))
@settings(deadline=None, max_examples=100)
def test_text_and_attributes_come_back_from_markup_as_they_were(text):
    page = Page(element("p", text, title=text))
    assert page.text == text
    assert page.elements == [("p", {"title": text})]


@pytest.mark.usefixtures("words_only")
def test_what_files_say_is_shown_and_never_run(tmp_path):
    attack = "<script>alert('x')</script><img src=x onerror=y>\"'&"
    results = changed(
        task=attack,
        recipe=attack,
        variation=attack,
        success_by_definition={attack: RESULTS["success"]},
        seconds={attack: 1.0},
        provenance={"command": attack, "versions": {attack: attack}, "seeds": {attack: attack}},
    )
    rollouts = TrajectorySet(
        replace(rollout, failure=attack, succeeded=False)
        for rollout in episodes(10, start_names=(attack, "b"))
    )
    page = page_of(write_synthetic_run(tmp_path / "run", results=results, rollouts=rollouts))
    assert page.text.count(attack) > 10
    assert page.all("script") == []
    assert all("onerror" not in attributes for _, attributes in page.elements)
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.all("img"))


@pytest.mark.usefixtures("words_only")
def test_without_video_and_expert_the_page_says_so(tmp_path):
    results = changed(expert=None, imitation_error=None, tracking_error=None)
    page = page_of(write_synthetic_run(tmp_path / "run", results=results, expert=False))
    assert "This run has no video" in page.text
    assert "The expert was not rolled out" in page.text
    assert "not measured" in page.text


@pytest.mark.usefixtures("words_only")
def test_a_results_file_with_no_more_than_must_be_there_is_enough(tmp_path):
    needed = ("format", "version", "task", "recipe", "distribution", "seed", "success")
    results = {name: RESULTS[name] for name in needed}
    text = page_of(write_synthetic_run(tmp_path / "run", results=results)).text
    assert "91.2 %" in text
    assert "Nothing more was measured." in text
    assert "The command of this run was not recorded." in text


@pytest.mark.usefixtures("words_only")
def test_rollouts_without_starts_and_progress_leave_sentences(tmp_path):
    rollouts = TrajectorySet(
        replace(rollout, start=None, progress=None) for rollout in episodes(40, fail=0.3)
    )
    text = page_of(write_synthetic_run(tmp_path / "run", rollouts=rollouts, expert=False)).text
    assert "do not record where they started" in text
    assert "do not record their progress" in text


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize("fail", [0.0, 1.0])
def test_all_or_nothing_succeeding_leaves_sections(run_folder, fail):
    run = replace(read_run(run_folder), outcomes=Outcomes.of(episodes(12, fail=fail)))
    text = Page(failure_section(run).shown()).text
    assert ("None of 12 episodes failed." if fail == 0.0 else "12 of 12 episodes failed.") in text
    assert len(success_section(run).pictures) == 2


@pytest.mark.usefixtures("words_only")
def test_a_reference_that_explodes_leaves_a_page_that_says_how_fast(tmp_path):
    fitted = fitted_dynamics(episodes(20, seed=1))
    dynamics = replace(fitted, matrix=1e20 * np.eye(len(fitted.matrix)), record=None)
    text = page_of(write_synthetic_run(tmp_path / "run", dynamics=dynamics)).text
    assert "changes by a factor of inf" in text


def test_a_small_video_is_embedded_and_a_large_one_is_named(run_folder, tmp_path):
    path = tmp_path / "video.mp4"
    run = replace(read_run(run_folder), video=path)
    path.write_bytes(b"moving pictures")
    (video,) = Page(video_section(run).shown()).all("video")
    encoded = video["src"].removeprefix("data:video/mp4;base64,")
    assert base64.b64decode(encoded) == b"moving pictures"
    path.write_bytes(bytes(8_000_001))
    page = Page(video_section(run).shown())
    assert page.all("video") == []
    assert "it is video.mp4 beside it" in page.text


@dataclass(frozen=True)
class StandStill:
    """Reference dynamics that are no Koopman operator."""

    layout: object

    def predict(self, first, horizon):
        return np.repeat(first[..., None, :], horizon, axis=-2)


@pytest.mark.usefixtures("words_only")
def test_dynamics_without_an_operator_leave_out_eigenvalues_with_a_sentence(run_folder):
    policy = replace(load(run_folder / "policy"), dynamics=StandStill(layout()))
    analysis = Analysis.of(policy, episodes(5))
    section = spectrum_section(analysis)
    assert section.pictures == ()
    assert "not a Koopman operator" in section.shown()
    assert len(reference_section(analysis).pictures) == 4


def test_a_policy_without_dynamics_leaves_out_references_with_a_sentence():
    analysis = Analysis.of(expert("door"), episodes(5))
    assert "acts directly, without a reference" in reference_section(analysis).shown()


def test_a_report_needs_neither_the_policy_nor_the_demonstrations(fresh_folder):
    page = fresh_folder / "report.html"
    before = page.read_bytes()
    shutil.rmtree(fresh_folder / "policy")
    (fresh_folder / "demonstrations.h5").unlink()
    assert write_report(fresh_folder).read_bytes() == before


@pytest.mark.usefixtures("words_only")
def test_a_run_of_an_earlier_version_has_a_page_that_says_what_it_lacks(fresh_folder):
    shutil.rmtree(fresh_folder / "analysis")
    page = page_of(fresh_folder)
    assert page.text.count("written by an earlier kodex") == 2
    assert len(page.all("img")) == 3


@pytest.mark.parametrize("name", ["results.json", "rollouts.h5"])
def test_a_run_that_lacks_a_piece_is_refused_by_its_name(fresh_folder, name):
    (fresh_folder / name).unlink()
    with pytest.raises(InputError, match=f"not a whole run: it lacks {name}"):
        write_report(fresh_folder)


@pytest.mark.parametrize(
    "name", ["results.json", "rollouts.h5", "expert.h5", "analysis/model.safetensors"]
)
def test_a_run_that_was_cut_off_is_refused_in_one_sentence_and_keeps_its_page(fresh_folder, name):
    piece, page = fresh_folder / name, fresh_folder / "report.html"
    piece.write_bytes(piece.read_bytes()[: piece.stat().st_size // 2])
    before = page.read_bytes()
    with pytest.raises(InputError) as refused:
        write_report(fresh_folder)
    assert piece.name in str(refused.value) and "\n" not in str(refused.value)
    assert page.read_bytes() == before


@pytest.mark.usefixtures("words_only")
def test_strange_provenance_leaves_a_page_without_it(tmp_path):
    results = changed(provenance={"command": None, "versions": [1], "seeds": "7"})
    text = page_of(write_synthetic_run(tmp_path / "run", results=results)).text
    assert "The command of this run was not recorded." in text


@pytest.mark.usefixtures("words_only")
def test_the_command_writes_the_page_and_says_where(fresh_folder, capsys):
    (fresh_folder / "report.html").unlink()
    assert main(["report", str(fresh_folder), "--open", "no"]) == 0
    assert capsys.readouterr().out == f"wrote {fresh_folder / 'report.html'}\n"
    assert (fresh_folder / "report.html").is_file()


def test_the_command_refuses_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere"), "--open", "no"]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("distribution", "variation", "words"),
    [
        ("in", None, "73 of 80 unseen starts."),
        ("out", None, "73 of 80 starts outside the range of training."),
        ("in", "heavy-object", "73 of 80 unseen starts with heavy-object."),
    ],
)
def test_the_headline_says_what_the_starts_were(run_folder, distribution, variation, words):
    results = read_run(run_folder).results
    results = replace(results, distribution=distribution, variation=variation)
    assert headline(results).endswith(words)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.4242, "0.42 s"), (12.3, "12 s"), (59.7, "1 min 0 s"), (3661.0, "61 min 1 s")],
)
def test_seconds_are_said_as_a_person_would(value, words):
    assert seconds(value) == words


@pytest.fixture(scope="module")
def tab():
    """Return a tab of a real browser; where there is none, its tests are skipped."""
    with new_page() as page:
        yield page


def colours(shot):
    picture = imread(io.BytesIO(base64.b64decode(shot["data"])))
    return np.unique((255 * picture[..., :3]).astype(int).reshape(-1, 3), axis=0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_opens_in_a_browser_without_a_word_on_the_console(run_folder, tab, width, scheme):
    tab.messages.clear()
    tab.prefer(scheme)
    tab.open((run_folder / "report.html").resolve().as_uri(), width=width, mobile=width < 500)
    tab.wait_for("document.readyState === 'complete' && document.querySelector('footer')")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("[...document.images].every(each => each.naturalWidth > 300)")
    seen = colours(tab.call("Page.captureScreenshot", format="png"))
    assert len(seen) > 50  # not a blank page
    background = tab.run("getComputedStyle(document.body).backgroundColor")
    light = np.mean([int(part) for part in re.findall(r"\d+", background)[:3]])
    assert light > 200 if scheme == "light" else light < 60
    assert tab.messages == tab.complaints == []


def test_a_screen_reader_is_told_what_every_figure_shows(run_folder, tab):
    tab.open((run_folder / "report.html").resolve().as_uri())
    tab.wait_for("document.readyState === 'complete' && document.querySelector('footer')")
    nodes = tab.nodes()
    figures = [name for role, name in nodes if role == "image"]
    assert len(figures) == len(Page((run_folder / "report.html").read_text()).all("img"))
    assert all(len(name) > 20 for name in figures)
    assert any("success: 1.35 rad" in name for name in figures)
    assert [name for role, name in nodes if role == "heading" and not name] == []


def test_one_click_selects_a_whole_command(run_folder, tab):
    tab.open((run_folder / "report.html").resolve().as_uri(), height=4000)
    tab.wait_for("document.readyState === 'complete' && document.querySelector('footer')")
    place = "document.querySelectorAll('code.command')[1]"
    command = tab.run(f"{place}.textContent")
    box = tab.run(f"(({{x, y, height}}) => [x + 30, y + height / 2])({place}.getClientRects()[0])")
    for kind in ("mousePressed", "mouseReleased"):
        tab.call(
            "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
        )
    assert tab.run("getSelection().toString().trim()") == command
    assert command.startswith("kodex ")


def test_a_page_that_asks_for_the_network_is_stopped_and_noticed(run_folder, tmp_path, tab):
    page = tmp_path / "asks.html"
    source = (run_folder / "report.html").read_text()
    page.write_text(source.replace("<main>", "<main><img alt='' src='http://a.example/x.png'>"))
    tab.open(page.resolve().as_uri())
    tab.wait_for("document.readyState === 'complete' && document.querySelector('footer')")
    assert any("a.example" in each for each in tab.complaints)
    tab.complaints.clear()


def test_every_part_of_a_run_has_a_command_that_its_verb_understands(run_folder):
    source = (run_folder / "report.html").read_text()
    commands = [unescape(each) for each in re.findall(r'class="command">([^<]*)<', source)]
    assert len(commands) >= 8
    sections = source.split("<section>")[1:]
    with_one = [each for each in sections if 'class="command"' in each]
    assert len(with_one) >= len(sections) - 1  # there is nothing to run where a video is missing
    for command in commands:
        program, verb, *words = shlex.split(command)
        assert program == "kodex"
        understood(verb, words)


def understood(verb, words):
    """Let a verb's options be parsed, without doing anything."""
    module, name = VERBS[verb][0].split(":")
    function, called = getattr(import_module(module), name), []

    @functools.wraps(function)
    def note(*arguments, **options):
        called.append(options or arguments)

    note.__signature__ = inspect.signature(function, eval_str=True)
    parse(verb, note, words)
    assert len(called) == 1


@pytest.mark.parametrize("name", TASKS)
def test_what_a_report_says_of_a_task_is_what_the_task_computes(name):
    known, facts = task(name), FACTS[name]
    assert (facts.criterion, facts.threshold) == (known.criterion, known.threshold)
    assert {"paper", *facts.definitions} == set(known.definitions)
    units = {each: facts.unit_of(each, {}) for each in (*known.layout.names, *known.start_names)}
    assert UNKNOWN not in units.values(), units
    assert facts.unit_of(known.layout.names[0], {known.layout.names[0]: "mm"}) == "mm"


def test_every_definition_of_success_is_explained(run_folder):
    text = Page((run_folder / "report.html").read_text()).text
    assert "Turn the latch and pull the door open" in text
    assert text.count("open by more than 1.35 rad at the end") == 2
    assert "the goal is achieved after more than 25 actions" in text
    assert "gymnasium-robotics reports success after the last action" in text


@pytest.mark.usefixtures("words_only")
def test_the_monitor_counts_alarms_of_failures_and_of_successes(run_folder):
    run = read_run(run_folder)
    rollouts = [
        replace(
            each,
            signals={"novelty": np.full((len(each), 1), 2.0 if index % 2 else 0.5)},
            succeeded=index < 6,
        )
        for index, each in enumerate(episodes(10))
    ]
    provenance = {"monitor": {"false_alarms": 0.05}}
    watched = replace(
        run,
        outcomes=Outcomes.of(rollouts),
        results=replace(run.results, provenance=provenance),
    )
    section = monitor_section(watched)
    text = Page(section.shown()).text
    assert "in 2 of 4 episodes that failed and in 3 of 6 that succeeded" in text
    assert "5 % of demonstrations or fewer would exceed it, on average" in text
    assert len(section.pictures) == 1
    assert "No monitor watched these episodes" in monitor_section(run).shown()


def test_a_task_of_somebodys_own_is_described_by_what_its_run_stored(run_folder):
    results = read_run(run_folder).results
    stored = {"title": "Stack cups", "criterion": "three cups stand", "threshold": 3.0}
    own = facts_of(replace(results, task="cups", provenance={"task": stored}))
    assert own.sentence == "Stack cups. An episode succeeds if: three cups stand."
    assert own.threshold == 3.0
    assert facts_of(replace(results, task="cups", provenance={"task": 7})).threshold is None


@pytest.mark.usefixtures("words_only")
def test_a_link_in_a_run_folder_is_not_embedded(fresh_folder, tmp_path):
    (tmp_path / "secret").write_text("precious")
    (fresh_folder / "video.mp4").unlink(missing_ok=True)
    (fresh_folder / "video.mp4").symlink_to(tmp_path / "secret")
    assert page_of(fresh_folder).all("video") == []
