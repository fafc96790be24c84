"""The short-step barrier method of Renegar, with Nesterov and Nemirovskii's barriers and bound on the iterations.

    minimize  t c'x + F(h - Gx)   for   t := (1 + 1 / (8 sqrt(nu))) t,   one Newton step each

F = -sum log s_i - sum log det(s_k), over the entries of orthants and the second-order cones, is self-concordant with
the parameter nu = (entries) + 2 (cones).  A Newton decrement of at most 1/9 is at most 1/9 after every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import socp
from socp.textbook import Cone, det
from socp.textbook.switches import dense

NEAR = 1.0 / 9.0  # Newton decrement before and after each step
SHORT = 1.0 / 8.0  # relative growth of t per step, times sqrt(nu)


@dataclass
class Point:
    """Point of the method and its certificate: z is dual feasible, s'z is the gap."""

    x: np.ndarray
    t: float
    z: np.ndarray
    decrement: float
    gap: float


def parameter(cone: Cone) -> int:
    """Return nu, the sum of 1 for each entry of an orthant and 2 for each second-order cone.

    Examples
    --------
    >>> from socp import NonNeg, SecondOrder
    >>> parameter(Cone([NonNeg(4), SecondOrder(3), SecondOrder(10)]))
    8
    """
    return sum(1 if k.stop - k.start == 1 else 2 for k in cone.blocks)


def derivatives(cone: Cone, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F'(s) and F''(s).

    Of an entry of an orthant they are -1 / s and 1 / s^2; of a cone -2 Js / det s and
    (4 Js (Js)' / det s - 2 J) / det s.

    Examples
    --------
    >>> from socp import NonNeg
    >>> gradient, hessian = derivatives(Cone([NonNeg(2)]), np.array([1.0, 2.0]))
    >>> print(gradient, hessian.diagonal())
    [-1.  -0.5] [1.   0.25]
    """
    single = np.array([k.start for k in cone.blocks if k.stop - k.start == 1], dtype=int)
    gradient, hessian = np.zeros(cone.dim), np.zeros((cone.dim, cone.dim))
    gradient[single], hessian[single, single] = -1.0 / s[single], 1.0 / s[single] ** 2
    for k in cone.blocks:
        if k.stop - k.start > 1:
            J = np.diag(2.0 * cone.e[k] - 1.0)
            reflected, d = J @ s[k], det(s[k])
            gradient[k] = -2.0 * reflected / d
            hessian[k, k] = (4.0 / d * np.outer(reflected, reflected) - 2.0 * J) / d
    return gradient, hessian


def newton(program: socp.ConeProgram, x: np.ndarray, t: float) -> tuple[np.ndarray, Point]:
    """Return the Newton step of t c'x + F(h - Gx) at x, and the point with its decrement and its certificate."""
    cone, (_, _, G) = Cone(program.cones), dense(program)
    s = program.h - G @ x
    gradient, hessian = derivatives(cone, s)
    step = np.linalg.solve(G.T @ hessian @ G, G.T @ gradient - t * program.c)
    ds = -G @ step
    z = -(gradient + hessian @ ds) / t
    return step, Point(x, t, z, float(np.sqrt(ds @ hessian @ ds)), float(s @ z))


def short_step(program: socp.ConeProgram, x: np.ndarray, gap: float, max_iter: int = 100_000) -> Iterator[Point]:
    """Yield the points of the method, starting near the minimizer x of F(h - Gx), until s'z <= gap.

    Parameters
    ----------
    program : ConeProgram
        Program without P and A.
    x : array, shape (n,)
        Point at or near the analytic center.
    gap : float
    max_iter : int
    """
    if program.P is not None or program.p:
        raise socp.ProgramError("a program without P and A is expected here")
    growth = 1.0 + SHORT / np.sqrt(parameter(Cone(program.cones)))
    t = NEAR / newton(program, x, 1.0)[1].decrement  # at the center the decrement is proportional to t
    point = newton(program, x, t)[1]
    for _ in range(max_iter):
        yield point
        if point.gap <= gap:
            return
        t *= growth
        x = x + newton(program, x, t)[0]
        point = newton(program, x, t)[1]


def bound(nu: int, ratio: float) -> int:
    """Return the largest number of steps until s'z is below nu / t divided by `ratio`, with t of the start."""
    return int(np.ceil(np.log(10.0 / 9.0 * ratio) / np.log1p(SHORT / np.sqrt(nu))))


def symmetric_program(nu: int, n: int = 3, seed: int = 0) -> tuple[socp.ConeProgram, np.ndarray]:
    """Return a program of rows |a_i'x| <= 1 and ellipses ||B_j x|| <= 1, half of nu each, and its analytic center 0."""
    if nu % 4:
        raise socp.ProgramError(f"nu must be a multiple of 4, but it is {nu}")
    rng = np.random.default_rng(seed)
    rows, disks = rng.normal(size=(nu // 4, n)), rng.normal(size=(nu // 4, 2, n))
    G = np.vstack([rows, -rows, *(np.vstack([np.zeros(n), -B]) for B in disks)])
    h = np.concatenate([np.ones(nu // 2), np.tile([1.0, 0.0, 0.0], nu // 4)])
    cones: list[socp.NonNeg | socp.SecondOrder] = [socp.NonNeg(nu // 2)]
    cones += [socp.SecondOrder(3)] * (nu // 4)
    return socp.ConeProgram(rng.normal(size=n), G, h, cones), np.zeros(n)
