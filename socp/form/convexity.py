"""Test whether P is positive semidefinite: by cheap sufficient conditions as a rule, else by an LDL' of P."""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import kernel
from ..compiled.signatures import Floats, Ints
from ..linalg.cholesky import cholesky
from ..linalg.csc import append_upper
from ..linalg.ldl.factorization import LDL
from ..linalg.vectors import NO_VALUES
from ..problem.checks import ProgramError
from ..problem.hessian import GLANCE, DenseHessian, Hessian
from ..verify.stopping import LOST

SEMIDEFINITE_TOL = 1e-8  # P counts as semidefinite if P + SEMIDEFINITE_TOL diag(P) is positive definite.
EPS = float(np.finfo(np.float64).eps)


def check_semidefinite(
    P: Hessian, D: np.ndarray = NO_VALUES, factor: float = 1.0, tol: float = SEMIDEFINITE_TOL
) -> None:
    """Raise ProgramError unless P is positive semidefinite: P with its diagonal raised has an LDL' with D > 0.

    P_ii is raised by tol P_ii and by the rounding error of the largest entry of P.  A share of the largest entry would
    let a scaling of the variables hide negative curvature.  A P that was scaled to factor D P D is tested as before
    the scaling.

    A diagonal plus low rank is semidefinite by construction.
    """
    if P.is_zero or not (P.is_sparse or P.is_full):
        return
    if is_clearly_semidefinite(P.order, P.is_sparse, P.indptr, P.indices, P.values, D, factor, tol):
        return
    shift = np.empty(P.order)
    set_shift(np.ascontiguousarray(P.diagonal()), D, factor, tol, shift)
    if isinstance(P, DenseHessian):
        column = -1 if has_factor(P, shift) else int(P.diagonal().argmin())
    else:
        column = first_bad_pivot(P, shift)
    if column >= 0:
        raise ProgramError(
            f"P must be positive semidefinite, but it is not: eliminating variable {column} meets a negative pivot"
        )


def has_factor(P: DenseHessian, shift: np.ndarray) -> bool:
    """Return True if P is of low rank, which is tested first, or P + diag(shift) has a Cholesky factor."""
    if P.diagonal().max(initial=0.0) <= 0.0:
        return not P.values.any()
    if P.find_rank():
        return True
    # The lower triangle by columns, which `cholesky` reads, and the upper one by rows are stored alike.
    P.room = P.values.copy()
    P.room[:: P.order + 1] += shift
    return cholesky(P.order, P.room) == 0


def first_bad_pivot(P: Hessian, shift: np.ndarray) -> int:
    """Return the variable at which the LDL' of P + diag(shift) meets a pivot that is not positive, or -1."""
    n = P.order
    indptr, indices, data = np.empty(n + 1, np.int64), np.empty(P.entries + n, np.int64), np.empty(P.entries + n)
    append_upper(P.indptr, P.indices, P.values, shift, 0, indptr, indices, data)
    ldl = LDL(indptr, indices[: indptr[n]], np.ones(n, np.int64))
    if ldl.factor(data[: indptr[n]], 0.0, -1.0) == 0:  # Bad pivots are replaced by -1.
        return -1
    bad = np.flatnonzero(ldl.d < 0.0)
    return int(ldl.perm[bad[0]]) if bad.size else 0


@kernel
def set_shift(diagonal: Floats, D: Floats, factor: float, tol: float, shift: Floats) -> None:
    """shift_i := tol P_ii + (64 + n) eps s_i max P_jj / s_j, where s_i = factor D_i^2, or 1 if D is empty."""
    n, largest = diagonal.size, 0.0
    for i in range(n):
        shift[i] = factor * D[i] ** 2 if D.size > 0 else 1.0
        largest = max(largest, diagonal[i] / shift[i])
    for i in range(n):
        shift[i] = tol * max(diagonal[i], 0.0) + (LOST + n * EPS) * largest * shift[i]


@kernel
def is_clearly_semidefinite(
    n: int, is_sparse: bool, indptr: Ints, indices: Ints, values: Floats, D: Floats, factor: float, tol: float
) -> bool:
    """Return True if P is diagonally dominant, or is small and P + diag(shift) has a Cholesky factor.

    The result False is inconclusive.
    """
    if is_sparse and is_dominant(indptr, indices, values):
        return True
    if n > GLANCE:
        return False
    P, diagonal, shift = np.zeros(n * n), np.empty(n), np.empty(n)
    for j in range(n):
        if is_sparse:
            for k in range(indptr[j], indptr[j + 1]):
                P[indices[k] * n + j] += values[k]
        else:
            P[j * n : (j + 1) * n] = values[j * n : (j + 1) * n]
        diagonal[j] = P[j * n + j]
    set_shift(diagonal, D, factor, tol, shift)
    for j in range(n):
        P[j * n + j] += shift[j]
    return cholesky(n, P) == 0


@kernel
def is_dominant(indptr: Ints, indices: Ints, data: Floats) -> bool:
    """Return True if P_jj is at least the sum of |P_ij|, i != j, in each column j; P is then semidefinite."""
    n = indptr.size - 1
    for j in range(n):
        diagonal, others = 0.0, 0.0
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] == j:
                diagonal += data[k]
            else:
                others += abs(data[k])
        if not diagonal >= others:
            return False
    return True
