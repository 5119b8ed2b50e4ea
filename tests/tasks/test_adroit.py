"""The Adroit models: the pinned version, its time step and its servos."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from kodex.errors import InputError, MissingFeatureError
from kodex.tasks import TASKS, adroit, task

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_models_are_of_the_version_that_the_project_pins():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert f"gymnasium-robotics=={adroit.ASSETS_VERSION}" in extras["adroit"]
    assert version("gymnasium-robotics") == adroit.ASSETS_VERSION


def test_models_of_another_version_are_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(adroit, "ASSETS_VERSION", "1.2.0")
    with pytest.raises(MissingFeatureError, match=r"1\.2\.0; found .* pip install .*\[adroit\]"):
        adroit._compiled.__wrapped__("adroit_door.xml")


@pytest.mark.parametrize("name", TASKS)
def test_an_action_lasts_ten_milliseconds(name):
    a_task = task(name)
    simulation = a_task.simulation(1)
    simulation.reset(a_task.starts("in", count=1, seed=0))
    simulation.step(np.zeros((1, a_task.action_size)))
    np.testing.assert_allclose(simulation.time(), 0.01)


def test_loading_gives_a_model_of_ones_own():
    adroit.load("adroit_door.xml").body_mass[:] = 0.0
    assert adroit.load("adroit_door.xml").body_mass.max() > 0.0


def test_a_density_cannot_be_scaled_to_nothing():
    with pytest.raises(InputError, match="positive factor only; found 0"):
        adroit.scale_density(adroit.load("adroit_pen.xml"), "Object", 0.0)
