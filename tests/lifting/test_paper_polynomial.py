"""PaperPolynomial: the observables of the paper, by its table and by hand."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import PaperPolynomial
from kodex.trajectory import StateLayout

# task -> (robot components, object components), observables of sets 1 to 4: the paper's table
TABLE = {
    "tool": ((26, 15), (82, 512, 763, 1413)),
    "door": ((28, 7), (70, 469, 546, 1302)),
    "relocation": ((30, 12), (84, 585, 759, 1629)),
    "reorientation": ((24, 12), (72, 414, 582, 1134)),
}
TINY = StateLayout(robot=("thumb_0", "thumb_1"), object=("x", "y"))
STATE = np.array([2.0, 3.0, 5.0, 7.0])


def layout_of(robot, object):
    return StateLayout(
        robot=tuple(f"joint_{i}" for i in range(robot)),
        object=tuple(f"object_{i}" for i in range(object)),
    )


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("task", TABLE)
def test_the_number_of_observables_is_the_papers(task, number):
    sizes, counts = TABLE[task]
    lifting = PaperPolynomial(layout_of(*sizes), number)
    assert len(lifting.names) == counts[number - 1]
    assert lifting.lift(np.ones(sum(sizes))).shape == (counts[number - 1],)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, [2, 3, 4, 9, 5, 7, 25, 49]),
        (2, [2, 3, 4, 6, 9, 5, 7, 25, 35, 49]),
        (3, [2, 3, 4, 6, 9, 8, 27, 5, 7, 25, 35, 49, 125, 175, 245, 343]),
        (4, [2, 3, 4, 6, 9, 8, 12, 18, 27, 5, 7, 25, 35, 49, 125, 175, 245, 343]),
    ],
)
def test_the_sets_of_two_joints_and_a_point_are_as_multiplied_by_hand(number, expected):
    np.testing.assert_array_equal(PaperPolynomial(TINY, number).lift(STATE), expected)


def test_set_3_reads_as_in_the_paper():
    assert PaperPolynomial(TINY, 3).names == (
        "thumb_0",
        "thumb_1",
        "thumb_0^2",
        "thumb_0 * thumb_1",
        "thumb_1^2",
        "thumb_0^3",
        "thumb_1^3",
        "x",
        "y",
        "x^2",
        "x * y",
        "y^2",
        "x^3",
        "x^2 * y",
        "x * y^2",
        "y^3",
    )


def test_no_observable_mixes_robot_and_object():
    for number in (1, 2, 3, 4):
        for name in PaperPolynomial(TINY, number).names:
            assert ("thumb" in name) != ("x" in name or "y" in name)


def test_a_set_that_the_paper_does_not_have_is_refused():
    with pytest.raises(InputError, match=r"sets 1 to 4 of observables; found 5"):
        PaperPolynomial(TINY, 5)
