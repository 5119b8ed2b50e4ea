"""What holds for every controller, whichever way it was made."""

import numpy as np
import pytest

from kodex.controllers import (
    CONTROLLERS,
    InverseMlpLearner,
    PdControllerLearner,
    RidgeControllerLearner,
    restore_controller,
)
from kodex.errors import InputError
from kodex.storage import Stored, read_model, write_model
from kodex.testing import check_controller
from tests.controllers.known_servos import SERVOS, affine_action, demonstrations

LEARNERS = {
    "ridge": RidgeControllerLearner(),
    "inverse_mlp": InverseMlpLearner(iterations=2, show_progress=False),
    "pd": PdControllerLearner(SERVOS),
}
NEED_ACTIONS = ("ridge", "inverse_mlp")
DEMONSTRATIONS = demonstrations(affine_action)


@pytest.fixture(scope="module", params=LEARNERS)
def learned(request):
    return request.param, LEARNERS[request.param].fit(DEMONSTRATIONS)


def joints(*shape):
    generator = np.random.default_rng(5)
    current = generator.normal(size=(*shape, 3))
    return current, current + 0.1 * generator.normal(size=(*shape, 3))


def test_every_stored_type_has_a_learner_in_this_file():
    assert set(LEARNERS) == set(CONTROLLERS)


def test_it_keeps_the_public_contract(learned):
    check_controller(learned[1], DEMONSTRATIONS[:4])
    assert learned[1].action_size == 3


def test_a_batch_is_the_same_as_one_by_one(learned):
    _, controller = learned
    current, desired = joints(4, 5)
    together = controller.act(current, desired)
    assert together.shape == (4, 5, 3)
    assert together.dtype == np.float64
    alone = [
        [controller.act(c, d) for c, d in zip(*rows, strict=True)]
        for rows in zip(current, desired, strict=True)
    ]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_leading_axes_broadcast(learned):
    _, controller = learned
    current, desired = joints(6)
    expected = controller.act(current, np.broadcast_to(desired[0], current.shape))
    np.testing.assert_allclose(controller.act(current, desired[0]), expected, atol=1e-6)


def test_acting_leaves_its_arguments_alone(learned):
    _, controller = learned
    current, desired = joints(6)
    kept = current.copy(), desired.copy()
    controller.act(current, desired)
    np.testing.assert_array_equal((current, desired), kept)


def test_it_comes_back_from_disk_bit_for_bit(learned, tmp_path):
    name, controller = learned
    folder = write_model(controller.stored(), tmp_path / "controller")
    again = restore_controller(read_model(folder))
    assert type(again) is type(controller)
    assert read_model(folder).type == name
    np.testing.assert_array_equal(again.act(*joints(9)), controller.act(*joints(9)))
    np.testing.assert_array_equal(again.act(*joints()), controller.act(*joints()))


def test_learning_twice_gives_the_same_controller(learned):
    name, controller = learned
    again = LEARNERS[name].fit(DEMONSTRATIONS)
    np.testing.assert_array_equal(again.act(*joints(9)), controller.act(*joints(9)))


@pytest.mark.parametrize("current, desired", [(2, 3), (3, 4)])
def test_joints_of_another_size_are_refused(learned, current, desired):
    with pytest.raises(InputError, match=r"must have 3 components.*found shape \(7, [24]\)"):
        learned[1].act(np.zeros((7, current)), np.zeros((7, desired)))


@pytest.mark.parametrize("name", LEARNERS)
def test_no_demonstrations_are_refused(name):
    with pytest.raises(InputError, match="no demonstration was given"):
        LEARNERS[name].fit([])


@pytest.mark.parametrize("name", NEED_ACTIONS)
def test_demonstrations_without_actions_are_refused_with_the_way_out(name):
    state_only = demonstrations(None)
    with pytest.raises(
        InputError, match=r"demonstration 0 has states but no actions.*pd controller"
    ):
        LEARNERS[name].fit(state_only)
    with pytest.raises(InputError, match="no actions"):
        LEARNERS[name].fit(DEMONSTRATIONS, validation=state_only)


def test_pd_learns_from_states_alone():
    assert LEARNERS["pd"].fit(demonstrations(None)).action_size == 3


@pytest.mark.parametrize("name", NEED_ACTIONS)
def test_numbers_that_are_not_finite_are_refused(name):
    broken = demonstrations(lambda q, q_next: np.where(q > 1e9, 0.0, np.nan))
    with pytest.raises(InputError, match="not finite"):
        LEARNERS[name].fit(broken)


def test_a_type_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match=r"knows the controllers ridge, inverse_mlp, pd.*'magic'"):
        restore_controller(Stored(type="magic"))
