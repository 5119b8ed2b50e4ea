"""Reference dynamics, as vector operations with a memory.

A geometric fabric is `kodex.baselines.fabric.Fabric.step` in its fair form: smooth networks, a mass
per joint, and the integrator that keeps the energy. The published form solves a linear system at
every step, which no target here does without a library.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kodex.baselines import LstmDynamics, NdpDynamics, NgfDynamics, NnDynamics
from kodex.baselines.dmp import Dmp
from kodex.baselines.fabric import LEAST_MASS, SLOWEST
from kodex.errors import InputError
from kodex.export.acting_features import lifted, outputs_of, recovered, refusal
from kodex.export.program import (
    Part,
    Vector,
    affine,
    constant,
    elementwise,
    join,
    scaled,
    spread,
    take,
)
from kodex.interfaces import ReferenceDynamics
from kodex.koopman import KoopmanDynamics, ObserverDynamics
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


def dynamics_part(dynamics: ReferenceDynamics) -> Part:
    """Return how `dynamics` give references."""
    if type(dynamics) not in REFERENCES:
        raise refusal(dynamics)
    return REFERENCES[type(dynamics)](dynamics)


def _koopman(dynamics: KoopmanDynamics) -> Part:
    return _relifted(dynamics) if dynamics.relift else _open_loop(dynamics)


def _open_loop(dynamics: KoopmanDynamics) -> Part:
    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        after = affine(memory, dynamics.matrix)
        return recovered(dynamics.lifting, after), after

    return Part(len(dynamics.matrix), lambda first: lifted(dynamics.lifting, first), step)


def _relifted(dynamics: KoopmanDynamics) -> Part:
    lifting = dynamics.lifting
    row = lifting.recovery @ dynamics.matrix  # C K

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        pulled = memory + scaled(seen - memory, dynamics.feedback)
        at = pulled if dynamics.feedback > 0.0 else memory
        reference = affine(lifted(lifting, at), row, lifting.offset)
        return reference, reference

    return Part(lifting.layout.size, lambda first: first, step)


def _observer(observer: ObserverDynamics) -> Part:
    dynamics = observer.dynamics

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        innovation = seen - recovered(dynamics.lifting, memory)
        after = affine(memory + affine(innovation, observer.gain), dynamics.matrix)
        return recovered(dynamics.lifting, after), after

    return Part(len(dynamics.matrix), lambda first: lifted(dynamics.lifting, first), step)


def _network_dynamics(dynamics: NnDynamics) -> Part:
    shift, scale = constant(dynamics.standardiser.shift), constant(dynamics.standardiser.scale)
    network = Mlp.of(dynamics.parameters, "network")

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        after = outputs_of(network, memory)
        if "change" in dynamics.parameters:
            after = memory + constant(dynamics.parameters["change"]) * after
        return after * scale + shift, after

    return Part(dynamics.layout.size, lambda first: (first - shift) / scale, step)


def _lstm(dynamics: LstmDynamics) -> Part:
    shift, scale = constant(dynamics.standardiser.shift), constant(dynamics.standardiser.scale)
    parameters, gates = dynamics.parameters, dynamics._gates
    size, n = len(gates["lstm.hidden weight"]), dynamics.layout.size
    weights = np.vstack([gates["lstm.input weight"], gates["lstm.hidden weight"]]).T
    biases = gates["lstm.input bias"] + gates["lstm.hidden bias"]

    def gate(signal: Vector) -> Vector:
        half = scaled(elementwise("tanh", scaled(signal, 0.5)), 0.5)
        return half + constant(np.full(half.size, 0.5))

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        state, cell = memory[:n], memory[n + size :]
        opened = affine(memory[: n + size], weights, biases)  # of the state and of what is hidden
        candidate = elementwise("tanh", opened[2 * size : 3 * size])
        after = gate(opened[size : 2 * size]) * cell + gate(opened[:size]) * candidate
        hidden = gate(opened[3 * size :]) * elementwise("tanh", after)
        output = affine(hidden, parameters["out.weight 0"].T, parameters["out.bias 0"])
        if "change" in parameters:
            output = state + constant(parameters["change"]) * output
        return output * scale + shift, join(output, hidden, after)

    def begin(first: Vector) -> Vector:
        return join((first - shift) / scale, constant(np.zeros(2 * size)))

    return Part(n + 2 * size, begin, step)


def _primitives(dynamics: NdpDynamics) -> Part:
    """Return movement primitives: the memory holds y(1), g, w, y, z and the phase."""
    shift, scale = constant(dynamics.standardiser.shift), constant(dynamics.standardiser.scale)
    dmp, parameters = dynamics.dmp, dynamics.parameters
    count, n = dmp.basis_functions, dynamics.layout.size
    network = Mlp.of(parameters, "network")
    summed = np.kron(np.eye(n), np.ones(count))  # weights stand together by component

    def begin(first: Vector) -> Vector:
        state = (first - shift) / scale
        outputs = outputs_of(network, state)
        goals = scaled(outputs[:n], float(parameters["goal gain"][0]))
        weights = scaled(outputs[n:], float(parameters["weight gain"][0]))
        velocity = constant(np.broadcast_to(parameters["velocity"], (n,)))
        return join(state, goals, weights, state, velocity, constant(np.ones(1)))

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        first, goals = memory[:n], memory[n : 2 * n]
        weights, rest = memory[2 * n : (2 + count) * n], (2 + count) * n
        y, z = memory[rest : rest + n], memory[rest + n : rest + 2 * n]
        phase = scaled(memory[rest + 2 * n :], 1.0 - dmp.period)
        shaped = take(_basis(dmp, phase), np.tile(np.arange(count), n)) * weights
        force = affine(shaped, summed) * (goals - first)
        change = scaled(scaled(goals - y, dmp.stiffness / 4.0) - z, dmp.stiffness) + force
        after = y + scaled(z, dmp.period)
        velocity = z + scaled(change, dmp.period)
        return after * scale + shift, join(first, goals, weights, after, velocity, phase)

    return Part((4 + count) * n + 1, begin, step)


def _basis(dmp: Dmp, phase: Vector) -> Vector:
    """Return s ψ_i(s) / Σ ψ_i(s); for phases from 1 to 0 no ψ is too small to divide by."""
    centres = np.exp(-np.linspace(0.0, 1.0, dmp.basis_functions))
    widths = dmp.basis_functions**1.5 / centres
    away = spread(phase, len(centres)) - constant(centres)
    values = elementwise("exp", away * away * constant(-widths))
    total = affine(values, np.ones((1, len(centres))))
    return values * spread(phase / total, len(centres))


# the kinds of dynamics that can be exported, and how each gives references
REFERENCES: Mapping[type, Callable[[Any], Part]] = {
    KoopmanDynamics: _koopman,
    ObserverDynamics: _observer,
    NnDynamics: _network_dynamics,
    LstmDynamics: _lstm,
    NdpDynamics: _primitives,
    NgfDynamics: fabric_part,
}
