"""Geometric fabrics: motion along bent paths, forced by a potential and slowed by damping.

**Geometry.** A second-order law q'' = -|v|² h(q), with v = q', scales with the speed squared, so
the *path* from a place in a direction is the same at every speed: the law is a field of roads, not
a timetable. Which road bends how is h, a network.

**Energisation.** Going along those roads changes the speed in general. With a mass M(q), a network
as well (M = L Lᵀ + ε, so it is positive whatever the network says), the energy is E = ½ vᵀ M v,
and free motion under it is M q'' + ξ = 0, where ξ(q, v) = M' v - ½ ∂/∂q (vᵀ M v) collects the
forces that appear because the mass depends on the place. E changes along any motion at the rate

    dE/dt = vᵀ (M q'' + ξ).

So a force does no work exactly if it is orthogonal to v. The energised geometry keeps of the
bending only that part,

    M q'' + ξ + P (M |v|² h - ξ) = 0,        P = 1 - M v vᵀ / (vᵀ M v),      vᵀ P = 0,

which stays on the same roads (P takes away a multiple of M v, and M⁻¹ M v = v only changes the
speed) and keeps E constant. With M = 1 it is q'' = -(1 - v vᵀ/|v|²) |v|² h.

**Forcing and damping.** A potential Ψ(q) = |ψ(q)|² ≥ 0 pulls, and a damping b² ≥ 0 slows:

    M q'' + ξ + P (M |v|² h - ξ) = -∇Ψ - b² v.

Then the total energy H = E + Ψ obeys dH/dt = -b² |v|²: it never grows, the motion comes to rest
where b does not vanish, and it rests only where ∇Ψ = 0. That is the promise of fabrics: *where* the
motion ends is the potential's business alone, and *how* it gets there is the geometry's. The paper
names a metric of the potential, M_f, too: it weighs the potential against other terms when several
are added up; here there is one potential, whose force is ∇Ψ, and its weight is in Ψ.

All networks may also see a context that is constant during an episode, such as its first state.
"""

from dataclasses import dataclass

import numpy as np

from kodex.networks.mlp import Mlp
from kodex.networks.operations import Signal, joined, solved, zeros

LEAST_MASS = 0.01  # ε
STANDSTILL = 1e-12  # added to vᵀ M v, so that a motion at rest has a direction to divide by


@dataclass(frozen=True, eq=False)
class Fabric:
    """The four networks of a fabric; they see [q, context], and damping [q, v, context]."""

    geometry: Mlp  # -> (n,)
    potential: Mlp  # -> any number of components
    damping: Mlp  # -> (1,)
    metric: Mlp | None = None  # -> (n · n,); None: M = 1

    def acceleration(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'', (episodes, n), at rest where the potential is flat."""
        force = self.pull(q, context) + self.brake(q, v, context) * v
        return self.energised(q, v, context) - self.accelerated(q, context, force)

    def energised(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'' of the geometry alone, along which the energy stays the same."""
        bend = (v * v).sum(-1)[..., None] * self.geometry(joined([q, context]))
        if self.metric is None:
            along = (v * bend).sum(-1)[..., None] / ((v * v).sum(-1)[..., None] + STANDSTILL)
            return along * v - bend
        # M⁻¹(ξ + P(M bend - ξ)) = bend - v · vᵀ(M bend - ξ) / vᵀMv: only a speed is corrected.
        mass, apparent = self.mass_and_apparent_force(q, v, context)
        momentum = _times(mass, v)
        work = (momentum * bend).sum(-1)[..., None] - (v * apparent).sum(-1)[..., None]
        return v * work / ((momentum * v).sum(-1)[..., None] + STANDSTILL) - bend

    def accelerated(self, q: Signal, context: Signal, force: Signal) -> Signal:
        """Return M⁻¹ `force`."""
        return force if self.metric is None else solved(self.mass(q, context), force)

    def height(self, q: Signal, context: Signal) -> Signal:
        """Return the potential Ψ(q) = |ψ(q)|², (episodes,)."""
        answers = self.potential(joined([q, context]))
        return (answers * answers).sum(-1)

    def pull(self, q: Signal, context: Signal) -> Signal:
        """Return ∇Ψ, (episodes, n): uphill."""
        gradient = self.potential.pulled(joined([q, context]), lambda answers: 2.0 * answers)
        return gradient[..., : q.shape[-1]]

    def brake(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return the damping b² ≥ 0, (episodes, 1)."""
        return self.damping(joined([q, v, context])) ** 2

    def energy(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return E = ½ vᵀ M v, (episodes,)."""
        if self.metric is None:
            return 0.5 * (v * v).sum(-1)
        return 0.5 * (v * _times(self.mass(q, context), v)).sum(-1)

    def mass(self, q: Signal, context: Signal) -> Signal:
        """Return M(q), (episodes, n, n)."""
        assert self.metric is not None
        lower = _lower(self.metric(joined([q, context])), q)
        return lower @ lower.mT + _constant(q, LEAST_MASS * np.eye(q.shape[-1]))

    def mass_and_apparent_force(
        self, q: Signal, v: Signal, context: Signal
    ) -> tuple[Signal, Signal]:
        """Return M, (episodes, n, n), and ξ = M' v - ½ ∂/∂q (vᵀ M v), (episodes, n)."""
        assert self.metric is not None
        size = q.shape[-1]
        inputs = joined([q, context])
        still = zeros(q, len(q), inputs.shape[-1] - size)
        answers, rates = self.metric.pushed(inputs, joined([v, still]))
        lower = _lower(answers, q)
        rate = rates.reshape(lower.shape) * _constant(q, np.tri(size))
        projected = _times(lower.mT, v)  # u = Lᵀ v, so vᵀ M v = |u|² + ε |v|²
        changed = _times(rate, projected) + _times(lower, _times(rate.mT, v))
        # ½ |Lᵀ v|² has the gradient v uᵀ in L; the network's layers carry it back to q.
        in_lower = v[..., :, None] * projected[..., None, :] * _constant(q, np.tri(size))
        slope = self.metric.pulled(inputs, in_lower.reshape(len(q), -1))[..., :size]
        mass = lower @ lower.mT + _constant(q, LEAST_MASS * np.eye(size))
        return mass, changed - slope


def _lower(answers: Signal, like: Signal) -> Signal:
    """Return L: the lower half of the network's answers, around 1."""
    size = like.shape[-1]
    shaped = answers.reshape(*like.shape[:-1], size, size)
    return shaped * _constant(like, np.tri(size)) + _constant(like, np.eye(size))


def _times(matrices: Signal, vectors: Signal) -> Signal:
    return (matrices @ vectors[..., None])[..., 0]


def _constant(like: Signal, values: Signal) -> Signal:
    """Return the array `values` of the kind that `like` is."""
    return values if isinstance(like, np.ndarray) else like.new_tensor(values)
