"""Liftings, networks and controllers, as vector operations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.controllers import InverseMlpController, PdController, RidgeController
from kodex.errors import InputError
from kodex.export.program import Vector, affine, clip, constant, elementwise, join, scaled, take
from kodex.interfaces import Controller, Lifting
from kodex.lifting import (
    FourierFeatures,
    Monomials,
    PaperPolynomial,
    PrincipalFeatures,
    RadialFeatures,
    ReluFeatures,
    Standardised,
)
from kodex.lifting.monomials import Products
from kodex.networks.mlp import Mlp


def lifted(lifting: Lifting, state: Vector) -> Vector:
    """Return z = φ(x)."""
    if lifting.window > 1:
        raise InputError("a delay embedding cannot be exported: use a lifting of one state")
    match lifting:
        case Standardised():
            standard = (state - constant(lifting.mean)) / constant(lifting.scale)
            inner = standard if lifting.clip is None else clip(standard, lifting.clip)
            return lifted(lifting.inner, inner)
        case FourierFeatures():
            cosines = elementwise("cos", affine(state, lifting.frequencies, lifting.phases))
            features = scaled(cosines, float(np.sqrt(2.0)))
        case ReluFeatures():
            features = elementwise("relu", affine(state, lifting.weights, lifting.biases))
        case PrincipalFeatures():
            first = lifting.layout.size + lifting.constant
            every = lifted(lifting.inner, state)
            return join(every[:first], affine(every[first:], lifting.basis.T))
        case RadialFeatures():
            features = _radial(lifting, state)
        case PaperPolynomial() | Monomials():
            return _products(lifting.products, state)
        case _:
            raise refusal(lifting)
    one = constant(np.ones(1)) if lifting.constant else join()
    return join(state, one, features)


def _radial(lifting: RadialFeatures, state: Vector) -> Vector:
    """Return exp(-‖s - c‖² / 2 width²), with the squared distance multiplied out."""
    standard = (state - constant(lifting.mean)) / constant(lifting.scale)
    count, n = lifting.centres.shape
    squares = affine(standard * standard, np.ones((count, n)), (lifting.centres**2).sum(axis=1))
    distances = elementwise("relu", squares + affine(standard, -2.0 * lifting.centres))
    return elementwise("exp", scaled(distances, -0.5 / lifting.width**2))


def _products(products: Products, state: Vector) -> Vector:
    """Return products of few factors first, as later ones are made of earlier ones."""
    known = join(state, constant(np.ones(len(products.constants))))
    columns = [*products.components.tolist(), *products.constants]
    for steps in products.gathers:
        at = {column: index for index, column in enumerate(columns)}
        others, last = (np.array([at[column] for column in each]) for each in steps.T[1:])
        known = join(known, take(known, others) * take(known, last))
        columns += steps[:, 0].tolist()
    return take(known, np.argsort(columns))


def recovered(lifting: Lifting, lifted: Vector) -> Vector:
    """Return C z + c; where each row of C picks one observable, as a gather."""
    picks = lifting.recovery != 0.0
    if not (picks.sum(axis=1) == 1).all():
        return affine(lifted, lifting.recovery, lifting.offset)
    state = take(lifted, picks.argmax(axis=1))
    scale = lifting.recovery[picks]
    if (scale != 1.0).any():
        state = state * constant(scale)
    return state + constant(lifting.offset) if lifting.offset.any() else state


def outputs_of(network: Mlp, signal: Vector) -> Vector:
    """Return what a network without layer normalisation makes of `signal`."""
    if network.gains or network.activation != "relu":
        raise InputError("a network with layer normalisation or smooth units cannot be exported")
    return layers(network.weights, network.biases, signal)


def layers(
    weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]], signal: Vector
) -> Vector:
    """Return affine layers, weights (inputs, outputs) each, with ReLU between them."""
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        signal = elementwise("relu", affine(signal, weight.T, bias))
    return affine(signal, weights[-1].T, biases[-1])


def refusal(found: object) -> InputError:
    """Return why something cannot be exported."""
    return InputError(
        f"{type(found).__name__} cannot be exported: export a policy of the recipes default, "
        "koopman, set3, paper, observer, knn, kernel-ridge, nn, lstm, ndp, ngf or bc"
    )


def controlled(controller: Controller, current: Vector, desired: Vector) -> Vector:
    """Return the action that brings the joints from `current` to `desired`."""
    match controller:
        case RidgeController():
            features = controller.features
            x = join(current, desired - current) * constant(features.scale)
            x = x + constant(features.shift)
            bounded, (left, right) = clip(x, features.limit), features.pairs
            products = take(bounded, left) * take(bounded, right)
            return affine(join(x, products), controller.weights.T, controller.intercept)
        case InverseMlpController():
            return layers(
                controller.network.weights, controller.network.biases, join(current, desired)
            )
        case PdController():
            ahead = desired + constant(controller.lead) * (desired - current)
            return ahead * constant(controller.slope) + constant(controller.offset)
    raise refusal(controller)
