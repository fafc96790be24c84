"""The KKT system of a small program, on dense arrays.

    [ H  A'       ] [dx]   [r1 + G'W^-1 r3]
    [ A  -delta I ] [dy] = [r2            ],     H = P + G'W^-2 G + delta I,     W dz = W^-1 G dx - r3

is the system of `kkt.base` without W dz.  It is quasi-definite and has the factors LDL' with n positive and then p
negative pivots, one panel of the supernodal factorization; a pivot that is too small or has the wrong sign is replaced.
The rows of G with one entry in the orthant, bounds, go straight to the diagonal of H.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, UNIT, gemv, symv, trsv
from ..compiled.jit import inner_kernel, kernel
from ..kkt.base import PIVOT_DELTA, PIVOT_EPS
from ..linalg.ldl.panels import BLOCK, factor_panel
from ..linalg.refinement import ENOUGH, SLOW, USEFUL
from ..linalg.vectors import dot_within

ZERO = np.int64(0)  # a literal would be a second signature
LOOPS = 3000  # entries of a matrix up to which a product with it is quicker by loops than by BLAS


class System(NamedTuple):
    """The equilibrated data, and the places to work in; matrices by rows in flat arrays.

    Row i < l of G, in the orthant, is coefficient[i] times the unit vector of variable[i] where that is not negative, a
    bound, and coefficient[i] = +-1 times row[i] of `rows` else: the two sides of a row are one.
    """

    n: int
    p: int
    l: int
    ptr: np.ndarray
    P: np.ndarray  # (n, n)
    A: np.ndarray  # (p, n)
    variable: np.ndarray  # (l,)
    row: np.ndarray  # (l,)
    coefficient: np.ndarray  # (l,)
    ratio: np.ndarray  # (l,), coefficient / w
    rows: np.ndarray  # (distinct rows, n)
    cones: np.ndarray  # (m - l, n), the rows of G in second-order cones
    scaled: np.ndarray  # (m - l, n), W^-1 times these
    K: np.ndarray  # (n + p, n + p), the lower triangle by columns: the matrix, then L
    signs: np.ndarray  # (n + p,), those of the pivots
    pivots: np.ndarray  # (n + p,)
    panel: np.ndarray  # work of the factorization
    reduced: np.ndarray  # (n + p,)
    gathered: np.ndarray  # (distinct rows,)
    Px: np.ndarray  # (n,)
    residual: np.ndarray  # (n + p + m,)
    before: np.ndarray  # (n + p + m,)


@kernel
def build_system(p, ptr, M_indptr, M_indices, M_data, P):
    """The `System` of a program."""
    n, l, m = P.shape[0], ptr[0], ptr[-1]
    N, count = n + p, np.zeros(p + m, np.int64)
    variable, row, coefficient = np.full(l, -1), np.full(l, -1), np.ones(l)
    for k in range(M_indices.size):
        count[M_indices[k]] += 1
    # the rows that are no bounds, in their order, as dense ones
    place, kept = np.full(p + m, -1), 0
    for i in range(p + m):
        if not (p <= i < p + l and count[i] == 1):
            place[i] = kept
            kept += 1
    cones = kept - (m - l)
    dense = np.zeros(kept * n)
    for j in range(n):
        for k in range(M_indptr[j], M_indptr[j + 1]):
            i = M_indices[k]
            if place[i] >= 0:
                dense[place[i] * n + j] = M_data[k]
            else:
                variable[i - p], coefficient[i - p] = j, M_data[k]
    rows, distinct = np.empty((cones - p) * n), 0
    for i in range(l):
        if place[p + i] < 0:
            continue
        for r in range(distinct):
            sign = parallel(n, rows, r * n, dense, place[p + i] * n)
            if sign != 0.0:
                row[i], coefficient[i] = r, sign
                break
        if row[i] < 0:
            row[i], first = distinct, place[p + i] * n
            rows[distinct * n : distinct * n + n] = dense[first : first + n]
            distinct += 1
    signs = np.ones(N)
    signs[n:] = -1.0
    return System(
        n, p, l, ptr, P.ravel(), dense[: p * n], variable, row, coefficient, np.ones(l), rows[: distinct * n],
        dense[cones * n :], np.zeros((m - l) * n), np.zeros(N * N), signs, np.zeros(N), np.zeros(N * BLOCK),
        np.zeros(N), np.zeros(distinct), np.zeros(n), np.zeros(N + m), np.zeros(N + m),
    )  # fmt: skip


@inner_kernel
def parallel(n, x, x0, y, y0):
    """The sign with x[x0:][:n] = +-y[y0:][:n], 0 when there is none."""
    same, opposite = True, True
    for j in range(n):
        same &= x[x0 + j] == y[y0 + j]
        opposite &= x[x0 + j] == -y[y0 + j]
        if not (same or opposite):
            return 0.0
    return 1.0 if same else -1.0


@inner_kernel
def add_multiples(x, to, y, origin, stride, count, a, b, c, d):
    """x[to:][:count] += a y_0 + b y_1 + c y_2 + d y_3 for four rows of y, `stride` apart, the first at `origin`."""
    start, row = np.uint64(to), np.uint64(origin)
    second, third, fourth = np.uint64(origin + stride), np.uint64(origin + 2 * stride), np.uint64(origin + 3 * stride)
    for j in range(np.uint64(count)):
        x[start + j] += (a * y[row + j] + b * y[second + j]) + (c * y[third + j] + d * y[fourth + j])


@inner_kernel
def add_multiple(x, to, y, origin, count, a):
    """x[to:][:count] += a y[origin:][:count]."""
    start, row = np.uint64(to), np.uint64(origin)
    for j in range(np.uint64(count)):
        x[start + j] += a * y[row + j]


@inner_kernel
def add_rows(count, n, rows, v, v0, factor, out):
    """out += factor rows'v[v0:], four of the `count` rows of n entries at a time."""
    if count * n > LOOPS:
        gemv(NO_TRANSPOSE, n, count, factor, rows, ZERO, n, v, v0, 1.0, out, ZERO)
        return
    fours = count - count % 4
    for k in range(0, fours, 4):
        a, b, c, d = v[v0 + k], v[v0 + k + 1], v[v0 + k + 2], v[v0 + k + 3]
        add_multiples(out, ZERO, rows, k * n, n, n, factor * a, factor * b, factor * c, factor * d)
    for k in range(fours, count):
        add_multiple(out, ZERO, rows, k * n, n, factor * v[v0 + k])


@inner_kernel
def multiply_rows(count, n, rows, x, factor, beta, out, out0):
    """out[out0:] := factor rows x + beta out[out0:] for `count` rows of n entries."""
    if count * n > LOOPS:
        gemv(TRANSPOSE, n, count, factor, rows, ZERO, n, x, ZERO, beta, out, out0)
        return
    for r in range(count):
        out[out0 + r] = factor * dot_within(rows, r * n, x, ZERO, n) + beta * out[out0 + r]


@inner_kernel
def scale_cones(system, w, eta):
    """W^-1 G for the rows in second-order cones, W^-1 as in `scaling`."""
    n, ptr, G, out = system.n, system.ptr, system.cones, system.scaled
    at = 0
    for k in range(ptr.size - 1):
        start, size = ptr[k], ptr[k + 1] - ptr[k]
        for j in range(at, at + n):
            inner = 0.0
            for i in range(1, size):
                inner += w[start + i] * G[j + i * n]
            head = G[j]
            factor = inner / (1.0 + w[start]) - head
            out[j] = (w[start] * head - inner) / eta[k]
            for i in range(1, size):
                out[j + i * n] = (G[j + i * n] + factor * w[start + i]) / eta[k]
        at += size * n


@inner_kernel
def assemble(system, w, delta):
    """K := [H A'; A -delta I], its lower triangle, and the ratios."""
    n, p, P, A, K, weight = system.n, system.p, system.P, system.A, system.K, system.gathered
    N = n + p
    for i in range(n):
        for j in range(i, n):
            K[i * N + j] = P[i * n + j]
        for j in range(p):
            K[i * N + n + j] = A[j * n + i]
        K[i * N + i] += delta
    for i in range(n, N):
        for j in range(i, N):
            K[i * N + j] = 0.0
        K[i * N + i] = -delta
    for r in range(weight.size):
        weight[r] = 0.0
    for i in range(system.l):
        system.ratio[i] = system.coefficient[i] / w[i]
        j, square = system.variable[i], system.ratio[i] ** 2
        if j >= 0:
            K[j * N + j] += square
        else:
            weight[system.row[i]] += square
    add_products(n, N, weight.size, system.rows, weight, K)
    add_products(n, N, system.scaled.size // n, system.scaled, weight[:0], K)


@inner_kernel
def add_products(n, N, count, rows, weight, K):
    """K += rows' diag(weight) rows, the lower triangle; without weights where there are none."""
    fours = count - count % 4  # so many at a time, as H is then read and written less often
    weighted = weight.size > 0
    for r in range(0, fours, 4):
        for i in range(n):
            k = r * n + i
            a, b, c, d = rows[k], rows[k + n], rows[k + 2 * n], rows[k + 3 * n]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                if weighted:
                    a, b, c, d = a * weight[r], b * weight[r + 1], c * weight[r + 2], d * weight[r + 3]
                add_multiples(K, i * N + i, rows, k, n, n - i, a, b, c, d)
    for r in range(fours, count):
        for i in range(n):
            value = rows[r * n + i] * (weight[r] if weighted else 1.0)
            if value != 0.0:
                add_multiple(K, i * N + i, rows, r * n + i, n - i, value)


@kernel
def is_semidefinite(P, tol, empty):
    """Whether P + tol max P_ii I has positive pivots, and rows with P_ii <= empty max P_ii none above its root.

    False leaves it open.
    """
    n = P.shape[0]
    K, size = P.copy().ravel(), 0.0
    for i in range(n):
        size = max(size, P[i, i])
    for i in range(n):
        K[i * n + i] += tol * size
        if P[i, i] <= empty * size:
            for j in range(n):
                if abs(P[i, j]) > math.sqrt(empty) * size:
                    return False
    pivots, work = np.empty(n), np.empty(n * BLOCK)
    return factor_panel(K, ZERO, n, ZERO, np.ones(n), ZERO, PIVOT_EPS, PIVOT_DELTA, pivots, work) == 0


@inner_kernel
def factor(system, w, eta, delta):
    """Factor at the scaling (w, eta); returns the number of replaced pivots, -1 when one is not finite."""
    scale_cones(system, w, eta)
    assemble(system, w, delta)
    N = system.n + system.p
    return factor_panel(
        system.K, ZERO, N, ZERO, system.signs, ZERO, PIVOT_EPS, PIVOT_DELTA, system.pivots, system.panel
    )  # fmt: skip


@inner_kernel
def substitute(N, L, pivots, b):
    """b := (LDL')^-1 b."""
    if N * N > LOOPS:
        trsv(LOWER, NO_TRANSPOSE, UNIT, N, L, ZERO, N, b, ZERO)
        for k in range(N):
            b[k] /= pivots[k]
        trsv(LOWER, TRANSPOSE, UNIT, N, L, ZERO, N, b, ZERO)
        return
    for k in range(N):
        add_multiple(b, k + 1, L, k * N + k + 1, N - k - 1, -b[k])
    for k in range(N - 1, -1, -1):
        b[k] = b[k] / pivots[k] - dot_within(L, k * N + k + 1, b, k + 1, N - k - 1)


@inner_kernel
def multiply(n, P, x, out):
    """out := P x for the symmetric P."""
    if n * n > LOOPS:
        symv(LOWER, n, 1.0, P, ZERO, n, x, ZERO, 0.0, out, ZERO)
        return
    for i in range(n):
        out[i] = 0.0
    add_rows(n, n, P, x, ZERO, 1.0, out)


@inner_kernel
def add_transposed(system, ratio, cones, v, v0, factor, out):
    """out += factor G'v[v0:] with `ratio` in place of the coefficients of G, and `cones` of the cones' rows."""
    n, variable, row, sums = system.n, system.variable, system.row, system.gathered
    for r in range(sums.size):
        sums[r] = 0.0
    for i in range(ratio.size):
        value = ratio[i] * v[v0 + i]
        if variable[i] >= 0:
            out[variable[i]] += factor * value
        else:
            sums[row[i]] += value
    add_rows(sums.size, n, system.rows, sums, ZERO, factor, out)
    add_rows(cones.size // n, n, cones, v, v0 + ratio.size, factor, out)


@inner_kernel
def add_product(system, ratio, cones, x, factor, out, out0):
    """out[out0:] += factor G x with the same in their places."""
    n, variable, row, values = system.n, system.variable, system.row, system.gathered
    multiply_rows(values.size, n, system.rows, x, 1.0, 0.0, values, ZERO)
    for i in range(ratio.size):
        value = x[variable[i]] if variable[i] >= 0 else values[row[i]]
        out[out0 + i] += factor * (ratio[i] * value)
    multiply_rows(cones.size // n, n, cones, x, factor, 1.0, out, out0 + ratio.size)


@inner_kernel
def add_solution(system, rhs, out):
    """out += the solution (dx, dy, W dz) with the factors, not refined."""
    b, N = system.reduced, system.n + system.p
    for i in range(N):
        b[i] = rhs[i]
    add_transposed(system, system.ratio, system.scaled, rhs, N, 1.0, b)
    substitute(N, system.K, system.pivots, b)
    for i in range(N):
        out[i] += b[i]
    for i in range(N, rhs.size):
        out[i] -= rhs[i]
    add_product(system, system.ratio, system.scaled, b, 1.0, out, N)


@inner_kernel
def measure_residual(system, rhs, out):
    """residual := rhs - K out for the K of `kkt.base`; returns its infinity norm.  P x is left in the system."""
    n, p, r = system.n, system.p, system.residual
    multiply(n, system.P, out, system.Px)
    for i in range(rhs.size):
        r[i] = rhs[i] - system.Px[i] if i < n else rhs[i]
    add_rows(p, n, system.A, out, n, -1.0, r)
    add_transposed(system, system.ratio, system.scaled, out, n + p, -1.0, r)
    multiply_rows(p, n, system.A, out, -1.0, 1.0, r, n)
    for i in range(n + p, rhs.size):
        r[i] += out[i]
    add_product(system, system.ratio, system.scaled, out, -1.0, r, n + p)
    norm, trap = 0.0, 0.0  # the trap becomes NaN with any entry that is not finite; max(norm, NaN) is norm
    for i in range(rhs.size):
        norm = max(norm, abs(r[i]))
        trap += 0.0 * r[i]
    return norm if trap == 0.0 else np.inf


@inner_kernel
def multiply_both(system, u, r, Mtv):
    """r[n:] := M x and Mtv := M'v for u = (x, v)."""
    n, p = system.n, system.p
    for j in range(n):
        Mtv[j] = 0.0
    add_rows(p, n, system.A, u, n, 1.0, Mtv)
    add_transposed(system, system.coefficient, system.cones, u, n + p, 1.0, Mtv)
    for i in range(n, u.size):
        r[i] = 0.0
    multiply_rows(p, n, system.A, u, 1.0, 0.0, r, n)
    add_product(system, system.coefficient, system.cones, u, 1.0, r, n + p)


@inner_kernel
def solve(system, rhs, out, steps):
    """K out = rhs for the K of `kkt.base`, by iterative refinement; returns (the relative residual, further solves)."""
    size = 1e-300
    for i in range(rhs.size):
        size = max(size, abs(rhs[i]))
        out[i] = 0.0
    add_solution(system, rhs, out)
    norm, count = measure_residual(system, rhs, out), 0
    while norm > ENOUGH * size and count < steps:
        previous = norm
        for i in range(out.size):
            system.before[i] = out[i]
        add_solution(system, system.residual, out)
        norm = measure_residual(system, rhs, out)
        count += 1
        if not norm < USEFUL * previous:
            for i in range(out.size):
                out[i] = system.before[i]
            norm = measure_residual(system, rhs, out)
        if not norm < SLOW * previous:
            break
    return norm / size, count
