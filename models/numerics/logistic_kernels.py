"""Logistic losses and products with their Hessians, compiled.

X is in CSR; the unknowns are a table (columns, rows), b last: one row for two classes, else one per class.
"""

import math

from socp.compiled.kernels import kernel, leaf
from socp.compiled.signatures import Floats, Ints, Matrix

from ..base.rows import Rows, add_row, row_times


@leaf
def evaluate_two_class(z: float, i: int, codes: Ints, weights: Floats, P: Matrix, R: Matrix) -> float:
    """Return s_i loss_i at the score z of sample i; set P[i] and R[i] as `evaluate` does."""
    small = math.exp(-abs(z))
    P[i, 0] = 1.0 / (1.0 + small) if z >= 0.0 else small / (1.0 + small)
    R[i, 0] = weights[i] * (P[i, 0] - codes[i])
    return weights[i] * (max(z if codes[i] == 0 else -z, 0.0) + math.log1p(small))


@kernel
def evaluate_rows(
    rows: Rows, codes: Ints, weights: Floats, theta: Floats, P: Matrix, R: Matrix, slope: Floats
) -> float:  # fmt: skip
    """Run `evaluate` for two classes at theta, and set slope = [X 1]'R, in one pass over X."""
    total = 0.0
    for j in range(slope.size):
        slope[j] = 0.0
    for i in range(codes.size):
        total += evaluate_two_class(row_times(rows, i, theta), i, codes, weights, P, R)
        add_row(rows, i, R[i, 0], slope)
    return total


@kernel
def evaluate(scores: Matrix, codes: Ints, weights: Floats, P: Matrix, R: Matrix) -> float:
    """Return sum_i s_i loss_i; set P to the probabilities (of class 1 if scores has one column) and R to s (P - Y)."""
    n, rows = scores.shape
    total = 0.0
    for i in range(n):
        if rows == 1:
            total += evaluate_two_class(scores[i, 0], i, codes, weights, P, R)
            continue
        top, below = scores[i, 0], 0.0
        for k in range(1, rows):
            top = max(top, scores[i, k])
        for k in range(rows):
            P[i, k] = math.exp(scores[i, k] - top)
            below += P[i, k]
        for k in range(rows):
            P[i, k] /= below
            R[i, k] = weights[i] * P[i, k]
        R[i, codes[i]] -= weights[i]
        total += weights[i] * (top - scores[i, codes[i]] + math.log(below))
    return total


@kernel
def mix(P: Matrix, codes: Ints, weights: Floats, q: Floats, share: float, R: Matrix) -> float:
    """R := s (P' - Y), P' = (P + share q) / (1 + share); return the weighted sum of the entropies of all P'."""
    n, rows = P.shape
    first, total = q.size - rows, 0.0
    for i in range(n):
        below, entropy = 1.0, 0.0
        for k in range(rows):
            p = (P[i, k] + share * q[first + k]) / (1.0 + share)
            R[i, k] = weights[i] * (p - 1.0 if codes[i] == first + k else p)
            below -= p
            entropy -= p * math.log(p) if p > 0.0 else 0.0
        if rows == 1 and below > 0.0:
            entropy -= below * math.log(below)
        total += weights[i] * entropy
    return total


@kernel
def bend(P: Matrix, weights: Floats, U: Matrix) -> None:
    """U_i := weights_i C_i U_i for every sample i, with the curvature C_i = P (1 - P) or diag(P) - P P' of the loss."""
    n, rows = P.shape
    for i in range(n):
        mean = P[i, 0] * U[i, 0]
        for k in range(1, rows):
            mean += P[i, k] * U[i, k]
        for k in range(rows):
            U[i, k] = weights[i] * P[i, k] * (U[i, k] - mean)


@kernel
def multiply_two_class_hessian(rows: Rows, curvature: Floats, v: Floats, out: Floats) -> None:
    """out := [X 1]' diag(curvature) [X 1] v in one pass over X."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(curvature.size):
        add_row(rows, i, curvature[i] * row_times(rows, i, v), out)


@kernel
def multiply_hessian(rows: Rows, P: Matrix, weights: Floats, V: Matrix, u: Floats, out: Matrix) -> None:
    """out := [X 1]' C [X 1] V in one pass over X, with the weighted curvature C of `bend`; u (classes) is work."""
    indptr, indices, values, intercept = rows.indptr, rows.indices, rows.values, rows.bias != 0.0
    n, classes = P.shape
    last = V.shape[0] - 1
    for j in range(out.shape[0]):
        for k in range(classes):
            out[j, k] = 0.0
    for i in range(n):
        start, stop = indptr[i], indptr[i + 1]
        for k in range(classes):
            u[k] = V[last, k] if intercept else 0.0
        for q in range(start, stop):
            x, j = values[q], indices[q]
            for k in range(classes):
                u[k] += x * V[j, k]
        mean = 0.0
        for k in range(classes):
            mean += P[i, k] * u[k]
        for k in range(classes):
            u[k] = weights[i] * P[i, k] * (u[k] - mean)
        for q in range(start, stop):
            x, j = values[q], indices[q]
            for k in range(classes):
                out[j, k] += x * u[k]
        if intercept:
            for k in range(classes):
                out[last, k] += u[k]
