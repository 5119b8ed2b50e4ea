"""Eigenvalues of a Koopman matrix: all of them, or the largest of a very large one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from kodex.koopman import Spectrum
from kodex.trajectory import Array

ALL_UP_TO = 1000  # observables; all eigenvalues of more take longer than the rest of a report
LARGEST = 40
ROUNDS = 10  # of 80 products with the matrix; what has not settled by then is left out


def affordable_spectrum(matrix: Array) -> Spectrum:
    """Return eigenvalues of `matrix`, (p, p), largest magnitude first.

    There are none if the matrix is not finite, or if none could be found in good time.
    """
    if not np.isfinite(matrix).all():
        return Spectrum(np.empty(0, dtype=np.complex128))
    values = linalg.eigvals(matrix) if len(matrix) <= ALL_UP_TO else _largest(matrix)
    order = np.argsort(-np.abs(values), kind="stable")
    return Spectrum(np.asarray(values[order], dtype=np.complex128))


def _largest(matrix: Array) -> NDArray[Any]:
    try:
        # A fixed first vector, so that the same matrix gives the same picture.
        return np.asarray(
            eigs(
                matrix,
                k=LARGEST,
                ncv=3 * LARGEST,
                v0=np.ones(len(matrix)),
                maxiter=ROUNDS,
                tol=1e-6,
                return_eigenvectors=False,
            )
        )
    except ArpackNoConvergence as error:
        return np.asarray(error.eigenvalues)
