"""The notebooks run from top to bottom, as plain Python."""

import json
import re

import numpy as np
import pytest

from tests.test_documented_code import ROOT

NOTEBOOKS = ROOT / "examples" / "notebooks"


def run(name, **small):
    """Execute the code cells of a notebook in one namespace, with smaller settings."""
    given = {}
    for cell in json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            for setting, value in small.items():
                code = re.sub(rf"^{setting} = .*$", f"{setting} = {value}", code, flags=re.M)
            exec(code, given)
    return given


def test_the_notebook_about_own_data_reaches_its_target(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = run("own_data.ipynb")
    assert given["joint"] == pytest.approx(given["target"], abs=0.02)


def test_the_notebook_about_a_figure_draws_it(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    given = run("reproduce_figure.ipynb", EPISODES=6)
    assert len(given["demonstrations"]) == 6
    # Set 3 of 28 joints: themselves, pairs, cubes; of 7 object numbers: themselves, pairs, x²y.
    assert len(given["eigenvalues"]) == (28 + 28 * 29 // 2 + 28) + (7 + 7 * 8 // 2 + 7 * 7)
    assert np.abs(given["eigenvalues"]).max() > 0.9
    assert (tmp_path / "eigenvalues.png").stat().st_size > 5000
