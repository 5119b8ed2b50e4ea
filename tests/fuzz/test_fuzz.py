"""A sample of the fuzzing that `make fuzz` does at length, and everything that it ever found."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.fuzz.trying import judged, mutated, restore, whole_sample

CORPUS = Path(__file__).parent / "corpus"
SAMPLE = 25


@pytest.mark.parametrize("name", TARGETS)
def test_changed_files_are_refused_in_one_sentence_or_read_right(name, tmp_path):
    sample = whole_sample(name, tmp_path)
    assert judged(sample, tmp_path, only_bytes=True) == "accepted"  # as it was written
    verdicts = {}
    for number in range(SAMPLE):
        only_bytes = mutated(name, sample, number, tmp_path)
        verdicts[number] = judged(sample, tmp_path, only_bytes)
    assert {number: each for number, each in verdicts.items() if len(each.split()) > 1} == {}
    assert "refused" in verdicts.values()


@pytest.mark.parametrize("name", sorted(each.name for each in CORPUS.iterdir()))
def test_what_was_found_before_is_refused_in_one_sentence(name, tmp_path):
    sample = whole_sample(name, tmp_path)
    for found in sorted((CORPUS / name).iterdir()):
        restore(sample.files, tmp_path)
        for path in found.rglob("*"):
            if path.is_file():
                (tmp_path / path.relative_to(found)).write_bytes(path.read_bytes())
        assert judged(sample, tmp_path, only_bytes=False) == "refused", found.name
