"""The report: one page, from files alone, that needs nothing but a browser."""

import base64
import copy
import io
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import imread
from synthetic_run import RESULTS, episodes, fitted_dynamics, layout, write_synthetic_run

from kodex.cli import main
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation.analysis import Analysis
from kodex.experts import expert
from kodex.policies import load
from kodex.reports.outcomes import Outcomes
from kodex.reports.page.dynamics_sections import reference_section, spectrum_section
from kodex.reports.page.markup import VOID, element
from kodex.reports.page.outcome_sections import failure_section, success_section, video_section
from kodex.reports.page.wording import headline, seconds
from kodex.reports.report import write_report
from kodex.reports.run import read_run


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
def fresh_folder(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "run")


def test_the_page_says_the_results_in_words_and_numbers(run_folder):
    text = Page((run_folder / "report.html").read_text()).text
    assert "Opened the door in 73 of 80 unseen starts." in text
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


def test_without_video_and_expert_the_page_says_so(tmp_path):
    results = changed(expert=None, imitation_error=None, tracking_error=None)
    page = page_of(write_synthetic_run(tmp_path / "run", results=results, expert=False))
    assert "This run has no video" in page.text
    assert "The expert was not rolled out" in page.text
    assert "not measured" in page.text


def test_a_results_file_with_no_more_than_must_be_there_is_enough(tmp_path):
    needed = ("format", "version", "task", "recipe", "distribution", "seed", "success")
    results = {name: RESULTS[name] for name in needed}
    text = page_of(write_synthetic_run(tmp_path / "run", results=results)).text
    assert "91.2 %" in text
    assert "Nothing more was measured." in text
    assert "The command of this run was not recorded." in text


def test_rollouts_without_starts_and_progress_leave_sentences(tmp_path):
    rollouts = TrajectorySet(
        replace(rollout, start=None, progress=None) for rollout in episodes(40, fail=0.3)
    )
    text = page_of(write_synthetic_run(tmp_path / "run", rollouts=rollouts, expert=False)).text
    assert "do not record where they started" in text
    assert "do not record their progress" in text


@pytest.mark.parametrize("fail", [0.0, 1.0])
def test_all_or_nothing_succeeding_leaves_sections(run_folder, fail):
    run = replace(read_run(run_folder), outcomes=Outcomes.of(episodes(12, fail=fail)))
    text = Page(failure_section(run).shown()).text
    assert ("None of 12 episodes failed." if fail == 0.0 else "12 of 12 episodes failed.") in text
    assert len(success_section(run).pictures) == 2


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


def test_strange_provenance_leaves_a_page_without_it(tmp_path):
    results = changed(provenance={"command": None, "versions": [1], "seeds": "7"})
    text = page_of(write_synthetic_run(tmp_path / "run", results=results)).text
    assert "The command of this run was not recorded." in text


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


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def opened_in_browser(page, scratch):
    """Return a screenshot and what the browser's console said; no host can be reached."""
    picture = scratch / "screenshot.png"
    answer = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--window-size=800,1200",
            f"--user-data-dir={scratch / 'profile'}",
            f"--screenshot={picture}",
            page.resolve().as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    console = [line for line in answer.stderr.splitlines() if "CONSOLE" in line]
    return imread(picture), console


@needs_browser
def test_the_page_opens_in_a_browser_without_a_word_on_the_console(run_folder, tmp_path):
    picture, console = opened_in_browser(run_folder / "report.html", tmp_path)
    assert console == []
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 100  # not a blank page


@needs_browser
def test_a_page_that_asks_for_the_network_is_stopped_and_noticed(run_folder, tmp_path):
    page = tmp_path / "asks.html"
    source = (run_folder / "report.html").read_text()
    page.write_text(source.replace("<main>", "<main><img alt='' src='http://a.example/x.png'>"))
    _, console = opened_in_browser(page, tmp_path)
    assert len(console) == 1 and "a.example" in console[0]


def test_a_link_in_a_run_folder_is_not_embedded(fresh_folder, tmp_path):
    (tmp_path / "secret").write_text("precious")
    (fresh_folder / "video.mp4").unlink(missing_ok=True)
    (fresh_folder / "video.mp4").symlink_to(tmp_path / "secret")
    assert page_of(fresh_folder).all("video") == []
