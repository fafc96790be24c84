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
    """Properties of the rows that all programs of a lot share, in the order of the spans.

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
        "rd": n, "r": sides, "r_equal": N, "inverse_sz": sides, "inverse_s": sides, "W": N, "v": N, "o": N, "e": sides,
        "es": sides, "dx": n, "Gdx": N, "x2": n, "Gx2": N, "C": n * n, "T": n * n,
        "pivots": n, "P_own": 0 if shared else n * n, "A_own": 0 if shared else m * n, "eta": cones, "B": cones * n,
        **dict.fromkeys(("rhs", "residual", "product"), n),
        **dict.fromkeys(("cone_s", "lam", "nt", "c", "u", "ds", "dz"), cone_rows),
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
def take_matrices(batch: Batch, w: Lanes, p: int) -> None:
    """Load P and A of program `p` as D P D and E A D with largest entries near one; E is constant within a cone."""
    m, n, D, E, P, A, cone_start = w.m, w.n, w.D, w.E, w.P, w.A, w.cone_start
    rows, columns = w.spans.rows, w.spans.columns
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
def run(batch: Batch, w: Lanes, begin: int, end: int) -> int:
    """Solve programs begin:end of the batch; return the number of steps."""
    following, live, steps = begin, 0, 0
    who, age = w.who, w.age
    for lane in range(LANES):
        who[lane] = -1
    while True:
        if live > 0:
            measure(w)
        w.any_fresh = w.any_refine = 0
        warm, w.fresh = False, splat(0.0)
        for lane in range(LANES):
            if who[lane] >= 0:
                age[lane] += 1
                code = judge(batch, w, lane)
                if code >= 0:
                    write_answer(batch, w, lane, code)
                    who[lane] = -1
                    live -= 1
                else:  # Refine from now on if the gradient's residual is too large and has grown, by rounding.
                    tau, dual = w.tau[lane], w.dual[lane]
                    if dual > 2.0 * w.last_dual[lane] and dual > w.tol * (
                        tau * w.objective_unit[lane] + w.dual_size[lane]
                    ):
                        w.refine = put(w.refine, lane, 1.0)
                    w.last_dual = put(w.last_dual, lane, dual)
                    if w.refine[lane] > 0.0:
                        w.any_refine = 1
            if who[lane] < 0 and following < end:
                fill(batch, w, lane, following)
                warm = start_warm(batch, w, lane, following) or warm
                following += 1
                live += 1
        if live == 0:
            return steps
        if warm:
            measure(w)  # Only warm lanes have changed; fresh lanes differ by rounding, and are filled again.
            for lane in range(LANES):
                if w.fresh[lane] > 0.0:
                    fill(batch, w, lane, who[lane])
        step(w)
        steps += 1


@inner
def judge(batch: Batch, w: Lanes, lane: int) -> int:
    """Return the code with which the program in a lane ends, or -1 if it continues."""
    tau, xPx, qx, hz = w.tau[lane], w.xPx[lane], w.qx[lane], w.hz[lane] - w.overlap[lane]
    rows, dual, bounds = w.rows[lane], w.dual[lane], w.bounds[lane]
    if not (w.mu[lane] < 1e100 and abs(xPx + qx + hz) < np.inf):
        return FAILED
    tol, tol_abs, unit = w.tol, w.tol_abs * tau, w.objective_unit[lane]
    primal, below = (0.5 * xPx / tau + qx) / tau, (-0.5 * xPx / tau - hz) / tau
    gap = max(abs(primal - below), HIDDEN * w.hidden[lane] / tau / tau)
    if (
        rows <= min(tol * (tau + w.rows_size[lane]), tol_abs) and bounds <= min(tol * tau, tol_abs)
        and w.equal_rows[lane] <= min(tol * (tau + w.equal_size[lane]), tol_abs)
        and dual <= min(tol * (tau * unit + w.dual_size[lane]), tol_abs)
        and gap <= min(tol * (unit + max(abs(primal), abs(below))), w.tol_abs)
    ):  # fmt: skip
        return OPTIMAL
    # Rays in the caller's units.  Certificates are tested outside; a program whose objective falls is solved alone.
    if hz < 0.0 and w.ray_dual[lane] <= -w.tol_infeasible * hz:
        return PRIMAL_INFEASIBLE
    if qx < 0.0 and max(w.ray_rows[lane], w.ray_P[lane]) <= -w.tol_infeasible * qx:
        return FAILED
    return MAX_ITERATIONS if w.age[lane] > w.max_iter else -1


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
def write_answer(batch: Batch, w: Lanes, lane: int, code: int) -> None:
    """Write the point of a lane, or its ray, to the batch in the caller's units."""
    p, m, n = w.who[lane], w.m, w.n
    size = w.tau[lane]
    if code == PRIMAL_INFEASIBLE:
        size = -w.hz[lane]
    x, y, rows, columns = batch.x[p], batch.y[p], w.spans.rows, w.spans.columns
    for j in range(n):
        x[columns[j]] = w.x[j, lane] / (size * w.dual_unit[j, lane])
    for i in range(m + n):
        y[rows[i]] = w.y[i, lane] / (size * w.unit[i, lane])
    first = batch.m - batch.s.shape[1]
    for i in range(w.cone_rows):
        batch.s[p, rows[i] - first] = w.cone_s[i, lane] * w.unit[i, lane] / size
    batch.code[p], batch.iterations[p] = code, w.age[lane] - 1


@inner
def fill(batch: Batch, w: Lanes, lane: int, p: int) -> None:
    """Load program `p` into a lane at x = 0, s = z = tau = kappa = 1, with all that `measure` computes there."""
    m, n, D, E = w.m, w.n, w.D, w.E
    rows, columns = w.spans.rows, w.spans.columns
    if not w.shared:
        take_matrices(batch, w, p)
        for i in range(n * n):
            w.P_own[i, lane] = w.P[i]
        for i in range(m * n):
            w.A_own[i, lane] = w.A[i]
    q, l, u = (
        batch.q[min(p, batch.q.shape[0] - 1)],
        batch.l[min(p, batch.l.shape[0] - 1)],
        batch.u[min(p, batch.u.shape[0] - 1)],
    )
    w.objective_unit = put(w.objective_unit, lane, unit_of(batch, p))
    for j in range(n):
        w.q[j, lane] = w.rd[j, lane] = D[j] * q[columns[j]]
        w.dual_unit[j, lane] = 1.0 / D[j]
        w.Px[j, lane] = w.x[j, lane] = 0.0
    for i in range(m + n):
        scale = E[i] if i < m else 1.0 / D[i - m]
        w.unit[i, lane] = 1.0 / scale
        w.Gx[i, lane] = w.y[i, lane] = 0.0
        lower, upper, weight, v, o, yi = l[rows[i]], u[rows[i]], RHO if i >= m else 0.0, 0.0, 0.0, 0.0
        if w.equal[i]:
            b = scale * lower
            w.b[i, lane], w.r_equal[i, lane] = b, -b
            weight, v, o = weight + 1.0 / DELTA, -b / DELTA, b / DELTA
        for k in range(w.first[i], w.first[i + 1]):
            sign = w.sign[k]
            h = sign * scale * (upper if sign > 0.0 else lower)
            w.h[k, lane], w.r[k, lane] = h, 1.0 - h
            w.s[k, lane] = w.z[k, lane] = w.inverse_s[k, lane] = w.inverse_sz[k, lane] = 1.0
            weight, v, o, yi = weight + 1.0, v - sign * h, o + sign * h, yi + sign
        w.W[i, lane], w.v[i, lane], w.o[i, lane] = weight, v, o
        if i < w.cone_rows:
            w.b[i, lane] = scale * upper
        elif yi != 0.0:  # rd = q + G'y
            add_row(w, lane, i, yi)
    if w.cones:
        fill_cones(w, lane)
        for k in range(w.cones):
            add_row(w, lane, w.cone_start[k], 1.0)
    w.tau, w.kappa, w.fresh = put(w.tau, lane, 1.0), put(w.kappa, lane, 1.0), put(w.fresh, lane, 1.0)
    w.xPx, w.qx, w.hz, w.mu = put(w.xPx, lane, 0.0), put(w.qx, lane, 0.0), put(w.hz, lane, 0.0), put(w.mu, lane, 0.0)
    w.refine, w.last_dual = put(w.refine, lane, 0.0), put(w.last_dual, lane, np.inf)
    w.who[lane], w.age[lane], w.any_fresh = p, 0, 1


@inner
def start_warm(batch: Batch, w: Lanes, lane: int, p: int) -> bool:
    """Move a lane to its given starting point, with s, z >= `WARM_MARGIN`; return False if it has no finite one."""
    if p >= batch.x_start.shape[0]:
        return False
    m, n, x, y, total = w.m, w.n, batch.x_start[p], batch.y_start[p], 0.0
    rows, columns = w.spans.rows, w.spans.columns
    for j in range(n):
        total += 0.0 * x[j]
    for i in range(m + n):
        total += 0.0 * y[i]
    if total != 0.0:  # The total is NaN: an entry is not finite.
        return False
    for j in range(n):
        w.x[j, lane] = x[columns[j]] * w.dual_unit[j, lane]
    for i in range(m + n):
        g, yi = 0.0, y[rows[i]] * w.unit[i, lane]
        if i >= m:
            g = w.x[i - m, lane]
        else:  # `fill` has loaded A.
            for j in range(n):
                g += w.A[i * n + j] * w.x[j, lane]
        w.Gx[i, lane] = g
        w.y[i, lane] = yi if w.equal[i] else 0.0
        for k in range(w.first[i], w.first[i + 1]):
            sign = w.sign[k]
            w.s[k, lane] = max(w.h[k, lane] - sign * g, WARM_MARGIN)
            w.z[k, lane] = max(sign * yi, WARM_MARGIN)
            w.y[i, lane] += sign * w.z[k, lane]
    w.kappa, w.fresh = put(w.kappa, lane, WARM_MARGIN * WARM_MARGIN), put(w.fresh, lane, 0.0)
    return True


@inner
def add_row(w: Lanes, lane: int, i: int, yi: float) -> None:
    """rd += yi G_i in one lane."""
    m, n = w.m, w.n
    if i >= m:
        w.rd[i - m, lane] += yi
    else:
        for j in range(n):
            w.rd[j, lane] += yi * w.A[i * n + j]
