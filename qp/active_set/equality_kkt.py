"""The KKT system of a program's equalities, over which the dual active set solves sparse programs.

    minimize 1/2 x'Px + q'x   subject to   E x = b,  lower <= A x <= upper

    K = [ P + rho I   E' ]          H = the leading block of K^-1,  the inverse of P + rho I where E x = 0
        [ E           0  ]

With H = R^-1 R'^-1 the equations of `dual_set` hold as they stand: the rows are M = A R^-1, the minimum on the
equalities is x_0, with (x_0, y_0) = K^-1 (-q, b), and

    M_i M_k' = a_i H a_k',        M u = A x + M v,        M v = -A x_0.

So products with R^-1, a dense matrix, are solves with the sparse L D L' of K.  It finds what equalities define by
itself: states of dynamics, explicit or not, balances of flows, auxiliary variables, in any order.  A regularization
makes K quasi-definite; residuals of the true K correct what it costs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.compiled.structures import Structure, dimension, flag, floats, integers, number, structure
from socp.linalg.csc import append_upper, multiply_both, multiply_transposed
from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.factors import Factors, solve
from socp.linalg.vectors import norm_within
from socp.problem.checks import INT

# Regularization of variables without cost and of equalities, relative to P and to the rows: it is rounding unless
# equalities depend on each other.
STATIC, DEPENDENT = 1e-14, 1e-10
SOLVED = 1e-12  # largest residual of a solve, relative to its right-hand side


class EqualityKKT(Structure):
    """K and its factors, and the rows A of which some are in the working set, scaled; the rows of bounds come last."""

    n, p, count = dimension(), dimension(), dimension()  # variables, equalities, rows
    factors = structure(Factors)
    P_indptr, P_indices, P_data = integers(), integers(), floats()
    E_indptr, E_indices, E_data = integers(), integers(), floats()  # by rows
    indptr, indices, data = integers(), integers(), floats()  # A by rows
    scale, E_scale, below = floats(), floats(), floats()  # factors of the rows; regularization of the equalities
    rho, corrects = number(), flag()  # `corrects`: each solve is followed by a correction
    base, rhs, residual = floats("n + p"), floats("n + p"), floats("n + p")
    z, row, change = floats("n + p"), floats("n + p"), floats("n + p")  # solutions: (x, y), of a row, a correction
    work = floats("n + p")


@inner
def row_times(kkt: EqualityKKT, i: int, x: Floats) -> float:
    """Return a_i x."""
    total = 0.0
    for k in range(kkt.indptr[i], kkt.indptr[i + 1]):
        total += kkt.data[k] * x[kkt.indices[k]]
    return total


@inner
def rows_times(kkt: EqualityKKT, x: Floats, out: Floats) -> None:
    """out := A x."""
    for i in range(kkt.count):
        out[i] = row_times(kkt, i, x)


@inner
def solve_row(kkt: EqualityKKT, i: int) -> float:
    """Set the first n entries of `row` to H a_i' and return a_i H a_i'."""
    kkt.rhs[:] = 0.0
    for k in range(kkt.indptr[i], kkt.indptr[i + 1]):
        kkt.rhs[kkt.indices[k]] = kkt.data[k]
    solve_corrected(kkt, kkt.row)
    return row_times(kkt, i, kkt.row)


@inner
def find_z(kkt: EqualityKKT, rows: Ints, multipliers: Floats, count: int) -> None:
    """z := K^-1 (base - A_W'y), for the first `count` rows and multipliers."""
    for j in range(kkt.n + kkt.p):
        kkt.rhs[j] = kkt.base[j]
    for w in range(count):
        i, y = rows[w], multipliers[w]
        for k in range(kkt.indptr[i], kkt.indptr[i + 1]):
            kkt.rhs[kkt.indices[k]] -= y * kkt.data[k]
    solve_corrected(kkt, kkt.z)


@inner
def solve_corrected(kkt: EqualityKKT, out: Floats) -> None:
    """out := K^-1 rhs."""
    solve(kkt.factors, 1, kkt.rhs, out)
    if kkt.corrects:
        correct(kkt, out)


@kernel
def correct(kkt: EqualityKKT, z: Floats) -> float:
    """Add K^-1 (rhs - K z) to z; return the residual before that, relative to the right-hand side."""
    n, residual, work = kkt.n, kkt.residual, kkt.work
    multiply_transposed(kkt.P_indptr, kkt.P_indices, kkt.P_data, z[:n], residual[:n])
    multiply_both(kkt.E_indptr, kkt.E_indices, kkt.E_data, z[n:], z[:n], work[:n], residual[n:])
    for j in range(n):
        residual[j] += work[j] + kkt.rho * z[j]
    for j in range(n + kkt.p):
        residual[j] = kkt.rhs[j] - residual[j]
    size = norm_within(residual, 0, n + kkt.p) / max(norm_within(kkt.rhs, 0, n + kkt.p), 1e-300)
    solve(kkt.factors, 1, residual, kkt.change)
    for j in range(n + kkt.p):
        z[j] += kkt.change[j]
    return size


def rows_of(A: sp.csr_array, rows: np.ndarray, variables: np.ndarray, n: int) -> sp.csr_array:
    """Return the given rows of A, and below them rows of the identity for the variables."""
    chosen, size = A[rows], variables.size
    indptr = np.append(chosen.indptr, chosen.nnz + np.arange(1, size + 1))
    indices, data = np.append(chosen.indices, variables), np.append(chosen.data, np.ones(size))
    return sp.csr_array((data, indices.astype(INT), indptr.astype(INT)), (rows.size + size, n))


def equality_kkt(P: sp.csc_array, E: sp.csr_array, A: sp.csr_array, proximal: float) -> tuple[EqualityKKT, LDL] | None:
    """Return K with its factors, and these; None if it cannot be factored.

    The rows of E have length one.  rho is 0 if P is positive definite where E x = 0, else `proximal`, relative to the
    largest entry of P.
    """
    n, p = P.shape[0], E.shape[0]
    largest = float(np.abs(P.data).max(initial=0.0)) or 1.0
    no_cost = P.diagonal() <= 0.0
    indptr, at = np.empty(n + p + 1, INT), np.empty(P.nnz + E.nnz + n + p, INT)
    data = np.empty(at.size)
    append_upper(P.indptr, P.indices, P.data, np.zeros(n), 0, indptr, at, data)
    append_upper(E.indptr, E.indices, E.data, np.zeros(p), n, indptr, at, data)
    size, diagonal = int(indptr[-1]), indptr[1:] - 1
    signs, zero_diagonal = np.repeat([1, -1], [n, p]), np.append(no_cost, np.ones(p, bool))
    ldl = LDL(indptr, at[:size], signs, zero_diagonal=zero_diagonal)
    kkt = EqualityKKT(
        n=n, p=p, count=A.shape[0], factors=ldl.factors, P_indptr=P.indptr, P_indices=P.indices, P_data=P.data,
        E_indptr=E.indptr, E_indices=E.indices, E_data=E.data, indptr=A.indptr, indices=A.indices, data=A.data,
    )  # fmt: skip
    unit = np.append(np.where(no_cost, largest, 0.0), np.full(p, -1.0 / largest))
    for static, rho in ((STATIC, 0.0), (DEPENDENT, 0.0), (DEPENDENT, proximal * largest)):
        kkt.rho, kkt.below, values = rho, -static * unit[n:], data[:size].copy()
        values[diagonal] += static * unit
        values[diagonal[:n]] += rho
        if ldl.factor(values, 0.0, static) == 0 and is_accurate(kkt):
            return kkt, ldl
    return None


def is_accurate(kkt: EqualityKKT) -> bool:
    """Return True if a solve is accurate, or is so with one correction: then each solve has one."""
    kkt.rhs[:] = np.cos(np.arange(kkt.rhs.size, dtype=float))
    kkt.rhs[kkt.n :] = 0.0
    solve(kkt.factors, 1, kkt.rhs, kkt.z)
    kkt.corrects = correct(kkt, kkt.z) > SOLVED
    return correct(kkt, kkt.z) <= SOLVED
