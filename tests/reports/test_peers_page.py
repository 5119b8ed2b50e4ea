"""The page of the peers says what their files say."""

import json

from benchmarks.peers.page import page_of


def row(method, count, successes, seconds):
    return {
        "task": "door",
        "demonstrations": count,
        "method": method,
        "successes": successes,
        "episodes": 50,
        "low": 0.5,
        "high": 0.75,
        "seconds": seconds,
    }


def test_the_page_has_a_line_per_method_and_a_pair_of_columns_per_number_of_demonstrations(
    tmp_path,
):
    rows = [row("knn", 10, 30, 0.04), row("xrfm", 10, 31, 12.0), row("knn", 200, 49, 0.1)]
    (tmp_path / "door.json").write_text(json.dumps(rows))
    lines = page_of(tmp_path).splitlines()
    assert "## Door, 50 starts" in lines
    assert "| | 10 demonstrations | learn, s | 200 demonstrations | learn, s |" in lines
    assert "| `knn` | 60.0 [50.0, 75.0] | 0.0 | 98.0 [50.0, 75.0] | 0.1 |" in lines
    assert "| `xrfm` | 62.0 [50.0, 75.0] | 12.0 |  |  |" in lines
