"""Mizuno, Todd and Ye's predictor-corrector method (1993): steps between two neighbourhoods of the central path.

    minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s in K

On strictly feasible points, with mu = s'z / deg K and lam = W z = W^-1 s of Nesterov and Todd's scaling,

    N(beta) = {(x, y, z, s): ||lam o lam - mu e||_F <= beta mu},      lam o lam = s o z in an orthant,

where ||u||_F^2 is the sum of the squared eigenvalues of u: u_i^2 of an entry, 2 ||u||^2 of a second-order cone.

A predictor (sigma = 0) goes from N(1/4) as far as N(1/2) reaches, a corrector (sigma = 1, a full step) back to N(1/4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import socp
from socp.textbook import Cone, Iterate
from socp.textbook.switches import dense

from .barrier import barrier, on_the_path

INNER, OUTER = 0.25, 0.5


def orthant(v: np.ndarray) -> Cone:
    """Return the orthant of the dimension of `v`."""
    return Cone([socp.NonNeg(v.size)])


def frobenius(cone: Cone) -> np.ndarray:
    """Return the weights of ||u||_F^2 = sum_i weights_i u_i^2: the number of eigenvalues of each entry's block.

    Examples
    --------
    >>> frobenius(Cone([socp.NonNeg(2), socp.SecondOrder(3)]))
    array([1., 1., 2., 2., 2.])
    """
    sizes = [block.stop - block.start for block in cone.blocks]
    return np.repeat([1.0 if size == 1 else 2.0 for size in sizes], sizes)


def distance(s: np.ndarray, z: np.ndarray, cone: Cone | None = None) -> float:
    """Return ||lam o lam - mu e||_F / mu, the least beta with the point in N(beta); K is an orthant if `cone` is None.

    Examples
    --------
    >>> print(distance(np.array([1.0, 2.0]), np.array([1.0, 0.5])))
    0.0
    """
    cone = cone or orthant(s)
    lam = cone.scaling(s, z)[0] @ z
    mu = s @ z / cone.degree
    apart = cone.arrow(lam) @ lam - mu * cone.e
    return float(np.sqrt(frobenius(cone) @ apart**2) / mu)


def direction(program: socp.ConeProgram, it: Iterate, sigma: float | np.ndarray) -> Iterate:
    """Return the Newton direction to lam o lam = sigma mu e from a feasible point, as an iterate of differences.

    [ P  A'  G'       ] [dx]   [0                    ]
    [ A  0   0        ] [dy] = [0                    ]      ds = -G dx
    [ G  0   -W^2     ] [dz]   [s - sigma mu z^-1    ]

    On orthants sigma may be an array, with one target for each product.
    """
    cone, (P, A, G) = Cone(program.cones), dense(program)
    n, p, m = program.n, program.p, program.m
    W, _ = cone.scaling(it.s, it.z)
    K = np.block([[P, A.T, G.T], [A, np.zeros((p, p + m))], [G, np.zeros((m, p)), -W @ W]])
    inverse = -barrier(cone, it.z)[1]
    rhs = np.concatenate([np.zeros(n + p), it.s - sigma * (it.s @ it.z) / cone.degree * inverse])
    dx, dy, dz = np.split(np.linalg.solve(K, rhs), [n, n + p])
    return Iterate(dx, dy, dz, -G @ dx)


def longest_step(it: Iterate, step: Iterate, beta: float, cone: Cone | None = None) -> float:
    """Return the largest alpha <= 1 up to which ||w(alpha) - mu e||_F <= beta mu at all points it + alpha step.

    w(alpha) = lam o lam + alpha lam o (W^-1 ds + W dz) + alpha^2 (W^-1 ds) o (W dz) are the products in the scaling at
    `it`, so that ||w - mu e||_F^2 - beta^2 mu^2 is a polynomial of degree four; its smallest positive root is the end.
    ||w - mu e||_F is at least mu times `distance` of the point, so the points are in N(beta).
    """
    cone = cone or orthant(it.s)
    W, W_inv = cone.scaling(it.s, it.z)
    lam, ds, dz = W @ it.z, W_inv @ step.s, W @ step.z
    w = np.array([cone.arrow(lam) @ lam, cone.arrow(lam) @ (ds + dz), cone.arrow(ds) @ dz])
    mu = w @ cone.e / cone.degree
    apart = w - np.outer(mu, cone.e)
    squares = (frobenius(cone) * apart) @ apart.T - beta**2 * np.outer(mu, mu)
    coefficients = [np.trace(squares[::-1], offset) for offset in (2, 1, 0, -1, -2)]  # from alpha^4 to 1
    roots = np.roots(coefficients)
    ends = roots.real[(np.abs(roots.imag) <= 1e-9 * np.abs(roots)) & (roots.real > 0.0)]
    return float(ends.min(initial=1.0))


def advance(it: Iterate, step: Iterate, alpha: float) -> Iterate:
    """Return it + alpha step."""
    x, y, z, s = (getattr(it, name) + alpha * getattr(step, name) for name in "xyzs")
    return replace(it, x=x, y=y, z=z, s=s, alpha=alpha)


def predictor_corrector(
    program: socp.ConeProgram, start: float | Iterate, gap: float, max_iter: int = 1000
) -> Iterator[Iterate]:
    """Yield the start, and the iterate after each predictor and each corrector, until s'z <= gap.

    Parameters
    ----------
    program : ConeProgram
    start : float or Iterate
        The mu of the point of the central path to start from, or a strictly feasible point of N(1/4).
    gap : float
    max_iter : int

    Raises
    ------
    socp.ProgramError
        The program has no strictly feasible point.

    Examples
    --------
    minimize x with 0 <= x <= 1.

    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> points = list(predictor_corrector(program, 1.0, 1e-6))
    >>> print(all(distance(it.s, it.z) <= 0.5 + 1e-9 for it in points), points[-1].x.round(5) + 0.0)
    True [0.]
    """
    cone = Cone(program.cones)
    it = start if isinstance(start, Iterate) else on_the_path(program, start)
    yield it
    for _ in range(max_iter):
        if it.s @ it.z <= gap:
            return
        step = direction(program, it, 0.0)
        it = advance(it, step, longest_step(it, step, OUTER, cone))
        yield it
        it = advance(it, direction(program, it, 1.0), 1.0)
        yield it
