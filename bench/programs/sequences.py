"""Sequences of programs that differ a little, or not so little: for solvers that start from their last answers.

Each kind is a function (size, count, seed) that returns the first program and `count` steps from it.  A step changes
data, and says where to begin: at the last answer, or at a point that is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qp
import socp

from ..answers.program import changed
from ..answers.verify import Program
from . import control, generate

Point = tuple[Any, Any, Any]
Made = Callable[[Point], Any]
COUNT, SIZES = 200, (6, 100, 2000)
DENSE = ("penalties",)  # kinds without programs of thousands of variables
SCALES = 1e4, -1.0, 1e-4  # of the last x, in points that are no help


class Step(NamedTuple):
    """Arguments of the next update, and the start: True for the last answer, or a function of the last optimal one."""

    change: dict[str, Any]
    start: Made | bool = True


@dataclass(frozen=True)
class Sequence:
    """A program, and steps from it."""

    program: Program
    steps: list[Step]

    def programs(self) -> Iterator[Program]:
        """Yield the program after each step."""
        program = self.program
        for step in self.steps:
            program = after(program, step.change)
            yield program


def after(program: Any, change: dict[str, Any]) -> Any:
    """Return the program after an update."""
    parts = {name.removesuffix("_data"): value for name, value in change.items()}
    return changed(program, **parts)


def base(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """Return min 1/2 x'Px + q'x within a box and as many rows as variables; P is dense up to some hundred variables."""
    rng = np.random.default_rng(seed)
    if size <= 500:
        M, A = rng.normal(size=(size, size)) / np.sqrt(size), rng.normal(size=(size, size))
        P: Any = M @ M.T + 0.1 * np.eye(size)
    else:
        P = sp.diags_array(rng.uniform(0.1, 1.0, size), format="csc")
        A = sp.diags_array(rng.normal(size=(3, size)), offsets=(0, 1, 7), shape=(size, size), format="csc")
    at = A @ rng.uniform(-0.5, 0.5, size)
    return qp.QuadraticProgram(P, rng.normal(size=size), A, at - 0.5, at + 0.5, -1.0, 1.0)


def slow(size: int, count: int, seed: int) -> Sequence:
    """Let q walk at random, a hundredth of its size a step."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    walk = program.q + 0.01 * rng.normal(size=(count, size)).cumsum(axis=0)
    return Sequence(program, [Step({"q": q}) for q in walk])


def to_and_fro(size: int, count: int, seed: int) -> Sequence:
    """Let q jump between two vectors."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    both = program.q, rng.normal(size=size)
    return Sequence(program, [Step({"q": both[(k + 1) % 2]}) for k in range(count)])


def far(size: int, count: int, seed: int) -> Sequence:
    """Draw a new q each time."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    return Sequence(program, [Step({"q": 2.0 * q}) for q in rng.normal(size=(count, size))])


def opposite(size: int, count: int, seed: int) -> Sequence:
    """Change the sign of q, and with it most sides of the active set."""
    program = base(size, seed)
    at = 0.5 * (program.l + program.u)
    program = changed(program, q=3.0 * program.q, l=at - 5.0, u=at + 5.0)
    return Sequence(program, [Step({"q": (-1.0) ** (k + 1) * program.q}) for k in range(count)])


def sides(size: int, count: int, seed: int) -> Sequence:
    """Let l and u walk at random, with the values at a point that stays feasible."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    points = np.clip(0.02 * rng.normal(size=(count, size)).cumsum(axis=0), -0.5, 0.5)
    centre = 0.5 * (program.l + program.u)
    moved = [centre + program.A @ point for point in points]
    return Sequence(program, [Step({"l": at - 0.5, "u": at + 0.5}) for at in moved])


def rows(size: int, count: int, seed: int) -> Sequence:
    """Let the entries of A drift by a hundredth; the sides stay."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    program = changed(program, l=program.l - 0.5, u=program.u + 0.5)
    factor, steps = np.ones(program.A.data.size), []
    for _ in range(count):
        factor *= 1.0 + 0.01 * rng.normal(size=factor.size)
        factor **= 0.99
        A = program.A.copy()
        A.data = A.data * factor
        steps.append(Step({"A_data": A}))
    return Sequence(program, steps)


def hessian(size: int, count: int, seed: int) -> Sequence:
    """Let P drift by a hundredth, between positive definite matrices."""
    program, rng = base(size, seed), np.random.default_rng(seed + 1)
    logs, steps = np.zeros(size), []
    for _ in range(count):
        logs = 0.99 * (logs + 0.01 * rng.normal(size=size))
        scale = np.exp(logs)
        if isinstance(program.P, np.ndarray):
            P: Any = scale[:, None] * program.P * scale
        else:
            P = sp.csc_array(program.P * sp.csc_array(np.atleast_2d(scale)).T * sp.csc_array(np.atleast_2d(scale)))
        steps.append(Step({"P_data": P}))
    return Sequence(program, steps)


def _loop(size: int, count: int, seed: int, disturbed: bool = False) -> tuple[control.Controller, list[Step]]:
    """Return a controller and its first states in a closed loop, with noise and now and then a push out of bounds."""
    horizon = max(1, size // 12)
    program, rng = control.controller(horizon, seed), np.random.default_rng(seed + 1)
    A, B, nx = program.stages.A, program.stages.B, program.stages.A.shape[0]
    state, solver, steps = -np.linalg.solve(A, program.l[:nx]), qp.Solver(program), []
    most = program.stages.x_max[0]
    for k in range(count):
        push = 0.05 * most * rng.normal(size=nx)
        if disturbed and k % 10 == 9:
            push *= 200.0
        here = state + push
        b = program.l.copy()
        b[:nx] = -A @ here
        steps.append(Step({"l": b, "u": b}))
        solver.update(l=b, u=b)
        sol = solver.solve(warm_start=True)
        if sol.status is socp.Status.OPTIMAL:
            state = A @ here + B @ sol.x[: B.shape[1]]
            state *= min(1.0, 0.8 * most / np.abs(state).max())
    return program, steps


def controller(size: int, count: int, seed: int) -> Sequence:
    """Close the loop of a model predictive controller: the first state moves on."""
    return Sequence(*_loop(size, count, seed))


def shifted(size: int, count: int, seed: int) -> Sequence:
    """Begin each solve of that loop at the last answer, shifted by a stage."""
    program, steps = _loop(size, count, seed)
    width, nx = sum(program.stages.B.shape), program.stages.B.shape[0]

    def shift(point: Point) -> Point:
        x, y, z = point
        return np.append(x[width:], x[-width:]), np.append(y[nx:], y[-nx:]), np.append(z[width:], z[-width:])

    return Sequence(program, [step._replace(start=shift) for step in steps])


def disturbed(size: int, count: int, seed: int) -> Sequence:
    """Disturb the loop so that now and then no point is feasible."""
    return Sequence(*_loop(size, count, seed, disturbed=True))


def portfolio(size: int, count: int, seed: int) -> Sequence:
    """Rebalance a portfolio day by day: expected returns drift, and weights may move from those at new prices."""
    rng, factors = np.random.default_rng(seed), max(1, size // 10)
    assets = max(2, size - factors)
    F = rng.normal(size=(assets, factors)) * 0.3
    P = sp.block_diag([sp.diags_array(rng.uniform(0.05, 0.3, assets)), sp.eye_array(factors)], format="csc")
    A = sp.block_array([[sp.csc_array(np.ones((1, assets))), None], [sp.csc_array(F.T), -sp.eye_array(factors)]])
    b, free = np.append(1.0, np.zeros(factors)), np.full(factors, np.inf)
    weights, mean = np.full(assets, 1.0 / assets), 0.1 * rng.normal(size=assets)
    q = lambda mean: np.append(-mean, np.zeros(factors))  # noqa: E731
    move, lb = 2.0 / assets, np.append(np.zeros(assets), -free)
    program = qp.QuadraticProgram(P, q(mean), A, b, b, lb, np.append(weights + move, free))
    steps = []
    for _ in range(count):
        mean = 0.98 * mean + 0.02 * rng.normal(size=assets)
        weights = weights * np.exp(0.02 * rng.normal(size=assets))
        weights /= weights.sum()
        lb, ub = np.append(np.maximum(weights - move, 0.0), -free), np.append(weights + move, free)
        steps.append(Step({"q": q(mean), "lb": lb, "ub": ub}))
    return Sequence(program, steps)


def _linear(size: int, seed: int) -> qp.QuadraticProgram:
    rng = np.random.default_rng(seed)
    m = max(2, size // 2)
    A = rng.uniform(0.0, 1.0, (m, size)) * (rng.random((m, size)) < max(0.3 if size < 500 else 0.0, 5.0 / size))
    A[rng.integers(m, size=size), np.arange(size)] += 0.5
    q, u = -rng.uniform(0.5, 1.5, size), A.sum(axis=1) / 3.0
    return qp.QuadraticProgram(None, q, sp.csc_array(A), None, u, 0.0, 1.0)


def costs(size: int, count: int, seed: int) -> Sequence:
    """Let the costs of a linear program drift."""
    program, rng = _linear(size, seed), np.random.default_rng(seed + 1)
    walk = program.q + 0.01 * rng.normal(size=(count, size)).cumsum(axis=0)
    return Sequence(program, [Step({"q": q}) for q in walk])


def costs_far(size: int, count: int, seed: int) -> Sequence:
    """Draw new costs of a linear program each time."""
    program, rng = _linear(size, seed), np.random.default_rng(seed + 1)
    return Sequence(program, [Step({"q": -rng.uniform(0.5, 1.5, size)}) for _ in range(count)])


def robust(size: int, count: int, seed: int) -> Sequence:
    """Let a robust linear program drift: every row, for an ellipsoid of coefficients, is a second-order cone."""
    rng, m = np.random.default_rng(seed), max(2, size // 4)
    dim = min(size, 10)
    cones: list[socp.NonNeg | socp.SecondOrder] = []
    blocks, h, centre = [], [], rng.normal(size=(m, size)) * (rng.random((m, size)) < 10.0 / size)
    for i in range(m):
        part = np.zeros((dim + 1, size))
        part[0] = centre[i]
        at = rng.choice(size, dim, replace=False)
        part[1 + np.arange(dim), at] = -0.1 * rng.uniform(0.5, 1.5, dim)
        blocks.append(sp.csc_array(part))
        h.append(np.append(1.0, np.zeros(dim)))
        cones.append(socp.SecondOrder(dim + 1))
    G = sp.vstack([*blocks, sp.eye_array(size), -sp.eye_array(size)], format="csc")
    cones.append(socp.NonNeg(2 * size))
    c, h_all = rng.normal(size=size), np.concatenate([*h, np.ones(2 * size)])
    program = socp.ConeProgram(c=c, G=G, h=h_all, cones=cones)
    walk = c + 0.01 * rng.normal(size=(count, size)).cumsum(axis=0)
    return Sequence(program, [Step({"c": c}) for c in walk])


def penalties(size: int, count: int, seed: int) -> Sequence:
    """Solve the dual of a support vector machine along a path of C."""
    program = generate.svm_dual_rbf(size, seed)
    path = np.geomspace(0.1, 100.0, count)
    return Sequence(program, [Step({"ub": np.full(program.n, C)}) for C in path])


def wrong_scale(size: int, count: int, seed: int) -> Sequence:
    """Let q drift, and give points of wrong scales and signs as starts."""
    found = slow(size, count, seed)
    steps = [step._replace(start=partial(_scaled, SCALES[k % len(SCALES)])) for k, step in enumerate(found.steps)]
    return replace(found, steps=steps)


def _scaled(factor: float, point: Point) -> Point:
    return factor * point[0], factor * point[1], factor * point[2]


def noisy(size: int, count: int, seed: int) -> Sequence:
    """Let q drift, and give points that are off by a tenth as starts."""
    found, rng = slow(size, count, seed), np.random.default_rng(seed + 2)

    def off(noise: np.ndarray, point: Point) -> Point:
        return tuple(v + 0.1 * noise[: v.size] * (1.0 + np.abs(v)) for v in point)  # type: ignore[return-value]

    return replace(found, steps=[s._replace(start=partial(off, rng.normal(size=size))) for s in found.steps])


def primal(size: int, count: int, seed: int) -> Sequence:
    """Let q drift, and give only x as the start."""
    found = slow(size, count, seed)
    return replace(found, steps=[s._replace(start=lambda point: point[0]) for s in found.steps])


def foreign(size: int, count: int, seed: int) -> Sequence:
    """Let q drift, and give random points as starts, with random multipliers: infeasible, and nowhere near."""
    found, rng = slow(size, count, seed), np.random.default_rng(seed + 2)

    def some(noise: np.ndarray, point: Point) -> Point:
        return tuple(noise[: v.size] for v in point)  # type: ignore[return-value]

    return replace(found, steps=[s._replace(start=partial(some, rng.normal(size=size))) for s in found.steps])


KINDS: dict[str, Callable[[int, int, int], Sequence]] = {
    f.__name__: f
    for f in (
        slow, to_and_fro, far, opposite, sides, rows, hessian, controller, shifted, disturbed, portfolio, costs,
        costs_far, robust, penalties, wrong_scale, noisy, primal, foreign,
    )
}  # fmt: skip
