"""What benchmarks write says that kodex made it, and takes the place of nobody else's files."""

from pathlib import Path

import pytest

from benchmarks import choosing, chunks, monitor
from kodex.errors import InputError
from kodex.storage import check_output

RESULTS = Path(__file__).parents[2] / "docs" / "results"
WRITTEN = {
    "choosing.md": "page of a benchmark",
    "alternatives.md": "page of a benchmark",
    "chunks.md": "page of a benchmark",
    "metaworld/README.md": "page of a benchmark",
    "chunks.json": "kodex-chunks file",
    "monitor/monitor.json": "kodex-monitor file",
    "metaworld/reach-v3.json": "kodex-metaworld file",
}


@pytest.mark.parametrize(("name", "kind"), WRITTEN.items())
def test_what_is_published_may_be_replaced_by_its_own_kind_alone(name, kind):
    check_output(RESULTS / name, replace=True, kind=kind)
    with pytest.raises(InputError, match=r"only a page of peers would be replaced"):
        check_output(RESULTS / name, replace=True, kind="page of peers")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (choosing.main, "notes.md"),
        (chunks.main, "notes.md"),
        (chunks.main, "notes.json"),
        (monitor.main, "monitor.json"),
    ],
)
def test_a_file_of_somebody_is_left_alone_before_anything_is_measured(
    tmp_path, monkeypatch, command, name
):
    for module, measuring in ((choosing, "row_of"), (chunks, "success"), (monitor, "measured")):
        monkeypatch.setattr(module, measuring, lambda *_: pytest.fail("it was measured"))
    (tmp_path / name).write_text('["mine"]')
    out = tmp_path if command is monitor.main else tmp_path / "notes.md"
    with pytest.raises(InputError, match=name):
        command(["--out", str(out)])
    assert (tmp_path / name).read_text() == '["mine"]'
