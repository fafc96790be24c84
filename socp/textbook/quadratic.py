r"""The method for linear and quadratic programs, without switches: to be read first.

    minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s >= 0      (dual variables: y of A, z >= 0 of G)

A point is optimal when  rx = Px + c + A'y + G'z,  ry = Ax - b  and  rz = Gx + s - h  are zero and so are the products
s_i z_i (Mehrotra 1992; Nocedal and Wright 2006, section 16.6).  `method` extends this to second-order cones and to
the homogeneous embedding, which finds certificates where there is no solution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

STEP = 0.99  # step length relative to the step to the boundary
REGULARIZATION = 1e-9  # addition to the diagonal, relative to the largest entry of the data


def ldl(K: np.ndarray, signs: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return L with a unit diagonal and d with L diag(d) L' = K + delta diag(signs), without pivoting.

    If K is quasi-definite with these signs, d has them (Vanderbei 1995).  A pivot of the other sign, or below
    delta / 10, is rounding: it gets the right sign and a size of at least 1e4 delta, which nearly fixes its variable.
    """
    L, d, S = np.eye(len(K)), np.zeros(len(K)), K.astype(np.float64)
    for j in range(len(K)):
        d[j] = S[j, j] + delta * signs[j]
        if signs[j] * d[j] < 0.1 * delta:
            d[j] = signs[j] * max(abs(d[j]), 1e4 * delta)
        L[j + 1 :, j] = S[j + 1 :, j] / d[j]
        S[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], S[j + 1 :, j])  # BLAS would round differently by processor.
    return L, d


def ldl_solver(K: np.ndarray, signs: np.ndarray, delta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that solves with K + delta diag(signs) for a symmetric K."""
    L, d = ldl(K, signs, delta)

    def solve(rhs: np.ndarray) -> np.ndarray:
        v = scipy.linalg.solve_triangular(L, rhs, lower=True, unit_diagonal=True, check_finite=False)
        return scipy.linalg.solve_triangular(L, v / d, lower=True, trans=1, unit_diagonal=True, check_finite=False)

    return solve


def longest_step(u: np.ndarray, du: np.ndarray) -> float:
    """Return the largest alpha with u + alpha du >= 0, for u > 0."""
    falls = du < 0.0
    return float((-u[falls] / du[falls]).min(initial=np.inf))


def newton_solver(P: np.ndarray, A: np.ndarray, G: np.ndarray, z: np.ndarray, s: np.ndarray) -> Callable:
    """Return the function of (r1, r2, r3, r4) that gives (dx, dy, dz, ds) of the linearized conditions.

        P dx + A'dy + G'dz = r1,    A dx = r2,    G dx + ds = r3,    z ds + s dz = r4

    Eliminate ds = r3 - G dx and dz = (r4 - z ds) / s; add a little to the diagonal, and refine its error away:

        [ P + G'(z/s)G   A' ] [ dx ]   [ r1 - G'((r4 - z r3) / s) ]
        [ A              0  ] [ dy ] = [ r2                       ]
    """
    n, p = len(P), len(A)
    K = np.block([[P + G.T @ (G * (z / s)[:, None]), A.T], [A, np.zeros((p, p))]])
    little = REGULARIZATION * max(1.0, *(np.abs(data).max(initial=0.0) for data in (P, A, G)))
    once = ldl_solver(K, np.repeat([1.0, -1.0], [n, p]), little)

    def solve(r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, r4: np.ndarray) -> tuple:
        rhs, u = np.concatenate([r1 - G.T @ ((r4 - z * r3) / s), r2]), np.zeros(n + p)
        for _ in range(3):
            u += once(rhs - K @ u)
        ds = r3 - G @ u[:n]
        return u[:n], u[n:], (r4 - z * ds) / s, ds

    return solve


def solve_quadratic(
    P: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, G: np.ndarray, h: np.ndarray, tol: float = 1e-8
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Return (x, y, z, s, iterations) of a program that has a solution, by Mehrotra's predictor-corrector method.

    Raises
    ------
    ArithmeticError
        No point with residuals and mean product of at most tol was found in 100 iterations.

    Examples
    --------
    The largest x_1 + x_2 with x_1 + 2 x_2 <= 2 and x <= 1:

    >>> G, h = np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0, 1.0])
    >>> none = np.zeros((0, 2)), np.zeros(0)
    >>> x, y, z, s, iterations = solve_quadratic(np.zeros((2, 2)), -np.ones(2), *none, G, h)
    >>> print(x.round(6), z.round(6), iterations < 10)
    [1.  0.5] [0.5 0.5 0. ] True
    """
    n, p, m = c.size, b.size, h.size
    x, y, z, s = np.zeros(n), np.zeros(p), np.ones(m), np.maximum(h, 1.0)
    for iteration in range(100):
        rx, ry, rz, mu = P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h, s @ z / max(m, 1)
        if max(np.abs(np.concatenate([rx, ry, rz])).max(initial=0.0), mu) <= tol:
            return x, y, z, s, iteration

        direction = newton_solver(P, A, G, z, s)
        _, _, dz, ds = direction(-rx, -ry, -rz, -s * z)  # predictor: the target of all s_i z_i is 0
        sigma = (1.0 - min(1.0, longest_step(s, ds), longest_step(z, dz))) ** 3
        dx, dy, dz, ds = direction(-rx, -ry, -rz, sigma * mu - s * z - ds * dz)  # corrector: the target is sigma mu
        alpha = min(1.0, STEP * min(longest_step(s, ds), longest_step(z, dz)))
        x, y, z, s = x + alpha * dx, y + alpha * dy, z + alpha * dz, s + alpha * ds
    raise ArithmeticError("no solution was found in 100 iterations")
