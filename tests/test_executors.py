"""Work in pieces: nobody can tell from results who did it, how many they were, in which order."""

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodex.errors import InputError, MissingFeatureError
from kodex.executors import TreeSum, finished, in_order, one_blas_thread, side_by_side
from kodex.executors import tree_sum as sum_on
from tests.made_executors import Travelling

TERMS = st.lists(st.floats(-1e8, 1e8), min_size=1, max_size=40)


def tree_sum(terms, order=None):
    tree = TreeSum()
    for index in order if order is not None else range(len(terms)):
        tree.add(index, terms[index])
    return tree.total()


@given(terms=TERMS, data=st.data())
def test_a_tree_sum_is_the_same_to_the_last_bit_in_any_order_of_arrival(terms, data):
    order = data.draw(st.permutations(range(len(terms))))
    assert tree_sum(terms, order) == tree_sum(terms)
    np.testing.assert_allclose(tree_sum(terms), np.sum(terms), atol=1e-6)


@given(terms=TERMS, level=st.integers(0, 5))
def test_sums_of_2_to_the_k_neighbours_leave_a_tree_sum_as_it_was(terms, level):
    size = 2**level
    sums = [tree_sum(terms[first : first + size]) for first in range(0, len(terms), size)]
    assert tree_sum(sums) == tree_sum(terms)


@given(count=st.integers(0, 70))
def test_every_term_is_added_once_and_few_are_kept(count):
    tree = TreeSum()
    for index in range(count):
        tree.add(index, 1)
        assert len(tree._nodes) <= 7
    assert (tree.total() or 0) == count


def test_a_sum_of_nothing_is_none():
    assert TreeSum().total() is None


@pytest.mark.parametrize("ahead", [1, 2, 100])
def test_results_come_back_in_order_and_no_more_are_given_out_than_wanted(ahead):
    given_out = []

    def arguments():
        for index in range(9):
            given_out.append(index)
            yield (index, 2)

    with ThreadPoolExecutor(3) as pool:
        for index, result in enumerate(in_order(pow, arguments(), pool, ahead=ahead)):
            assert result == index**2
            assert len(given_out) <= index + 1 + ahead
    assert given_out == list(range(9))


def test_without_an_executor_the_work_is_done_here():
    assert list(finished(pow, [(2, 3), (3, 2)], None)) == [(0, 8), (1, 9)]


def test_what_a_piece_refuses_is_refused_and_the_rest_is_cancelled():
    pending = Future()

    class Stuck(Travelling):
        def submit(self, function, /, *arguments, **named):
            return pending if arguments[-1] == 0 else super().submit(function, *arguments, **named)

    with pytest.raises(ValueError, match="invalid literal"):
        list(finished(int, [(0,), ("seven",)], Stuck()))
    assert pending.cancelled()


def test_an_error_of_the_work_keeps_what_its_worker_said_of_it():
    error = ValueError("of the work")
    error.__cause__ = RuntimeError("the worker's own lines")

    class Failing(Travelling):
        def submit(self, function, /, *arguments, **named):
            future = Future()
            future.set_exception(error)
            return future

        def tree_sum(self, function, arguments):
            raise error

    for work in (finished, sum_on):
        with pytest.raises(ValueError, match="of the work") as raised:
            list(work(int, [("7",)], Failing()))
        assert str(raised.value.__cause__) == "the worker's own lines"


@pytest.mark.parametrize("work", [lambda *given: list(finished(*given)), sum_on])
def test_what_is_no_executor_such_as_a_client_of_dask_is_one_sentence(work):
    class Client:
        def submit(self, function, *arguments):
            raise AssertionError("nothing is to be given to it")

    with pytest.raises(
        InputError, match=r"ClusterExecutor\(client\) of a Dask client; found Client"
    ):
        work(int, [("7",)], Client())


class KilledWorker(Exception):  # noqa: N818 (its name is what we look at)
    """What Dask says when workers die of a piece of work."""


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (BrokenProcessPool("gone"), "a worker was killed, perhaps for lack of memory"),
        (KilledWorker("gone"), "one piece of the work ended several workers"),
        (ModuleNotFoundError("No", name="kodex"), "a worker has no kodex: install"),
        (
            MissingFeatureError("a task needs mujoco"),
            "worker lacks must be .*: a task needs mujoco",
        ),
        (ModuleNotFoundError("No", name="mine"), "a worker has no module 'mine', .*PYTHONPATH"),
    ],
)
def test_workers_that_died_or_lack_a_module_are_one_sentence(error, sentence):
    class Dead(Travelling):
        def submit(self, function, /, *arguments, **named):
            future = Future()
            future.set_exception(error)
            return future

    with pytest.raises(InputError, match=sentence):
        list(finished(int, [("7",)], Dead()))


def test_blas_keeps_one_thread_until_the_last_piece_of_work_beside_others_has_ended():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts():
        found = threadpoolctl.threadpool_info()
        return {each["num_threads"] for each in found if each["user_api"] == "blas"}

    first, second = one_blas_thread(), one_blas_thread()
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = counts()
        first.__enter__()
        second.__enter__()  # as in another thread of a worker
        first.__exit__(None, None, None)
        assert counts() == {1}
        second.__exit__(None, None, None)
        assert counts() == before


def test_results_of_threads_are_in_order_and_those_of_one():
    sizes = [300, 3, 200, 30]

    def product(size):
        numbers = np.random.default_rng(size).standard_normal((size, size))
        return numbers @ numbers.T

    for found, size in zip(side_by_side(product, sizes), sizes, strict=True):
        np.testing.assert_array_equal(found, product(size))
