"""A geometric fabric in its fair form, as vector operations: `kodex.baselines.fabric.Fabric.step`.

Smooth networks, a mass per joint, and the integrator that keeps the energy. The published form
solves a linear system at every step, which no target here does without a library.
"""

import numpy as np

from kodex.baselines import NgfDynamics
from kodex.baselines.fabric import LEAST_MASS, SLOWEST
from kodex.errors import InputError
from kodex.export.acting_part import Part
from kodex.export.program import Vector, affine, constant, elementwise, join, scaled, spread
from kodex.networks.mlp import Mlp


def fabric_part(dynamics: NgfDynamics) -> Part:
    """Return how joints move on a fabric: the memory holds x(1), q, v and vᵀ M v."""
    form = (dynamics.activation, dynamics.integrator, "triangle" in dynamics.parameters)
    if form != ("smooth", "energy", False):
        raise InputError(
            "a fabric in the paper's form cannot be exported: learn one with the recipe ngf"
        )
    shift, scale = constant(dynamics.standardiser.shift), constant(dynamics.standardiser.scale)
    joints, n = len(dynamics.layout.robot), dynamics.layout.size
    period = float(dynamics.parameters["period"][0])
    geometry, potential, damping_root, metric, velocity = (
        Mlp.of(dynamics.parameters, name, "smooth")
        for name in ("geometry", "potential", "damping", "metric", "velocity")
    )

    def mass_at(where: Vector) -> Vector:
        root = _plus(_outputs(metric, where), 1.0)
        return _plus(root * root, LEAST_MASS)

    def begin(first: Vector) -> Vector:
        state = (first - shift) / scale
        q, v = state[:joints], _outputs(velocity, state)
        return join(state, q, v, _dot(v, mass_at(join(q, state)) * v))

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        first, q = memory[:n], memory[n : n + joints]
        v, energy = memory[n + joints : n + 2 * joints], memory[n + 2 * joints :]
        where = join(q, first)
        mass = mass_at(where)
        bend = spread(_dot(v, v), joints) * _outputs(geometry, where)
        turned = v - scaled(bend, period)
        momentum = mass * turned
        ratio = _plus(energy, SLOWEST) / _plus(_dot(turned, momentum), SLOWEST)
        force = scaled(_gradient(potential, where)[:joints], period)
        slowed = _outputs(damping_root, join(q, v, first))
        v = (spread(elementwise("root", ratio), joints) * momentum - force) / (
            mass + spread(scaled(slowed * slowed, period), joints)
        )
        q = q + scaled(v, period)
        reference = join(q, first[joints:]) * scale + shift
        return reference, join(first, q, v, _dot(v, mass * v))

    return Part(n + 2 * joints + 1, begin, step)


def _outputs(network: Mlp, signal: Vector) -> Vector:
    return _forward(network, signal)[0]


def _forward(network: Mlp, signal: Vector) -> tuple[Vector, list[Vector]]:
    """Return the outputs, and the slope of each activation x / √(1 + x²) on the way."""
    slopes = []
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        signal = affine(signal, weight.T, bias)
        one = constant(np.ones(signal.size))
        shrink = one / elementwise("root", one + signal * signal)
        signal = signal * shrink
        slopes.append(shrink * shrink * shrink)
    return affine(signal, network.weights[-1].T, network.biases[-1]), slopes


def _gradient(network: Mlp, signal: Vector) -> Vector:
    """Return the gradient of the squared length of the outputs."""
    outputs, slopes = _forward(network, signal)
    gradient = affine(scaled(outputs, 2.0), network.weights[-1])
    for weight, slope in zip(reversed(network.weights[:-1]), reversed(slopes), strict=True):
        gradient = affine(gradient * slope, weight)
    return gradient


def _dot(one: Vector, other: Vector) -> Vector:
    return affine(one * other, np.ones((1, one.size)))


def _plus(vector: Vector, number: float) -> Vector:
    return vector + constant(np.full(vector.size, number))
