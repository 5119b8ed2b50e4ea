"""Seeding: a name is a stream, the same everywhere, and other names are other streams."""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.seeding import generator, seed_field, with_seed

PATHS = st.lists(st.text(":/ab1") | st.integers(0, 20), max_size=3).map(tuple)


def numbers(seed, *path):
    return generator(seed, *path).integers(2**62, size=4).tolist()


@given(seed=st.integers(0, 2**64), path=PATHS)
@settings(deadline=None, max_examples=30)
def test_the_same_name_gives_the_same_numbers(seed, path):
    assert numbers(seed, *path) == numbers(seed, *path)


@given(first=st.tuples(st.integers(0, 3), PATHS), second=st.tuples(st.integers(0, 3), PATHS))
@settings(deadline=None, max_examples=200)
def test_different_names_give_different_numbers(first, second):
    same = numbers(first[0], *first[1]) == numbers(second[0], *second[1])
    assert same == (first == second)


def test_words_that_look_alike_are_different_names():
    looks_alike = [("a", "b"), ("a/b",), ("ab",), ("a/str:b",), ("b", "a"), ("1",), (1,), ()]
    assert len({tuple(numbers(0, *path)) for path in looks_alike}) == len(looks_alike)


def test_numbers_from_numpy_name_the_same_stream_as_pythons():
    assert numbers(np.int64(3), "episode", np.int32(5)) == numbers(3, "episode", 5)


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_another_process_draws_the_same_numbers(hash_seed):
    program = (
        "from kodex.seeding import generator;"
        "print(generator(7, 'starts', 'door', 2).integers(2**62, size=4).tolist())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == str(numbers(7, "starts", "door", 2))


def test_streams_of_neighbouring_names_are_uncorrelated():
    draws = np.array([generator(0, "episode", i).standard_normal(2000) for i in range(20)])
    correlations = np.corrcoef(draws)[np.triu_indices(20, k=1)]
    # 190 correlations with a standard deviation of 1/√2000 each: 5 of them is far out.
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_seeds_below_zero_and_names_that_are_no_words_are_refused():
    with pytest.raises(InputError, match="0 or more; found -1"):
        generator(-1)
    with pytest.raises(TypeError):
        generator(0, 0.5)


@dataclass(frozen=True)
class Leaf:
    """Settings with a seed."""

    size: int = 3
    seed: int = seed_field()
    draw_seed: int = 1  # no seed of the method


@dataclass(frozen=True)
class Branch:
    """Settings that hold others."""

    left: Leaf = Leaf()
    right: Leaf | None = None
    more: tuple[Leaf, ...] = ()
    name: str = "branch"


def test_every_seed_of_settings_is_replaced_and_nothing_else():
    assert with_seed(Branch(Leaf(5), Leaf()), 7) == Branch(Leaf(5, 7), Leaf(3, 7))
    assert with_seed(Branch(), 7) == Branch(Leaf(3, 7), None)
    assert with_seed(Branch(more=(Leaf(), Leaf(1))), 7).more == (Leaf(3, 7), Leaf(1, 7))
