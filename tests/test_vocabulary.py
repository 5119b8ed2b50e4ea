"""Public text uses the field's words: a robotics engineer finds what the literature calls it.

Read are the docstrings of everything public, the help and messages of the command line, README,
docs and the other pages of the repository. Comments and private names may be as personal as they
like.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "kodex").rglob("*.py"))
# "one number a joint" is "one number per joint"
COUNTED = r"(?:numbers?|rows?|actions?|errors?|times|transitions|values?|one|rad|m|files?)"
THINGS = r"(?:joint|observable|start|state|step|episode|demonstration|component|second|task|cell)"

# what is not said -> what the field says
INSTEAD = {
    r"\b(?:be|is|are|was|been|not) told\b(?! apart| from)|\buntold\b": "given a context",
    r"\bremind(?:s|ed)?\b": "conditioned on a context",
    r"\bsight[_ ]layout\b": "augmented layout",
    r"\bwaves?\b": "random Fourier features",
    r"\bdraw(?:n|s)? (?:\w+ ){0,2}again\b": "resampled",
    r"\bjudg\w*": "evaluate, success criterion, validation",
    r"\bcho(?:ose|oses|se) by\b": "validation, select",
    r"\b(?:network|policy|controller|NN|LSTM) (?:says|answers)\b": "predicts, outputs",
    r"\bsurpris\w*": "innovation",
    r"\bdistrust\w*": "measurement noise ratio",
    r"\bbumps?\b": "basis functions",
    r"\bbends?\b": "acceleration, activation",
    r"\bmasters?\b": "expert",
    r"(?<!standard )\bdeviations?\b": "std, standard deviation",
    r"\b(?:goes|go|went|gone) on\b(?! to)": "resume, continue",
    r"\bchanged worlds?\b": "physical variation",
    r"\b(?:the|our|this|of) (?:house|rooms?)\b": "package, module",
    r"\bcalm(?:ly|ness|ing)?\b": "smooth, action smoothness",
    rf"\b{COUNTED} an? {THINGS}\b": "per joint, per step",
    r"\bshall\b": "should, must",
}


def public_docstrings(module):
    """Yield the docstrings of `module` that a user may read, with the names that have them."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    yield module.stem, ast.get_docstring(tree) or ""
    pending = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.ClassDef) or child.name.startswith("_"):
                continue
            yield f"{prefix}{child.name}", ast.get_docstring(child) or ""
            if isinstance(child, ast.ClassDef):
                pending.append((f"{child.name}.", child))


def texts_of_messages(module):
    """Yield the texts in `module` that are printed or raised: every text but docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    described = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in described and " " in node.value:
            yield f"line {node.lineno}", node.value


def _has_docstring(node):
    kinds = ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and ast.get_docstring(node) is not None


def private_words(text):
    """Return the private words in `text`, each with what to say instead."""
    flat = " ".join(text.split())
    return [
        f"{found.group(0)!r} ({better})"
        for pattern, better in INSTEAD.items()
        for found in re.finditer(pattern, flat, flags=re.I)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_use_the_words_of_the_field(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = [
        f"{number}: {word}"
        for number, line in enumerate(prose.splitlines(), start=1)
        for word in private_words(line)
    ]
    assert found == []


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.relative_to(ROOT).as_posix())
def test_docstrings_and_messages_use_the_words_of_the_field(module):
    texts = [*public_docstrings(module), *texts_of_messages(module)]
    assert [f"{name}: {word}" for name, text in texts for word in private_words(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "the goal is told",
        "imitation error (rad or m a joint)",
        "random waves",
        "an interrupted study goes on",
        "judged on 300 unseen starts",
        "50 demonstrations to choose by",
    ],
)
def test_private_words_are_found(text):
    assert private_words(text) != []


@pytest.mark.parametrize(
    "text",
    [
        "modes that can be told apart",
        "in standard deviations",
        "one number per joint",
        "context, random Fourier features, AGOP resampling",
    ],
)
def test_words_of_the_field_are_left_alone(text):
    assert private_words(text) == []


def test_every_banned_word_has_a_better_one_in_the_glossary_or_in_plain_english():
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]+) \|$", glossary, flags=re.M)
    assert rows[0] == ("word", "also known as", "meaning")
    words = [word for word, _, _ in rows[2:]]
    assert words == sorted(words, key=str.casefold)
    for needed in ("context", "random Fourier features", "AGOP resampling", "innovation"):
        assert needed in words
