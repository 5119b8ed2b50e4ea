"""Geometric fabrics: motion along curved paths, forced by a potential and slowed by damping.

**Geometry.** A second-order law q'' = -|v|² h(q), with v = q', scales with the speed squared, so
the *path* from a position in a direction is the same at every speed: the law is a geometry of
paths, without timing. How they curve is h, a network.

**Energisation.** Moving along those paths changes the speed in general. With a mass M(q), a network
as well (M = L Lᵀ + ε, so it is positive whatever the network outputs), the energy is E = ½ vᵀ M v,
and free motion under it is M q'' + ξ = 0, where ξ(q, v) = M' v - ½ ∂/∂q (vᵀ M v) collects the
forces that appear because the mass depends on the position. E changes along any motion at the rate

    dE/dt = vᵀ (M q'' + ξ).

So a force does no work exactly if it is orthogonal to v. The energised geometry keeps of the
curvature only that part,

    M q'' + ξ + P (M |v|² h - ξ) = 0,        P = 1 - M v vᵀ / (vᵀ M v),      vᵀ P = 0,

which stays on the same paths (P takes away a multiple of M v, and M⁻¹ M v = v only changes the
speed) and keeps E constant. With M = 1 it is q'' = -(1 - v vᵀ/|v|²) |v|² h.

**Forcing and damping.** A potential Ψ(q) = |ψ(q)|² ≥ 0 forces, and a damping b² ≥ 0 slows:

    M q'' + ξ + P (M |v|² h - ξ) = -∇Ψ - b² v.

Then the total energy H = E + Ψ obeys dH/dt = -b² |v|²: it never grows, the motion comes to rest
where b does not vanish, and it rests only where ∇Ψ = 0. That is the promise of fabrics: *where* the
motion ends is the potential's business alone, and *how* it gets there is the geometry's. The paper
names a metric of the potential, M_f, too: it weighs the potential against other terms when several
are added up; here there is one potential, whose force is ∇Ψ, and its weight is in Ψ.

**Steps.** Accelerations of the size of |v|² are unstable in steps of finite length: a turn that is
orthogonal to v still makes v longer, a longer v turns more, and soon it overflows. `step` enforces
the conservation instead: the geometry turns v and then *scales* it to the
energy that it had, which is what the correction of the speed does in the limit of small steps
(and needs no derivative of M), and the damping is implicit, so it stops but never reverses.

All networks may also depend on a context, constant in an episode, such as its first state.
"""

from dataclasses import dataclass

from kodex.networks.mlp import Mlp
from kodex.networks.operations import Signal, joined, solved, zeros

LEAST_MASS = 0.01  # ε
SLOWEST = 1e-4  # added to both energies where v is scaled to one: slower motions are not scaled
STANDSTILL = 1e-12  # added to vᵀ M v, so that a motion at rest has a direction to divide by


@dataclass(frozen=True, eq=False)
class Metric:
    """The mass M(q) = L Lᵀ + ε, with L the lower half of a network's outputs, around 1."""

    network: Mlp  # [q, context] -> (n · n,)
    triangle: Signal  # (n, n) ones on and below the diagonal

    def mass(self, q: Signal, context: Signal) -> Signal:
        """Return M(q), (episodes, n, n)."""
        lower = self._lower(self.network(joined([q, context])))
        return lower @ lower.mT + LEAST_MASS * self.one

    def mass_and_apparent_work(
        self, q: Signal, v: Signal, context: Signal
    ) -> tuple[Signal, Signal]:
        """Return M, (episodes, n, n), and vᵀ ξ = ½ vᵀ M' v, (episodes, 1).

        No more of ξ is needed, and vᵀ ∂/∂q (vᵀ M v) is vᵀ M' v again: one `jvp` along v has it.
        """
        inputs, still = joined([q, context]), zeros(q, *context.shape)
        outputs, rates = self.network.jvp(inputs, joined([v, still]))
        lower = self._lower(outputs)
        rate = rates.reshape(lower.shape) * self.triangle
        # M = L Lᵀ + ε, so ½ vᵀ M' v = (Lᵀ v) · (L'ᵀ v).
        work = _dot(_times(lower.mT, v), _times(rate.mT, v))
        return lower @ lower.mT + LEAST_MASS * self.one, work

    @property
    def one(self) -> Signal:
        """The unit matrix, (n, n)."""
        return self.triangle * self.triangle.T

    def _lower(self, outputs: Signal) -> Signal:
        shaped = outputs.reshape(*outputs.shape[:-1], *self.triangle.shape)
        return shaped * self.triangle + self.one


@dataclass(frozen=True, eq=False)
class DiagonalMetric:
    """The mass M(q) = l² + ε with l a network's outputs around 1: joints are not coupled."""

    network: Mlp  # [q, context] -> (n,)

    def mass(self, q: Signal, context: Signal) -> Signal:
        """Return the diagonal of M(q), (episodes, n)."""
        return (1.0 + self.network(joined([q, context]))) ** 2 + LEAST_MASS

    def mass_and_apparent_work(
        self, q: Signal, v: Signal, context: Signal
    ) -> tuple[Signal, Signal]:
        """Return the diagonal of M, (episodes, n), and vᵀ ξ = ½ vᵀ M' v, (episodes, 1)."""
        inputs, still = joined([q, context]), zeros(q, *context.shape)
        outputs, rates = self.network.jvp(inputs, joined([v, still]))
        root = 1.0 + outputs
        return root**2 + LEAST_MASS, _dot(v * v, root * rates)

    @property
    def one(self) -> Signal:
        """The diagonal of the unit matrix."""
        return 1.0


@dataclass(frozen=True, eq=False)
class Fabric:
    """Networks of a fabric, of [q, context]; that of the damping is of [q, v, context]."""

    geometry: Mlp  # h -> (n,)
    potential_root: Mlp  # ψ -> any number of components
    damping_root: Mlp  # b -> (1,)
    metric: Metric | DiagonalMetric | None = None  # None: M = 1

    def acceleration(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'', (episodes, n): along the paths, down the potential and damped."""
        force = -self.gradient(q, context) - self.damping(q, v, context) * v
        curvature = self.curvature(q, v, context)
        if self.metric is None:
            return force + _keeping_speed(curvature, v, v, 0.0)
        mass, apparent = self.metric.mass_and_apparent_work(q, v, context)
        return _over(mass, force) + _keeping_speed(curvature, v, _times(mass, v), apparent)

    def step(
        self, q: Signal, v: Signal, energy: Signal, context: Signal, period: Signal
    ) -> tuple[Signal, Signal, Signal]:
        """Return q, v and vᵀ M v one step later; `energy`, (episodes, 1), is the vᵀ M v so far."""
        mass = None if self.metric is None else self.metric.mass(q, context)
        turned = v - period * self.curvature(q, v, context)
        momentum = turned if mass is None else _times(mass, turned)
        same = ((energy + SLOWEST) / (_dot(turned, momentum) + SLOWEST)) ** 0.5
        forced = same * momentum - period * self.gradient(q, context)
        damping = period * self.damping(q, v, context)
        if self.metric is None:
            v = forced / (1.0 + damping)
            return q + period * v, v, _dot(v, v)
        matrices = isinstance(self.metric, Metric)
        v = _over(mass + (damping[..., None] if matrices else damping) * self.metric.one, forced)
        return q + period * v, v, _dot(v, _times(mass, v))

    def energised(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return q'' of the geometry alone, along which the energy stays the same."""
        curvature = self.curvature(q, v, context)
        if self.metric is None:
            return _keeping_speed(curvature, v, v, 0.0)
        mass, apparent = self.metric.mass_and_apparent_work(q, v, context)
        return _keeping_speed(curvature, v, _times(mass, v), apparent)

    def curvature(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return |v|² h(q), (episodes, n)."""
        return _dot(v, v) * self.geometry(joined([q, context]))

    def potential(self, q: Signal, context: Signal) -> Signal:
        """Return the potential Ψ(q) = |ψ(q)|², (episodes,)."""
        root = self.potential_root(joined([q, context]))
        return (root * root).sum(-1)

    def gradient(self, q: Signal, context: Signal) -> Signal:
        """Return ∇Ψ, (episodes, n)."""
        gradient = self.potential_root.vjp(joined([q, context]), lambda root: 2.0 * root)
        return gradient[..., : q.shape[-1]]

    def damping(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return the damping b² ≥ 0, (episodes, 1)."""
        return self.damping_root(joined([q, v, context])) ** 2

    def energy(self, q: Signal, v: Signal, context: Signal) -> Signal:
        """Return E = ½ vᵀ M v, (episodes,)."""
        momentum = v if self.metric is None else _times(self.metric.mass(q, context), v)
        return 0.5 * _dot(v, momentum)[..., 0]


def _keeping_speed(curvature: Signal, v: Signal, momentum: Signal, apparent: Signal) -> Signal:
    """Return -M⁻¹ (ξ + P (M c - ξ)), with c = `curvature`, `momentum` = M v, `apparent` = vᵀ ξ.

    Written out it is -c + v · vᵀ (M c - ξ) / vᵀ M v: no inverse, only a speed is corrected.
    """
    work = _dot(momentum, curvature) - apparent
    return v * (work / (_dot(momentum, v) + STANDSTILL)) - curvature


def _dot(left: Signal, right: Signal) -> Signal:
    return (left * right).sum(-1)[..., None]


def _times(masses: Signal, vectors: Signal) -> Signal:
    """Return M x; masses are matrices, (..., n, n), or their diagonals, (..., n)."""
    if masses.ndim == vectors.ndim:
        return masses * vectors
    return (masses @ vectors[..., None])[..., 0]


def _over(masses: Signal, vectors: Signal) -> Signal:
    """Return M⁻¹ x, of matrices or of their diagonals."""
    return vectors / masses if masses.ndim == vectors.ndim else solved(masses, vectors)
