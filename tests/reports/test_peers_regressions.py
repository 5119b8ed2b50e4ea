"""Peers that regress actions on states: from how many demonstrations they learn."""

import numpy as np
import pytest

from benchmarks.peers import regressors
from benchmarks.peers.regressors import REGRESSIONS, RegressionPeer
from kodex.trajectory import StateLayout, Trajectory

STEPS = 4


def demonstrations(count):
    layout = StateLayout(robot=("joint",), object=("place",))
    random = np.random.default_rng(0)
    states = random.normal(size=(count, STEPS + 1, 2))
    return [Trajectory(layout, x, actions=x[:-1]) for x in states]


def learned(monkeypatch, name, count):
    """Return what the peer `name` was given of `count` demonstrations, and what it learned."""
    given = {}

    def fit(data, held, budgets, seed):
        given.update(data=data, held=held)
        yield None, lambda states: states

    monkeypatch.setattr(regressors, "REGRESSIONS", {name: fit})
    (point,) = RegressionPeer(name).policies(demonstrations(count))
    return given["data"], given["held"], point


@pytest.mark.parametrize("name", sorted(set(REGRESSIONS) - {"xrfm"}))
@pytest.mark.parametrize("count", [1, 4, 10])
def test_a_peer_that_does_not_validate_learns_from_all_demonstrations(monkeypatch, name, count):
    data, held, point = learned(monkeypatch, name, count)
    assert len(data.states) == len(data.actions) == count * STEPS
    assert held is None
    assert point.held_out == 0.0


def test_a_peer_that_validates_is_given_a_fifth_for_it_and_says_so(monkeypatch):
    data, held, point = learned(monkeypatch, "xrfm", 10)
    assert (len(data.states), len(held.states)) == (8 * STEPS, 2 * STEPS)
    assert point.held_out == 0.2


def test_the_network_of_scikit_learn_learns_at_every_budget():
    pytest.importorskip("sklearn")
    points = RegressionPeer("mlp", epochs=(2, 1)).policies(demonstrations(2))
    assert [each.budget for each in points] == ["1 epochs", "2 epochs"]
