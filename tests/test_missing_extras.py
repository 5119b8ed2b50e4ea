"""What is not installed costs one sentence, with a command that is right where kodex is."""

import sys
import tomllib
from pathlib import Path

import pytest

import kodex
from kodex import errors
from kodex.errors import DISTRIBUTION, EXTRAS, MissingFeatureError, explaining, install_command

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def test_the_name_on_the_package_index_is_the_projects():
    assert PROJECT["name"] == DISTRIBUTION


def test_every_extra_that_is_advised_exists():
    assert set(EXTRAS.values()) <= set(PROJECT["optional-dependencies"])


def test_the_core_names_no_simulator_and_no_plots():
    names = {requirement.split(">")[0] for requirement in PROJECT["dependencies"]}
    assert names.isdisjoint({"mujoco", "gymnasium", "gymnasium-robotics", "matplotlib", "torch"})


def test_advice_in_a_checkout_is_to_install_the_checkout(monkeypatch, tmp_path):
    checkout = Path(kodex.__file__).parents[1]
    monkeypatch.chdir(checkout)
    assert install_command("train") == "pip install -e '.[train]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("train") == f"pip install -e '{checkout}[train]'"


def test_advice_for_an_installed_package_names_the_distribution(monkeypatch, tmp_path):
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "kodex" / "errors.py"))
    assert install_command("train") == "pip install 'kodex-skills[train]'"
    assert install_command() == "pip install 'kodex-skills'"


def test_a_missing_extra_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        pytest.raises(MissingFeatureError, match=r"a table needs pyarrow: pip install .*parquet"),
        explaining("a table"),
    ):
        import pyarrow  # noqa: F401


def test_an_extra_that_is_too_old_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)
    with (
        pytest.raises(MissingFeatureError, match=r"a task needs mujoco in a newer version: pip"),
        explaining("a task"),
    ):
        import mujoco.batch  # noqa: F401


def test_a_mistake_in_an_import_is_not_called_a_missing_extra():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), explaining("a table"):
        import no_such_module  # noqa: F401
