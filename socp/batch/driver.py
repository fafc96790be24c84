"""The loop over a batch of programs: the next program takes the lane of a finished one.

    minimize 1/2 x'Px + q'x   subject to   l <= [A; I] x <= u,   u_K - A_K x in second-order cones

Data are scaled to D P D and E A D when loaded, with rows and columns of size near one, and answers are scaled back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.structures import Structure, dimension, integers, matrix, records
from ..compiled.vec import LANES, bind_lanes, put, splat
from ..derivatives.saddle import EQUILIBRATIONS
from ..form.standard import LIMIT
from ..linalg.vectors import norm_within
from ..method.start import WARM_MARGIN
from ..plan.fallbacks import REGULARIZATION as DELTA
from ..problem.hessian import SMALL, objective_unit
from ..problem.settings import Settings
from ..problem.solution import TRACE
from ..verify.certificates import CERTAIN
from ..verify.stopping import HIDDEN
from .cones import fill_cones
from .lanes import measure, step
from .spans import Spans
from .state import RHO, Lanes

NOT_STARTED, OPTIMAL, PRIMAL_INFEASIBLE, DUAL_INFEASIBLE, MAX_ITERATIONS, FAILED = range(6)


class Batch(Structure):
    """Data and answers of `count` programs, one per row; P and A have one row if the programs share them.

    The sides l, u of the rows, followed by the sides of the variables, have one row or `count`.  A program starts near
    its row of `x_start` and `y_start` if there is one and it is finite.  `s` are the slacks of the last rows in cone
    programs.  `numbers` are (objective, dual objective, primal residual, dual residual, gap) of the answers, with
    relative residuals.  `trace` records the steps of other methods that solve one program.
    """

    m, n, count = dimension(), dimension(), dimension()
    P, A, q, l, u = matrix(), matrix(), matrix(), matrix(), matrix()
    x, y, s = matrix("count, n"), matrix("count, m + n"), matrix()
    x_start, y_start = matrix(), matrix()
    code, iterations, numbers = integers("count"), integers("count"), matrix("5, count")
    trace = records(TRACE, "rows")


class Shape(NamedTuple):
    """Properties of the rows that all programs of a group share, in the order of the spans.

    Attributes
    ----------
    equal, lower, upper, bound : arrays of bool, shape (m + n,)
        True where a row or variable has equal sides; a finite lower side; a finite upper side; a scale of its own.
    spans : Spans
    cone_start : array of int
        Second-order cone k has the rows cone_start[k]:cone_start[k + 1].
    """

    equal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    bound: np.ndarray
    spans: Spans
    cone_start: np.ndarray


def lanes_for(batch: Batch, shape: Shape, settings: Settings, equalities_apart: bool = False) -> Lanes:
    """Return new lanes for a batch; with `equalities_apart` the stopping test has a separate block of equalities."""
    n, equal = batch.n, shape.equal
    N, shared = equal.size, batch.P.shape[0] == 1 == batch.A.shape[0]
    m = N - n
    has = np.stack([shape.lower & ~equal, shape.upper & ~equal], axis=1)
    sides, cones, cone_rows = int(has.sum()), shape.cone_start.size - 1, int(shape.cone_start[-1])
    rows = {
        "q": n, "h": sides, "b": N, "unit": N, "dual_unit": n, "x": n, "y": N, "s": sides, "z": sides, "Gx": N, "Px": n,
        "rd": n, "r": sides, "r_equal": N, "inverse_sz": sides, "inverse_s": sides, "W": N, "rhs": N, "constant_rhs": N,
        "dz_relative": sides, "ds_relative": sides, "dx": n, "Gdx": N, "x2": n, "Gx2": N, "C": n * n, "T": n * n,
        "pivots": n, "P_own": 0 if shared else n * n, "A_own": 0 if shared else m * n, "eta": cones, "B": cones * n,
        **dict.fromkeys(("kept_rhs", "residual", "product"), n),
        **dict.fromkeys(("cone_h", "cone_r", "cone_s", "lam", "nt", "c", "u", "ds", "dz"), cone_rows),
    }  # fmt: skip
    work = Lanes(
        m=m, n=n, sides=sides, first=np.append(0, np.cumsum(has.sum(axis=1))), equal=equal.astype(np.int64),
        bound=shape.bound.astype(np.int64), sign=np.tile([-1.0, 1.0], N)[has.reshape(-1)], who=np.full(LANES, -1),
        age=np.zeros(LANES, np.int64), P=np.zeros(n * n), A=np.zeros(m * n), D=np.ones(n),
        E=np.ones(m), spans=shape.spans, cone_start=shape.cone_start,
    )  # fmt: skip
    bind_lanes(work, rows)
    counts = {"shared": int(shared), "cones": cones, "cone_rows": cone_rows, "degree": sides + cones + 1.0}
    limits = {
        "tol": settings.tol, "tol_abs": np.inf if settings.tol_abs is None else settings.tol_abs,
        "tol_infeasible": min(settings.tol_of_rays, CERTAIN), "max_iter": settings.max_iter,
        "step_fraction": settings.step_fraction, "equalities_apart": int(equalities_apart),
    }  # fmt: skip
    for name, value in {**counts, **limits}.items():
        setattr(work, name, value)
    return work


@kernel
def take_matrices(batch: Batch, lanes: Lanes, p: int) -> None:
    """Load P and A of program `p` as D P D and E A D with largest entries near one; E is constant within a cone."""
    m, n, D, E, P, A, cone_start = lanes.m, lanes.n, lanes.D, lanes.E, lanes.P, lanes.A, lanes.cone_start
    rows, columns = lanes.spans.rows, lanes.spans.columns
    D[:], E[:] = 1.0, 1.0
    own_P, own_A = batch.P[min(p, batch.P.shape[0] - 1)], batch.A[min(p, batch.A.shape[0] - 1)]
    for j in range(n):
        for i in range(n):
            P[i * n + j] = own_P[columns[i] * n + columns[j]]
        for i in range(m):
            A[i * n + j] = own_A[rows[i] * n + columns[j]]
    for _ in range(EQUILIBRATIONS):
        farthest = 0.0
        for i in range(m):
            size = 0.0
            for j in range(n):
                size = max(size, abs(A[i * n + j]) * D[j])
            if size * E[i] > 0.0:
                farthest = max(farthest, abs(size * E[i] - 1.0))
                E[i] = min(max(1.0 / size, 1.0 / LIMIT), LIMIT)
        for k in range(cone_start.size - 1):
            least = LIMIT
            for i in range(cone_start[k], cone_start[k + 1]):
                least = min(least, E[i])
            E[cone_start[k] : cone_start[k + 1]] = least
        for j in range(n):
            size = 0.0
            for i in range(n):
                size = max(size, abs(P[j * n + i]) * D[i])
            for i in range(m):
                size = max(size, abs(A[i * n + j]) * E[i])
            size *= D[j]
            if size > 0.0:
                farthest = max(farthest, abs(size - 1.0))
                D[j] = min(max(D[j] / math.sqrt(size), 1.0 / LIMIT), LIMIT)
        if farthest < 0.5:
            break
    for i in range(n):
        for j in range(n):
            P[i * n + j] *= D[i] * D[j]
    for i in range(m):
        for j in range(n):
            A[i * n + j] *= E[i] * D[j]


@kernel
def run(batch: Batch, lanes: Lanes, begin: int, end: int) -> int:
    """Solve programs begin:end of the batch; return the number of steps."""
    following, live, steps = begin, 0, 0
    who, age = lanes.who, lanes.age
    for lane in range(LANES):
        who[lane] = -1
    while True:
        if live > 0:
            measure(lanes)
        lanes.any_fresh = lanes.any_refine = 0
        warm, lanes.fresh = False, splat(0.0)
        for lane in range(LANES):
            if who[lane] >= 0:
                age[lane] += 1
                code = judge(batch, lanes, lane)
                if code >= 0:
                    write_answer(batch, lanes, lane, code)
                    who[lane] = -1
                    live -= 1
                else:  # Refine from now on if the gradient's residual is too large and has grown, by rounding.
                    tau, dual = lanes.tau[lane], lanes.dual[lane]
                    if dual > 2.0 * lanes.last_dual[lane] and dual > lanes.tol * (
                        tau * lanes.objective_unit[lane] + lanes.dual_size[lane]
                    ):
                        lanes.refine = put(lanes.refine, lane, 1.0)
                    lanes.last_dual = put(lanes.last_dual, lane, dual)
                    if lanes.refine[lane] > 0.0:
                        lanes.any_refine = 1
            if who[lane] < 0 and following < end:
                fill(batch, lanes, lane, following)
                warm = start_warm(batch, lanes, lane, following) or warm
                following += 1
                live += 1
        if live == 0:
            return steps
        if warm:
            measure(lanes)  # Only warm lanes have changed; fresh lanes differ by rounding, and are filled again.
            for lane in range(LANES):
                if lanes.fresh[lane] > 0.0:
                    fill(batch, lanes, lane, who[lane])
        step(lanes)
        steps += 1


@inner
def judge(batch: Batch, lanes: Lanes, lane: int) -> int:
    """Return the code with which the program in a lane ends, or -1 if it continues."""
    tau, xPx, qx, hz = lanes.tau[lane], lanes.xPx[lane], lanes.qx[lane], lanes.hz[lane] - lanes.overlap[lane]
    rows, dual, bounds = lanes.rows[lane], lanes.dual[lane], lanes.bounds[lane]
    if not (lanes.mu[lane] < 1e100 and abs(xPx + qx + hz) < np.inf):
        return FAILED
    tol, tol_abs, unit = lanes.tol, lanes.tol_abs * tau, lanes.objective_unit[lane]
    primal, below = (0.5 * xPx / tau + qx) / tau, (-0.5 * xPx / tau - hz) / tau
    gap = max(abs(primal - below), HIDDEN * lanes.hidden[lane] / tau / tau)
    if (
        rows <= min(tol * (tau + lanes.rows_size[lane]), tol_abs) and bounds <= min(tol * tau, tol_abs)
        and lanes.equal_rows[lane] <= min(tol * (tau + lanes.equal_size[lane]), tol_abs)
        and dual <= min(tol * (tau * unit + lanes.dual_size[lane]), tol_abs)
        and gap <= min(tol * (unit + max(abs(primal), abs(below))), lanes.tol_abs)
    ):  # fmt: skip
        return OPTIMAL
    # Rays in the caller's units.  Certificates are tested outside; a program whose objective falls is solved alone.
    if hz < 0.0 and lanes.ray_dual[lane] <= -lanes.tol_infeasible * hz:
        return PRIMAL_INFEASIBLE
    if qx < 0.0 and max(lanes.ray_rows[lane], lanes.ray_P[lane]) <= -lanes.tol_infeasible * qx:
        return FAILED
    return MAX_ITERATIONS if lanes.age[lane] > lanes.max_iter else -1


@inner
def unit_of(batch: Batch, i: int) -> float:
    """Return the `objective_unit` of program i."""
    n, q, P = batch.n, batch.q[min(i, batch.q.shape[0] - 1)], batch.P[min(i, batch.P.shape[0] - 1)]
    largest = norm_within(q, 0, n)
    if largest < SMALL:
        for j in range(n):
            largest = max(largest, abs(P[j * n + j]))
    return objective_unit(largest)


@inner
def write_answer(batch: Batch, lanes: Lanes, lane: int, code: int) -> None:
    """Write the point of a lane, or its ray, to the batch in the caller's units."""
    p, m, n = lanes.who[lane], lanes.m, lanes.n
    size = lanes.tau[lane]
    if code == PRIMAL_INFEASIBLE:
        size = -lanes.hz[lane]
    x, y, rows, columns = batch.x[p], batch.y[p], lanes.spans.rows, lanes.spans.columns
    for j in range(n):
        x[columns[j]] = lanes.x[j, lane] / (size * lanes.dual_unit[j, lane])
    for i in range(m + n):
        y[rows[i]] = lanes.y[i, lane] / (size * lanes.unit[i, lane])
    first = batch.m - batch.s.shape[1]
    for i in range(lanes.cone_rows):
        batch.s[p, rows[i] - first] = lanes.cone_s[i, lane] * lanes.unit[i, lane] / size
    batch.code[p], batch.iterations[p] = code, lanes.age[lane] - 1


@inner
def fill(batch: Batch, lanes: Lanes, lane: int, p: int) -> None:
    """Load program `p` into a lane at x = 0, s = z = tau = kappa = 1, with all that `measure` computes there."""
    m, n, D, E = lanes.m, lanes.n, lanes.D, lanes.E
    rows, columns = lanes.spans.rows, lanes.spans.columns
    if not lanes.shared:
        take_matrices(batch, lanes, p)
        for i in range(n * n):
            lanes.P_own[i, lane] = lanes.P[i]
        for i in range(m * n):
            lanes.A_own[i, lane] = lanes.A[i]
    q, l, u = (
        batch.q[min(p, batch.q.shape[0] - 1)], batch.l[min(p, batch.l.shape[0] - 1)], batch.u[min(p, batch.u.shape[0] -
        1)]
    )  # fmt: skip
    lanes.objective_unit = put(lanes.objective_unit, lane, unit_of(batch, p))
    for j in range(n):
        lanes.q[j, lane] = lanes.rd[j, lane] = D[j] * q[columns[j]]
        lanes.dual_unit[j, lane] = 1.0 / D[j]
        lanes.Px[j, lane] = lanes.x[j, lane] = 0.0
    for i in range(m + n):
        scale = E[i] if i < m else 1.0 / D[i - m]
        lanes.unit[i, lane] = 1.0 / scale
        lanes.Gx[i, lane] = lanes.y[i, lane] = 0.0
        lower, upper, weight, v, o, yi = l[rows[i]], u[rows[i]], RHO if i >= m else 0.0, 0.0, 0.0, 0.0
        if lanes.equal[i]:
            b = scale * lower
            lanes.b[i, lane], lanes.r_equal[i, lane] = b, -b
            weight, v, o = weight + 1.0 / DELTA, -b / DELTA, b / DELTA
        for k in range(lanes.first[i], lanes.first[i + 1]):
            sign = lanes.sign[k]
            h = sign * scale * (upper if sign > 0.0 else lower)
            lanes.h[k, lane], lanes.r[k, lane] = h, 1.0 - h
            lanes.s[k, lane] = lanes.z[k, lane] = lanes.inverse_s[k, lane] = lanes.inverse_sz[k, lane] = 1.0
            weight, v, o, yi = weight + 1.0, v - sign * h, o + sign * h, yi + sign
        lanes.W[i, lane], lanes.rhs[i, lane], lanes.constant_rhs[i, lane] = weight, v, o
        if i < lanes.cone_rows:
            lanes.cone_h[i, lane] = scale * upper
        elif yi != 0.0:  # rd = q + G'y
            add_row(lanes, lane, i, yi)
    if lanes.cones:
        fill_cones(lanes, lane)
        for k in range(lanes.cones):
            add_row(lanes, lane, lanes.cone_start[k], 1.0)
    lanes.tau, lanes.kappa, lanes.fresh = (
        put(lanes.tau, lane, 1.0),
        put(lanes.kappa, lane, 1.0),
        put(lanes.fresh, lane, 1.0),
    )
    lanes.xPx, lanes.qx, lanes.hz, lanes.mu = (
        put(lanes.xPx, lane, 0.0),
        put(lanes.qx, lane, 0.0),
        put(lanes.hz, lane, 0.0),
        put(lanes.mu, lane, 0.0),
    )
    lanes.refine, lanes.last_dual = put(lanes.refine, lane, 0.0), put(lanes.last_dual, lane, np.inf)
    lanes.who[lane], lanes.age[lane], lanes.any_fresh = p, 0, 1


@inner
def start_warm(batch: Batch, lanes: Lanes, lane: int, p: int) -> bool:
    """Move a lane to its given starting point, with s, z >= `WARM_MARGIN`; return False if it has no finite one."""
    if p >= batch.x_start.shape[0]:
        return False
    m, n, x, y, total = lanes.m, lanes.n, batch.x_start[p], batch.y_start[p], 0.0
    rows, columns = lanes.spans.rows, lanes.spans.columns
    for j in range(n):
        total += 0.0 * x[j]
    for i in range(m + n):
        total += 0.0 * y[i]
    if total != 0.0:  # The total is NaN: an entry is not finite.
        return False
    for j in range(n):
        lanes.x[j, lane] = x[columns[j]] * lanes.dual_unit[j, lane]
    for i in range(m + n):
        g, yi = 0.0, y[rows[i]] * lanes.unit[i, lane]
        if i >= m:
            g = lanes.x[i - m, lane]
        else:  # `fill` has loaded A.
            for j in range(n):
                g += lanes.A[i * n + j] * lanes.x[j, lane]
        lanes.Gx[i, lane] = g
        lanes.y[i, lane] = yi if lanes.equal[i] else 0.0
        for k in range(lanes.first[i], lanes.first[i + 1]):
            sign = lanes.sign[k]
            lanes.s[k, lane] = max(lanes.h[k, lane] - sign * g, WARM_MARGIN)
            lanes.z[k, lane] = max(sign * yi, WARM_MARGIN)
            lanes.y[i, lane] += sign * lanes.z[k, lane]
    lanes.kappa, lanes.fresh = put(lanes.kappa, lane, WARM_MARGIN * WARM_MARGIN), put(lanes.fresh, lane, 0.0)
    return True


@inner
def add_row(lanes: Lanes, lane: int, i: int, yi: float) -> None:
    """rd += yi G_i in one lane."""
    m, n = lanes.m, lanes.n
    if i >= m:
        lanes.rd[i - m, lane] += yi
    else:
        for j in range(n):
            lanes.rd[j, lane] += yi * lanes.A[i * n + j]
