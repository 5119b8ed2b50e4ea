"""Held-out demonstrations: a seeded share of whole ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trajectories import numbered, numbers_of

from kodex.demonstrations.trajectory_set import hold_out
from kodex.errors import InputError


def held(count, share, seed=0, purpose="controller"):
    return [numbers_of(part) for part in hold_out(numbered(count), share, seed, purpose=purpose)]


@settings(deadline=None, max_examples=30)
@given(count=st.integers(2, 30), share=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_every_demonstration_is_on_one_side_in_order_and_neither_side_is_empty(count, share, seed):
    trained_on, validated_on = held(count, share, seed)
    assert sorted(trained_on + validated_on) == list(range(count))
    assert trained_on == sorted(trained_on) != []
    assert validated_on == sorted(validated_on) != []
    assert abs(len(validated_on) - share * count) <= 1.0


def test_a_draw_is_named_by_its_seed_and_its_purpose():
    assert held(20, 0.2) == held(20, 0.2)
    assert held(20, 0.2) != held(20, 0.2, seed=1)
    assert held(20, 0.2) != held(20, 0.2, purpose="baseline")


def test_a_single_demonstration_has_to_do_both():
    assert held(1, 0.2) == [[0], [0]]


def test_a_share_that_is_no_share_is_refused():
    with pytest.raises(InputError, match=r"between 0 and 1; found 1\.5"):
        held(5, 1.5)
