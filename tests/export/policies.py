"""One small policy of each kind that can be exported, fitted or made of random numbers."""

from dataclasses import replace
from functools import cache

import numpy as np

from kodex.baselines import (
    ClonedPolicy,
    LstmDynamics,
    NdpDynamics,
    NgfDynamics,
    NgfLearner,
    NnDynamics,
)
from kodex.baselines.dmp import Dmp
from kodex.controllers import InverseMlpController, PdController, RidgeControllerLearner
from kodex.koopman import KoopmanLearner, ObserverLearner, Ridge
from kodex.lifting import (
    FourierLearner,
    MonomialsLearner,
    PaperPolynomialLearner,
    RadialLearner,
    ReluLearner,
    StandardisedLearner,
)
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.sequence_models import lstm_parameters
from kodex.policies import (
    Conditioned,
    ConditionedLearner,
    ContextSpec,
    KoopmanPolicyLearner,
    LiftedLearner,
    TrackingLearner,
    TrackingPolicy,
)
from kodex.policies.neighbours import NeighboursLearner
from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint_0", "joint_1"), object=("gap", "still"))
CONTEXT = ContextSpec(LAYOUT, components=("gap",), names=("side",))


def demonstration(seed):
    """Return joints that decay while a gap closes, for a goal and a side that the start knows."""
    random = np.random.default_rng(seed)
    joints, gap, side = random.normal(size=2), random.normal(), random.normal()
    states, actions = [], []
    for _ in range(25):
        states.append([*joints, gap, 0.5])
        actions.append([joints[1] - gap, np.sin(joints[0]) + 0.3 * side])
        joints, gap = 0.9 * joints + 0.05 * np.array([gap, side]), 0.95 * gap
    return Trajectory(
        layout=LAYOUT,
        states=np.array(states),
        actions=np.array(actions[:-1]),
        start=Start("toy", "in", seed=0, index=seed, values={"side": side}),
        context={"side": side},
    )


DEMONSTRATIONS = [demonstration(seed) for seed in range(12)]
RIDGE = RidgeControllerLearner(families=("neighbours",), ridges=(1e-3,))
FOURIER = StandardisedLearner(FourierLearner(count=30, scale=1.0), clip=3.0)


def lifted(lifting):
    learner = ConditionedLearner(LiftedLearner(lifting=lifting, ridges=(1e-4,)))
    return learner.fit(DEMONSTRATIONS)


def several_draws():
    """Return the mean of two draws of the features, as experts that switch have it."""
    policy = lifted(FOURIER)
    draws = [replace(FOURIER, inner=replace(FOURIER.inner, seed=seed)) for seed in (0, 1)]
    sample = np.concatenate([policy.context.augmented(each).states for each in DEMONSTRATIONS])
    layout = policy.context.augmented_layout
    joined = FOURIER.join([draw.fit(layout, sample) for draw in draws])
    outputs = np.random.default_rng(5).normal(size=(2, len(joined.names)))
    return replace(policy, inner=replace(policy.inner, features=joined, outputs=outputs))


def tracking(dynamics, **settings):
    return TrackingPolicy(dynamics.fit(DEMONSTRATIONS), RIDGE.fit(DEMONSTRATIONS), **settings)


def network_controller(joints=2):
    random = np.random.default_rng(0)
    shapes = [(2 * joints, 8), (8, joints)]
    network = Mlp(
        weights=tuple(random.normal(size=shape).astype(np.float32) for shape in shapes),
        biases=tuple(random.normal(size=shape[1]).astype(np.float32) for shape in shapes),
    )
    return InverseMlpController(network)


def cloned(layout, standardiser=None):
    random = np.random.default_rng(1)
    units = {"action shift": random.normal(size=2), "action scale": random.uniform(1, 2, size=2)}
    network = mlp_parameters("network", (layout.size, 16, 8, 2), random)
    return ClonedPolicy(layout, standardiser or Standardiser.identity(layout.size), network | units)


def network_dynamics(change):
    random = np.random.default_rng(2)
    network = mlp_parameters("network", (LAYOUT.size, 16, LAYOUT.size), random)
    units = Standardiser(random.normal(size=LAYOUT.size), random.uniform(1, 2, size=LAYOUT.size))
    extra = {"change": random.uniform(0.1, 0.2, size=LAYOUT.size)} if change else {}
    return NnDynamics(LAYOUT, units, network | extra)


UNITS = Standardiser(np.array([0.1, -0.2, 0.3, 0.4]), np.array([1.5, 0.7, 1.1, 2.0]))


def lstm_dynamics():
    random = np.random.default_rng(3)
    parameters = {
        **mlp_parameters("in", (4, 6), random),
        **lstm_parameters(6, 9, random),
        **mlp_parameters("out", (9, 4), random),
        "change": random.uniform(0.1, 0.2, size=4),
    }
    return LstmDynamics(LAYOUT, UNITS, parameters)


def primitives():
    random = np.random.default_rng(4)
    gains = {"goal gain": np.array([1.5]), "weight gain": np.array([20.0])}
    network = mlp_parameters("network", (4, 8, 4 * 6), random)
    velocity = {"velocity": random.normal(size=4)}
    return NdpDynamics(LAYOUT, UNITS, network | gains | velocity, Dmp(basis_functions=5))


def fabric():
    learner = NgfLearner(
        hidden=(8, 7), activation="smooth", normalised=False, initial_std=None, diagonal=True,
        initial_damping=1.0, integrator="energy",
    )  # fmt: skip
    parameters = learner._initial_parameters(LAYOUT) | {"period": np.array([0.1])}
    return NgfDynamics(LAYOUT, UNITS, parameters, "smooth", "energy")


def conditioned_tracking():
    augmented = [CONTEXT.augmented(each) for each in DEMONSTRATIONS]
    return Conditioned(TrackingLearner(KoopmanLearner(), RIDGE).fit(augmented), CONTEXT)


KOOPMAN = "koopman: the operator acts"
MADE = {
    "default: standardised Fourier features": lambda: lifted(FOURIER),
    "default: the mean of several draws": several_draws,
    "polynomials of degree 3 with a constant": lambda: lifted(MonomialsLearner(3, constant=True)),
    "radial basis functions": lambda: lifted(RadialLearner(count=10)),
    "ReLU features": lambda: lifted(ReluLearner(count=10)),
    KOOPMAN: lambda: ConditionedLearner(
        KoopmanPolicyLearner(features=LiftedLearner(lifting=FOURIER, ridges=(1e-4,)))
    ).fit(DEMONSTRATIONS),
    "set3: open loop, ridge controller": lambda: tracking(KoopmanLearner()),
    "a controller that acts five times per step": lambda: tracking(KoopmanLearner(), substeps=5),
    "the same, fed the predicted joints": lambda: tracking(
        KoopmanLearner(), substeps=5, feed="predicted"
    ),
    "set1": lambda: tracking(KoopmanLearner(PaperPolynomialLearner(1))),
    "set4, fed the predicted joints": lambda: tracking(
        KoopmanLearner(PaperPolynomialLearner(4)), feed="predicted"
    ),
    "lifted anew, with feedback": lambda: tracking(
        KoopmanLearner(FOURIER, Ridge(1e-4), relift=True, feedback=0.3)
    ),
    "observer": lambda: tracking(ObserverLearner(KoopmanLearner(FOURIER, Ridge(1e-4)))),
    "servos instead of actions": lambda: TrackingPolicy(
        KoopmanLearner().fit(DEMONSTRATIONS),
        PdController(slope=np.array([1.0, 2.0]), offset=np.ones(2), lead=np.array([3.0, 0.5])),
    ),
    "nn": lambda: TrackingPolicy(network_dynamics(change=False), RIDGE.fit(DEMONSTRATIONS)),
    "nn that predicts changes": lambda: TrackingPolicy(
        network_dynamics(change=True), RIDGE.fit(DEMONSTRATIONS)
    ),
    "lstm": lambda: TrackingPolicy(lstm_dynamics(), RIDGE.fit(DEMONSTRATIONS)),
    "ndp": lambda: TrackingPolicy(primitives(), RIDGE.fit(DEMONSTRATIONS)),
    "ngf": lambda: TrackingPolicy(fabric(), RIDGE.fit(DEMONSTRATIONS)),
    "knn with context": lambda: ConditionedLearner(NeighboursLearner()).fit(DEMONSTRATIONS),
    "bc": lambda: cloned(LAYOUT),
    "bc with context": lambda: Conditioned(cloned(CONTEXT.augmented_layout), CONTEXT),
    "set3 with context": conditioned_tracking,
}
KINDS = tuple(MADE)
# Its network is single precision, so that other orders of summation differ more.
SINGLE = "paper: a network as controller"


@cache
def made(kind):
    if kind == SINGLE:
        return TrackingPolicy(KoopmanLearner().fit(DEMONSTRATIONS), network_controller())
    return MADE[kind]()
