"""Variations: each changes the masses that it names and nothing else."""

import mujoco
import numpy as np
import pytest

from kodex.errors import InputError
from kodex.tasks import TASKS, task

KNUCKLES = ("ffknuckle", "mfknuckle", "rfknuckle", "lfknuckle")
# Appendix I: the bodies, and the mass of each in kg (a pen is 0.1820 kg at its usual 1.5 g/cm³)
MASSES = {
    ("tool", "heavy-object"): (("Object",), 0.85),
    ("tool", "light-object"): (("Object",), 0.10),
    ("tool", "light-hand"): (("forearm",), 1.0),
    ("tool", "heavy-hand"): (("forearm",), 8.0),
    ("door", "heavy-object"): (("latch",), 12.54),
    ("door", "light-object"): (("latch",), 0.54),
    ("door", "light-hand"): (("forearm",), 1.5),
    ("door", "heavy-hand"): (("forearm",), 7.0),
    ("relocation", "heavy-object"): (("Object",), 1.88),
    ("relocation", "light-object"): (("Object",), 0.05),
    ("relocation", "light-hand"): (("forearm",), 3.0),
    ("relocation", "heavy-hand"): (("forearm",), 5.0),
    ("reorientation", "heavy-object"): (("Object",), 0.1820379 * 9.5 / 1.5),
    ("reorientation", "light-object"): (("Object",), 0.1820379 * 0.2 / 1.5),
    ("reorientation", "light-hand"): (KNUCKLES, 0.0001),
    ("reorientation", "heavy-hand"): (KNUCKLES, 0.20),
}
# What mj_setConst derives from masses and inertias.
DERIVED = {
    "actuator_acc0",
    "body_invweight0",
    "body_subtreemass",
    "cam_poscom0",
    "dof_M0",
    "dof_invweight0",
    "light_poscom0",
    "tendon_invweight0",
}


def differing_fields(one, other):
    return {
        field
        for field in dir(one)
        if isinstance(getattr(one, field), np.ndarray)
        and not np.array_equal(getattr(one, field), getattr(other, field))
    }


def test_every_task_has_the_papers_four():
    for name in TASKS:
        expected = {variation for owner, variation in MASSES if owner == name}
        assert set(task(name).variations) == expected


@pytest.mark.parametrize(("name", "variation"), MASSES)
def test_a_variation_changes_what_it_names_and_nothing_else(name, variation):
    usual, varied = task(name).model(), task(name, variation).model()
    bodies, mass = MASSES[name, variation]
    is_pen = (name, bodies) == ("reorientation", ("Object",))
    fields = {"body_mass", "body_inertia"} if is_pen else {"body_mass"}
    found = differing_fields(usual, varied)
    assert fields <= found <= fields | DERIVED
    changed = {usual.body(i).name for i in np.flatnonzero(usual.body_mass != varied.body_mass)}
    assert changed == set(bodies)
    for body in bodies:
        np.testing.assert_allclose(varied.body(body).mass, mass, rtol=1e-6)
    assert varied.opt.timestep == usual.opt.timestep


@pytest.mark.parametrize("variation", ["heavy-object", "light-object"])
def test_the_pens_inertia_changes_as_its_mass_does(variation):
    usual = task("reorientation").model().body("Object")
    varied = task("reorientation", variation).model().body("Object")
    scale = np.full(3, varied.mass[0] / usual.mass[0])
    np.testing.assert_allclose(varied.inertia / usual.inertia, scale)


@pytest.mark.parametrize("name", TASKS)
def test_deriving_constants_changes_nothing_in_the_usual_world(name):
    """So what differs in a variation comes from the masses, not from deriving."""
    usual, derived = task(name).model(), task(name).model()
    mujoco.mj_setConst(derived, mujoco.MjData(derived))
    assert differing_fields(usual, derived) == set()


def test_a_variation_does_not_leak_into_the_usual_world():
    before = task("door").model().body("latch").mass[0]
    task("door", "heavy-object").model()
    assert task("door").model().body("latch").mass[0] == before


@pytest.mark.parametrize("name", TASKS)
def test_a_variation_is_felt(name):
    usual, varied = task(name), task(name, "heavy-hand")
    states = []
    for world in (usual, varied):
        simulation = world.simulation(1, threads=1)
        simulation.reset(world.starts("in", count=1, seed=0))
        for _ in range(5):
            simulation.step(np.full((1, world.action_size), 0.3))
        states.append(simulation.state())
    assert not np.array_equal(*states)


def test_an_unknown_variation_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="heavy-object, light-object, light-hand, heavy-hand"):
        task("door", "no-hand")
