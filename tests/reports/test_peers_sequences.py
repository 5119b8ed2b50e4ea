"""Peers that learn sequences: what they see of demonstrations, and how long they learn."""

from itertools import count

import numpy as np

from benchmarks.peers import sequences
from benchmarks.peers.sequences import SequencePeer
from kodex.networks.mlp import Standardiser
from kodex.testing import check_policy
from kodex.trajectory import StateLayout, Trajectory


class Nudge:
    """A family whose network is one number: how many steps of descent it took."""

    def standardisers(self, states, actions):
        return Standardiser.identity(states.shape[1]), Standardiser.identity(actions.shape[1])

    def windows(self):
        return range(-1, 1), range(-1, 3)

    def made(self, layout, action_size, data, seed):
        self.data, self.size, self.updates = data, action_size, 0

    def update(self):
        self.updates += 1

    def begin(self, first):
        return 0

    def act(self, memory, states):
        return np.repeat(states[:, :1] + memory, self.size, axis=1), memory + 1


def demonstrations(lengths=(4, 4)):
    layout = StateLayout(robot=("joint",), object=("place",))
    rows = [np.arange(2.0 * (length + 1)).reshape(-1, 2) for length in lengths]
    return [Trajectory(layout, x, actions=x[:-1, :1]) for x in rows]


def learned(monkeypatch, seconds):
    family = Nudge()
    monkeypatch.setattr(
        sequences,
        "import_module",
        lambda _: type("Module", (), {"FAMILIES": {"act": lambda: family}}),
    )
    return family, list(SequencePeer("act", seconds).policies(demonstrations()))


def test_beyond_an_episode_its_nearest_step_is_repeated_and_marked(monkeypatch):
    family, _ = learned(monkeypatch, [0.0])
    assert family.data.states[0, :, 0].tolist() == [0.0, 0.0]
    assert family.data.actions[3, :, 0].tolist() == [4.0, 6.0, 6.0, 6.0]
    assert family.data.padded[3].tolist() == [False, False, True, True]
    assert family.data.padded[4].tolist() == [True, False, False, False]


def test_a_training_goes_on_from_budget_to_budget(monkeypatch):
    clock = count()  # every look at it takes a second
    monkeypatch.setattr(sequences.time, "process_time", lambda: float(next(clock)))
    family, points = learned(monkeypatch, [8.0, 5.0])
    assert [(each.budget, each.steps) for each in points] == [("5 s", 4), ("8 s", 6)]
    assert family.updates == 6


def test_a_sequence_keeps_the_contract_of_a_policy(monkeypatch):
    _, points = learned(monkeypatch, [0.0])
    check_policy(points[0].policy, demonstrations())
