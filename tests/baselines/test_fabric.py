"""Geometric fabrics keep their promises for any networks at all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.baselines.fabric import DiagonalMetric, Fabric, Metric
from kodex.networks.mlp import Mlp, mlp_parameters

JOINTS, CONTEXT = 3, 2
SEEDS = st.integers(0, 10_000)
some = settings(deadline=None, max_examples=15)
with_and_without_metric = pytest.mark.parametrize("massive", ["matrix", "diagonal", None])


def parameters_of(seed):
    random = np.random.default_rng(seed)
    shapes = {
        "geometry": (JOINTS + CONTEXT, JOINTS),
        "potential": (JOINTS + CONTEXT, JOINTS),
        "damping": (2 * JOINTS + CONTEXT, 1),
        "metric": (JOINTS + CONTEXT, JOINTS * JOINTS),
    }
    parameters = {}
    for name, (inputs, outputs) in shapes.items():
        parameters |= mlp_parameters(name, (inputs, 8, 8, outputs), random)
    return parameters


def fabric_of(parameters, massive, triangle):
    network, metric = Mlp.of(parameters, "metric", "smooth"), None
    if massive == "matrix":
        metric = Metric(network, triangle)
    if massive == "diagonal":
        first = tuple(each[..., :JOINTS] for each in (network.weights[-1], network.biases[-1]))
        metric = DiagonalMetric(
            replace(
                network,
                weights=(*network.weights[:-1], first[0]),
                biases=(*network.biases[:-1], first[1]),
            )
        )
    geometry, potential, damping = (
        Mlp.of(parameters, name, "smooth") for name in ("geometry", "potential", "damping")
    )
    return Fabric(geometry, potential_root=potential, damping_root=damping, metric=metric)


def fabric(seed, massive):
    return fabric_of(parameters_of(seed), massive, np.tri(JOINTS))


def drawn(seed, episodes=4):
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(episodes, size)) for size in (JOINTS, JOINTS, CONTEXT))


def rate(function, q, v, acceleration, small=1e-5):
    """Return how fast `function`(q, v) changes along a motion, by a difference quotient."""
    ahead = function(q + small * v, v + small * acceleration)
    behind = function(q - small * v, v - small * acceleration)
    return (ahead - behind) / (2 * small)


@with_and_without_metric
@some
@given(seed=SEEDS)
def test_energisation_keeps_the_energy(massive, seed):
    each, (q, v, context) = fabric(seed, massive), drawn(seed)
    acceleration = each.energised(q, v, context)
    changed = rate(lambda q, v: each.energy(q, v, context), q, v, acceleration)
    np.testing.assert_allclose(changed, 0.0, atol=1e-6)


@with_and_without_metric
@some
@given(seed=SEEDS)
def test_energisation_stays_on_the_roads_of_the_geometry(massive, seed):
    each, (q, v, context) = fabric(seed, massive), drawn(seed)
    corrected = each.energised(q, v, context) + each.curvature(q, v, context)
    # What it changes is along the velocity: the speed on the road and not the road.
    along = (corrected * v).sum(-1, keepdims=True) / (v * v).sum(-1, keepdims=True) * v
    np.testing.assert_allclose(corrected, along, atol=1e-9)


@with_and_without_metric
@some
@given(seed=SEEDS, speed=st.floats(0.1, 10.0))
def test_a_road_is_the_same_at_every_speed(massive, seed, speed):
    each, (q, v, context) = fabric(seed, massive), drawn(seed)
    slow, fast = each.energised(q, v, context), each.energised(q, speed * v, context)
    np.testing.assert_allclose(fast, speed**2 * slow, rtol=1e-6, atol=1e-9)


@some
@given(seed=SEEDS)
def test_the_potentials_gradient_is_a_gradient(seed):
    each, (q, direction, context) = fabric(seed, None), drawn(seed)
    quotient = rate(lambda q, v: each.potential(q, context), q, direction, 0.0)
    np.testing.assert_allclose((each.gradient(q, context) * direction).sum(-1), quotient, atol=1e-7)
    assert (each.potential(q, context) >= 0.0).all()


@with_and_without_metric
@some
@given(seed=SEEDS)
def test_damping_never_adds_energy_and_all_that_is_lost_is_damping(massive, seed):
    each, (q, v, context) = fabric(seed, massive), drawn(seed)

    def total(q, v):
        return each.energy(q, v, context) + each.potential(q, context)

    lost = -rate(total, q, v, each.acceleration(q, v, context))
    expected = each.damping(q, v, context)[:, 0] * (v * v).sum(-1)
    assert (expected >= 0.0).all()
    np.testing.assert_allclose(lost, expected, atol=1e-6)


def steps(each, q, v, context, period, count=1):
    energy = 2 * each.energy(q, v, context)[:, None]
    for _ in range(count):
        q, v, energy = each.step(q, v, energy, context, period)
    return q, v, energy


@with_and_without_metric
@some
@given(seed=SEEDS)
def test_small_steps_follow_the_acceleration(massive, seed):
    each, (q, v, context), small, count = fabric(seed, massive), drawn(seed), 1e-5, 100
    # Many, because the first one does not yet see that the mass changes.
    _, later, _ = steps(each, q, v, context, small, count)
    np.testing.assert_allclose(
        (later - v) / (count * small), each.acceleration(q, v, context), rtol=0.02, atol=0.02
    )


@with_and_without_metric
@some
@given(seed=SEEDS, period=st.floats(0.01, 100.0))
def test_long_steps_keep_the_energy_without_potential_and_damping(massive, seed, period):
    parameters, (q, v, context) = parameters_of(seed), drawn(seed)
    for name in ("potential", "damping"):
        for part in ("weight 2", "bias 2"):
            parameters[f"{name}.{part}"] = np.zeros_like(parameters[f"{name}.{part}"])
    each = fabric_of(parameters, massive, np.tri(JOINTS))
    *_, energy = steps(each, q, v, context, period, count=3)
    np.testing.assert_allclose(energy[:, 0], 2 * each.energy(q, v, context), rtol=0.05)


@with_and_without_metric
@some
@given(seed=SEEDS)
def test_steps_of_any_length_stay_finite(massive, seed):
    each, (q, v, context) = fabric(seed, massive), drawn(seed)
    with np.errstate(all="raise", under="ignore"):
        q, v, energy = steps(each, q, 100.0 * v, context, 1.0, count=200)
    assert np.isfinite(q).all()
    assert np.isfinite(energy).all()


@with_and_without_metric
def test_at_rest_it_moves_only_if_the_potential_is_steep(massive):
    each, (q, _, context) = fabric(3, massive), drawn(3)
    still = np.zeros_like(q)
    np.testing.assert_array_equal(each.energised(q, still, context), -still)
    assert np.abs(each.acceleration(q, still, context)).min() > 0.0


@some
@given(seed=SEEDS)
def test_what_a_changing_mass_does_is_half_of_its_change(seed):
    each, (q, v, context) = fabric(seed, "matrix"), drawn(seed)

    def twice_the_energy(q, still):
        return np.einsum("ei,eij,ej->e", v, each.metric.mass(q, context), v)

    _, work = each.metric.mass_and_apparent_work(q, v, context)
    changed = rate(twice_the_energy, q, v, 0.0)
    np.testing.assert_allclose(work[:, 0], 0.5 * changed, atol=1e-6)


def test_the_mass_is_symmetric_and_positive():
    each, (q, v, context) = fabric(5, "matrix"), drawn(5)
    mass, _ = each.metric.mass_and_apparent_work(q, v, context)
    np.testing.assert_allclose(mass, each.metric.mass(q, context))
    np.testing.assert_allclose(mass, mass.mT)
    assert np.linalg.eigvalsh(mass).min() >= 0.01 - 1e-12


@with_and_without_metric
def test_what_acts_is_what_is_trained(massive):
    parameters, (q, v, context) = parameters_of(1), drawn(1)
    tensors = {name: torch.from_numpy(array) for name, array in parameters.items()}
    twin = fabric_of(tensors, massive, torch.from_numpy(np.tri(JOINTS)))
    trained = twin.acceleration(*(torch.from_numpy(each) for each in (q, v, context)))
    np.testing.assert_allclose(
        fabric(1, massive).acceleration(q, v, context), trained.numpy(), atol=1e-10
    )
