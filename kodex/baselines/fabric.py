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

from kodex.networks.mlp import Mlp
from kodex.networks.operations import Signal, joined, solved, zeros

LEAST_MASS = 0.01  # ε
STANDSTILL = 1e-12  # added to vᵀ M v, so that a motion at rest has a direction to divide by


@dataclass(frozen=True, eq=False)
class Metric:
    """The mass M(q) = L Lᵀ + ε, with L the lower half of a network's answers, around 1."""

    network: Mlp  # [q, context] -> (n · n,)
    triangle: Signal  # (n, n) ones on and below the diagonal

    def mass(self, q: Signal, context: Signal) -> Signal:
        """Return M(q), (episodes, n, n)."""
        lower = self._lower(self.network(joined([q, context])))
        return lower @ lower.mT + LEAST_MASS * self._one

    def mass_and_apparent_force(
        self, q: Signal, v: Signal, context: Signal
    ) -> tuple[Signal, Signal]:
        """Return M, (episodes, n, n), and ξ = M' v - ½ ∂/∂q (vᵀ M v), (episodes, n)."""
        inputs, size = joined([q, context]), q.shape[-1]
        still = zeros(q, *context.shape)
        answers, rates = self.network.pushed(inputs, joined([v, still]))
        lower = self._lower(answers)
        rate = rates.reshape(lower.shape) * self.triangle
        projected = _times(lower.mT, v)  # u = Lᵀ v, so vᵀ M v = |u|² + ε |v|²
        changed = _times(rate, projected) + _times(lower, _times(rate.mT, v))
        # ½ |Lᵀ v|² has the gradient v uᵀ in L; the network's layers carry it back to q.
        in_lower = v[..., :, None] * projected[..., None, :] * self.triangle
        slope = self.network.pulled(inputs, in_lower.reshape(answers.shape))[..., :size]
        return lower @ lower.mT + LEAST_MASS * self._one, changed - slope

    @property
    def _one(self) -> Signal:
        return self.triangle * self.triangle.T

    def _lower(self, answers: Signal) -> Signal:
        shaped = answers.reshape(*answers.shape[:-1], *self.triangle.shape)
        return shaped * self.triangle + self._one


@dataclass(frozen=True, eq=False)
class Fabric:
    """Networks of a fabric; they see [q, context], and damping [q, v, context]."""

    geometry: Mlp  # h -> (n,)
    potential: Mlp  # ψ -> any number of components
    damping: Mlp  # b -> (1,)
    metric: Metric | None = None  # None: M = 1

    def acceleration(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'', (episodes, n): along the roads, downhill and braked."""
        force = -self.pull(q, context) - self.brake(q, v, context) * v
        bend = self.bend(q, v, context)
        if self.metric is None:
            return force + _keeping_speed(bend, v, v, zeros(v, *v.shape))
        mass, apparent = self.metric.mass_and_apparent_force(q, v, context)
        return solved(mass, force) + _keeping_speed(bend, v, _times(mass, v), apparent)

    def energised(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'' of the geometry alone, along which the energy stays the same."""
        bend = self.bend(q, v, context)
        if self.metric is None:
            return _keeping_speed(bend, v, v, zeros(v, *v.shape))
        mass, apparent = self.metric.mass_and_apparent_force(q, v, context)
        return _keeping_speed(bend, v, _times(mass, v), apparent)

    def bend(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return |v|² h(q), (episodes, n)."""
        return _dot(v, v) * self.geometry(joined([q, context]))

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
        momentum = v if self.metric is None else _times(self.metric.mass(q, context), v)
        return 0.5 * _dot(v, momentum)[..., 0]


def _keeping_speed(bend: Signal, v: Signal, momentum: Signal, apparent: Signal) -> Signal:
    """Return -M⁻¹ (ξ + P (M bend - ξ)), with `momentum` = M v and `apparent` = ξ.

    Written out it is -bend + v · vᵀ (M bend - ξ) / vᵀ M v: no inverse, only a speed is corrected.
    """
    work = _dot(momentum, bend) - _dot(v, apparent)
    return v * (work / (_dot(momentum, v) + STANDSTILL)) - bend


def _dot(left: Signal, right: Signal) -> Signal:
    return (left * right).sum(-1)[..., None]


def _times(matrices: Signal, vectors: Signal) -> Signal:
    return (matrices @ vectors[..., None])[..., 0]
