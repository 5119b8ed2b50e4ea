"""The page of the peers: a table per task and number of demonstrations, from their files alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD = """\
# Peers: what a user would pick instead, on the same demonstrations

<!-- Made by `python -m benchmarks.peers --out docs/results/peers`; do not edit. -->

```sh
.venv-peers/bin/python -m benchmarks.peers TASK --out docs/results/peers
```

Every method learns from the same demonstrations of the shipped experts, as many in all as the
heading says, with the same goal as context, and faces the same starts: those for validation, in
distribution, so that looking at budgets chooses nothing by published starts. One draw of
demonstrations and one seed. Success in % with Wilson's 95 % interval; seconds of the processor to
learn, on one thread of a machine that others used too. `mlp` is scikit-learn's `MLPRegressor`
(256, 256), `d3rlpy-bc` the behaviour cloning of d3rlpy 2.8.1, `xrfm` the recursive feature
machine of xRFM 0.4.5, each with its own settings; `knn` and `kernel-ridge` are recipes of kodex.
A row METHOD-N-epochs is a budget: the rows of a method together are its time to success.
`benchmarks/peers` has the script and the versions.

Not measured: LeRobot's ACT and Diffusion Policy and robomimic's BC-RNN. Their documented cost is
30 to 60 minutes (ACT) and 2 to 4 hours (diffusion) on an RTX 4090; LeRobot's hardware guide
advises against training without a GPU.
"""


def page_of(folder: Path) -> str:
    """Return the page of what was measured in `folder`, as Markdown."""
    lines = [HEAD.rstrip("\n")]
    for file in sorted(folder.glob("*.json")):
        lines += _tables(json.loads(file.read_text(encoding="utf-8")))
    return "\n".join(lines) + "\n"


def _tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    counts = list(dict.fromkeys(row["demonstrations"] for row in rows))
    task, starts = rows[0]["task"].capitalize(), rows[0]["episodes"]
    found = {(row["method"], row["demonstrations"]): row for row in rows}
    yield from ("", f"## {task}, {starts} starts", "")
    yield "| | " + " | ".join(f"{count} demonstrations | learn, s" for count in counts) + " |"
    yield "| --- |" + " ---: | ---: |" * len(counts)
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [_cells(found.get((method, count))) for count in counts]
        yield f"| `{method}` | " + " | ".join(cells) + " |"


def _cells(row: dict[str, Any] | None) -> str:
    if row is None:
        return " | "
    rate, low, high = (
        100 * each for each in (row["successes"] / row["episodes"], row["low"], row["high"])
    )
    return f"{rate:.1f} [{low:.1f}, {high:.1f}] | {row['seconds']:.1f}"
