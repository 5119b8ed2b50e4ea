"""Demonstrations of any lengths in one block, in one choice of units."""

import numpy as np
import pytest
from toy_motions import MOTIONS, STEPS, demonstrations

from kodex.baselines import NnLearner
from kodex.baselines.learning import Sequences, masked_mean, prepare

UNEVEN = demonstrations(MOTIONS["rotation"], 6, lengths=(STEPS, 5, 2))


def test_a_short_demonstration_is_masked_after_its_end():
    sequences = Sequences.of(UNEVEN)
    assert sequences.mask.sum(axis=1).tolist() == [STEPS, 5, 2] * 2
    np.testing.assert_array_equal(
        sequences.samples(), np.concatenate([each.states for each in UNEVEN])
    )
    changes = np.concatenate([np.diff(each.states, axis=0) for each in UNEVEN])
    np.testing.assert_array_equal(sequences.changes(), changes)


def test_an_error_after_the_end_does_not_count():
    sequences = Sequences.of(UNEVEN)
    error = np.where(sequences.mask[..., None] > 0, 2.0, 1e9) * np.ones(3)
    assert masked_mean(error, sequences.mask) == 2.0


@pytest.mark.parametrize("length", [2, 4])
def test_pieces_hold_every_transition_as_often_as_it_is_seen(length):
    pieces = Sequences.of(UNEVEN).cut(length)
    real = pieces["mask"][:, 1] > 0
    assert real.all()
    assert pieces["states"].shape[1:] == (length, 3)
    if length == 2:
        assert len(pieces["states"]) == sum(len(each) - 1 for each in UNEVEN)


def test_pieces_longer_than_all_are_the_whole():
    assert Sequences.of(UNEVEN).cut(99)["states"].shape == (6, STEPS, 3)


@pytest.mark.parametrize("steps", [1, 4, 7, STEPS - 1, 99])
def test_pieces_in_motion_leave_no_transition_out_and_know_how_fast_they_begin(steps):
    sequences = Sequences.of(UNEVEN)
    pieces = sequences.cut_in_motion(steps)
    seen = {
        (*states[k], *states[k + 1])
        for states, mask in zip(pieces["states"], pieces["mask"], strict=True)
        for k in range(len(mask) - 1)
        if mask[k + 1]
    }
    shown = [pair for each in UNEVEN for pair in zip(each.states, each.states[1:], strict=False)]
    assert seen == {(*before, *after) for before, after in shown}
    assert pieces["begins"].sum() == len(UNEVEN)
    joints = len(sequences.layout.robot)
    pairs = {(*pair[0][:joints].round(9), *pair[1][:joints].round(9)) for pair in shown}
    firsts = {tuple(each.states[0]) for each in UNEVEN}
    for index, begins in enumerate(pieces["begins"][:, 0]):
        now, change = pieces["states"][index, 0, :joints], pieces["change"][index]
        assert tuple(pieces["first"][index]) in firsts
        if begins:
            assert not change.any()
        else:  # the state before it is a demonstrated one
            assert (*(now - change).round(9), *now.round(9)) in pairs


def test_standard_units_come_from_what_is_learned_alone():
    many = demonstrations(MOTIONS["rotation"], 20)
    far = demonstrations(1.3 * MOTIONS["rotation"], 5)
    data = prepare(NnLearner(standardise=True), many, far)
    np.testing.assert_allclose(data.training.samples().mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.training.samples().std(axis=0), 1.0)
    assert np.abs(data.validation.samples()[:, :2]).max() > 5.0
