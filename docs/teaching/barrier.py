"""The central path by Newton's method on the logarithmic barrier, for programs with a strictly feasible point.

    minimize    1/2 x'Px + c'x + mu phi(s)     phi(s) = -1/2 sum log det(s_k) over the factors of K
    subject to  Ax = b,  s = h - Gx inside K

If the gradient Px + c - mu G'phi'(s) + A'y is zero, z = -mu phi'(s) = mu s^-1 satisfies  s o z = mu e  (the inverse in
the Jordan algebra, s^-1 = Js / det s): the minimizers for all mu > 0 are the central path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

import socp
from socp.textbook import Cone, Iterate, Method, det
from socp.textbook.switches import dense

NEWTON_TOL = 1e-10  # largest half squared Newton decrement of a solution, in units of mu
SHARE = 0.9  # largest step, relative to the distance to the boundary


def inside(program: socp.ConeProgram) -> np.ndarray:
    """Return a strictly feasible x, found by maximizing t <= 1 subject to h - Gx - t e in K.

    Raises
    ------
    socp.ProgramError
        The program has no strictly feasible point.
    """
    cone = Cone(program.cones)
    _, A, G = dense(program)
    n, m = program.n, program.m
    rows = np.vstack([np.column_stack([G, cone.e]), np.append(np.zeros(n), 1.0)])
    solution = socp.solve(
        c=np.append(np.zeros(n), -1.0), G=rows, h=np.append(program.h, 1.0), cones=[*program.cones, socp.NonNeg(1)],
        A=np.column_stack([A, np.zeros(program.p)]), b=program.b,
    )  # fmt: skip
    if m and not solution.x[n] > 1e-7:
        raise socp.ProgramError("the program has no strictly feasible point, hence no central path")
    return solution.x[:n]


def barrier(cone: Cone, s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return phi(s), its gradient -s^-1 = -Js / det s and its Hessian (2 Js (Js)' - det(s) J) / det(s)^2.

    Examples
    --------
    >>> from socp import NonNeg, textbook
    >>> value, gradient, hessian = barrier(textbook.Cone([NonNeg(1)]), np.array([2.0]))
    >>> print(f"{value:.4f}", gradient, hessian)
    -0.6931 [-0.5] [[0.25]]
    """
    value, gradient, hessian = 0.0, np.zeros(cone.dim), np.zeros((cone.dim, cone.dim))
    for k in cone.blocks:
        J = np.diag(np.where(cone.e[k] > 0.0, 1.0, -1.0))
        reflected, d = J @ s[k], det(s[k])
        value -= 0.5 * np.log(d)
        gradient[k] = -reflected / d
        hessian[k, k] = (2.0 * np.outer(reflected, reflected) - d * J) / d**2
    return value, gradient, hessian


def central_point(program: socp.ConeProgram, mu: float, x: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Return the minimizer of the barrier problem, by Newton's method from a strictly feasible `x`."""
    *_, x = x, *islice(newton_steps(program, mu, x), max_iter)
    return x


def newton_steps(program: socp.ConeProgram, mu: float, x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield x after each step of Newton's method on the barrier problem, from a strictly feasible `x`."""
    cone = Cone(program.cones)
    P, A, G = dense(program)
    n, p = program.n, program.p

    def value(x: np.ndarray) -> float:
        s = program.h - G @ x
        return 0.5 * x @ P @ x + program.c @ x + mu * barrier(cone, s)[0] if cone.depth(s) > 0.0 else np.inf

    while True:
        s = program.h - G @ x
        _, gradient, hessian = barrier(cone, s)
        slope = P @ x + program.c - mu * G.T @ gradient
        K = np.block([[P + mu * G.T @ hessian @ G, A.T], [A, np.zeros((p, p))]])
        dx = np.linalg.lstsq(K, np.concatenate([-slope, program.b - A @ x]), rcond=None)[0][:n]
        decrement = -slope @ dx
        if decrement <= 2.0 * NEWTON_TOL * mu:
            return
        step, now = min(1.0, SHARE * cone.longest_step(s, -G @ dx)), value(x)
        while value(x + step * dx) > now - 0.1 * step * decrement and step > 1e-12:
            step *= 0.5
        x = x + step * dx
        yield x


def gaps(program: socp.ConeProgram, factor: float, gap: float = 1e-6, x: np.ndarray | None = None) -> np.ndarray:
    """Return the gap mu deg K that is known after each Newton step, if mu is divided by `factor` at each point.

    Entry k is known after k Newton steps; the first point of the path, for mu = 1, is not counted.

    Examples
    --------
    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> print(gaps(program, 10.0, gap=0.2))  # six Newton steps from mu = 1 to 0.1
    [2.  2.  2.  2.  2.  2.  0.2]
    """
    degree = Cone(program.cones).degree
    x, mu = central_point(program, 1.0, inside(program) if x is None else x), 1.0
    known = [mu * degree]
    while mu * degree > gap:
        points = list(newton_steps(program, mu / factor, x))
        known += [mu * degree] * len(points)
        x, mu = points[-1], mu / factor
        known[-1] = mu * degree
    return np.array(known)


def central_path(program: socp.ConeProgram, mus: Iterable[float]) -> np.ndarray:
    """Return points of the central path, one row for each mu, each found from the previous point.

    Examples
    --------
    minimize x with 0 <= x <= 1:  1 = mu / x - mu / (1 - x).

    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> x = central_path(program, [1.0, 0.1])[:, 0]
    >>> print(x.round(4), (0.1 / x[1] - 0.1 / (1.0 - x[1])).round(4))
    [0.382  0.0901] 1.0
    """
    x, points = inside(program), []
    for mu in mus:
        x = central_point(program, float(mu), x)
        points.append(x)
    return np.array(points)


def on_the_path(program: socp.ConeProgram, mu: float) -> Iterate:
    """Return the point of the central path for mu with its multipliers, as an iterate of the textbook.

    Its residuals are zero, s o z = mu e and tau kappa = mu: it is on the central path of the homogeneous embedding too.

    Examples
    --------
    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> it = on_the_path(program, 0.1)
    >>> print((it.s * it.z).round(6), (it.z[1] - it.z[0] + 1.0).round(4) + 0.0)
    [0.1 0.1] 0.0
    """
    P, A, G = dense(program)
    x = central_path(program, [max(mu, 1.0), mu])[-1]
    s = program.h - G @ x
    z = -mu * barrier(Cone(program.cones), s)[1]
    y = np.linalg.lstsq(A.T, -(P @ x + program.c + G.T @ z), rcond=None)[0]
    return Iterate(x, y, z, s, tau=1.0, kappa=mu)


def follow(program: socp.ConeProgram, mu: float, tol: float = 1e-8, max_iter: int = 100) -> Iterator[Iterate]:
    """Yield the iterates of the textbook's predictor-corrector method from the point of the central path for mu."""
    method, it = Method(program), on_the_path(program, mu)
    method.judge(it, tol)
    for _ in range(max_iter):
        yield it
        if it.status is not None:
            return
        it = method.step(it)
        method.judge(it, tol)
