"""Mizuno, Todd and Ye's predictor-corrector method (1993): steps between two neighbourhoods of the central path.

    minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s >= 0      (orthants alone)

On strictly feasible points, with mu = s'z / m and the products s o z,

    N(beta) = {(x, y, z, s): ||s o z - mu e|| <= beta mu}.

A predictor (sigma = 0) goes from N(1/4) as far as N(1/2) reaches, a corrector (sigma = 1, a full step) back to N(1/4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import socp
from socp.textbook import Iterate
from socp.textbook.switches import dense

from .barrier import on_the_path

INNER, OUTER = 0.25, 0.5


def distance(s: np.ndarray, z: np.ndarray) -> float:
    """||s o z - mu e|| / mu, the least beta of a neighbourhood with this point.

    Examples
    --------
    >>> print(distance(np.array([1.0, 2.0]), np.array([1.0, 0.5])))
    0.0
    """
    products = s * z
    mu = products.mean()
    return float(np.linalg.norm(products - mu) / mu)


def direction(program: socp.ConeProgram, it: Iterate, sigma: float | np.ndarray) -> Iterate:
    """The Newton direction to s_i z_i = sigma_i mu from a feasible point (one sigma for all, or each its own).

    [ P  A'  G'       ] [dx]   [0                    ]
    [ A  0   0        ] [dy] = [0                    ]      ds = -G dx
    [ G  0   -s / z   ] [dz]   [s - sigma mu / z     ]
    """
    P, A, G = dense(program)
    n, p, m = program.n, program.p, program.m
    K = np.block([
        [P, A.T, G.T], [A, np.zeros((p, p + m))], [G, np.zeros((m, p)), -np.diag(it.s / it.z)],
    ])  # fmt: skip
    rhs = np.concatenate([np.zeros(n + p), it.s - sigma * (it.s @ it.z) / m / it.z])
    dx, dy, dz = np.split(np.linalg.solve(K, rhs), [n, n + p])
    return Iterate(dx, dy, dz, -G @ dx)


def longest_step(it: Iterate, step: Iterate, beta: float) -> float:
    """The largest alpha <= 1 up to which all points it + alpha step are in N(beta), which `it` is in.

    The products are w(alpha) = s o z + alpha (z o ds + s o dz) + alpha^2 ds o dz, so that
    ||w - mu e||^2 - beta^2 mu^2 is a polynomial of degree four; its smallest positive root is the end.
    """
    w = np.array([it.s * it.z, it.z * step.s + it.s * step.z, step.s * step.z])
    mu = w.mean(axis=1)
    apart = w - mu[:, None]
    squares = apart @ apart.T - beta**2 * np.outer(mu, mu)
    coefficients = [np.trace(squares[::-1], offset) for offset in (2, 1, 0, -1, -2)]  # of alpha^4, ..., 1
    roots = np.roots(coefficients)
    ends = roots.real[(np.abs(roots.imag) <= 1e-9 * np.abs(roots)) & (roots.real > 0.0)]
    return float(ends.min(initial=1.0))


def advance(it: Iterate, step: Iterate, alpha: float) -> Iterate:
    """it + alpha step."""
    x, y, z, s = (getattr(it, name) + alpha * getattr(step, name) for name in "xyzs")
    return replace(it, x=x, y=y, z=z, s=s, alpha=alpha)


def predictor_corrector(program: socp.ConeProgram, mu: float, gap: float, max_iter: int = 1000) -> Iterator[Iterate]:
    """The start on the path with this mu, then each predictor and each corrector, until s'z <= gap.

    Raises
    ------
    socp.ProgramError
        The program has second-order cones, or no strictly feasible point.

    Examples
    --------
    minimize x with 0 <= x <= 1.

    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> points = list(predictor_corrector(program, 1.0, 1e-6))
    >>> print(all(distance(it.s, it.z) <= 0.5 + 1e-9 for it in points), points[-1].x.round(5) + 0.0)
    True [0.]
    """
    if any(not isinstance(cone, socp.NonNeg) for cone in program.cones):
        raise socp.ProgramError("the method is for orthants, but the program has second-order cones")
    it = on_the_path(program, mu)
    yield it
    for _ in range(max_iter):
        if it.s @ it.z <= gap:
            return
        step = direction(program, it, 0.0)
        it = advance(it, step, longest_step(it, step, OUTER))
        yield it
        it = advance(it, direction(program, it, 1.0), 1.0)
        yield it
