"""The lanes compared with their method for one program in NumPy: each answer, and how many steps it took."""

import itertools

import numpy as np
import pytest

import qp
import socp
from qp import batch
from socp.batch.checks import ConePrograms
from socp.batch.cone_groups import groups_of
from socp.batch.driver import (
    DELTA,
    EQUILIBRATIONS,
    FAILED,
    MAX_ITERATIONS,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    RHO,
    WARM_MARGIN,
    fill,
    lanes_for,
    take_matrices,
)
from socp.batch.lanes import measure
from socp.batch.state import LEAST_SIGMA
from socp.compiled.vec import LANES
from socp.problem.settings import Settings
from socp.verify.certificates import CERTAIN


@pytest.fixture(autouse=True)
def in_lanes(monkeypatch):
    """Let no batch of quadratic programs be solved by the dual active set."""
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)


def equilibrated(P, A, cones=()):
    """Return the scales D and E: rows by their largest entry (cones by one scale), columns of [P; A] by its root."""
    D, E = np.ones(len(P)), np.ones(len(A))
    for _ in range(EQUILIBRATIONS):
        size = (np.abs(A) * D).max(axis=1, initial=0.0)
        farthest = np.abs(size * E - 1.0)[size > 0.0].max(initial=0.0)
        E = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), E)
        for cone in cones:
            E[cone] = E[cone].min()
        for j in range(len(D)):  # each column uses the updated scales of earlier columns
            size = D[j] * max((np.abs(P[j]) * D).max(), (np.abs(A[:, j]) * E).max(initial=0.0))
            if size > 0.0:
                farthest, D[j] = max(farthest, abs(size - 1.0)), D[j] / np.sqrt(size)
        if farthest < 0.5:
            break
    return D, E


def arrow(v):
    """Return the matrix of the Jordan product with v in a second-order cone."""
    return (
        v[0] * np.eye(v.size)
        + np.pad(v[None, 1:], ((0, v.size - 1), (1, 0)))
        + np.pad(v[1:, None], ((1, 0), (0, v.size - 1)))
    )


class Lane:
    """One program min 1/2 x'Px + q'x, l <= [A; I] x <= u, in the homogeneous embedding and equilibrated units.

    Rows of A in the slices `cones` have u - A x in a second-order cone.
    """

    def __init__(self, P, q, A, l, u, apart, start=None, cones=(), **settings):
        D, E = equilibrated(P, A, cones)
        self.settings, self.apart, self.P_given, self.A_given = Settings(**settings), apart, P, A
        self.P, self.q, self.G = D[:, None] * P * D, D * q, np.vstack([E[:, None] * A * D, np.eye(len(q))])
        self.scale, self.D = np.append(E, 1.0 / D), D
        l, u, self.is_bound = self.scale * l, self.scale * u, np.arange(len(l)) >= len(A)
        self.cones, conic = cones, np.isin(np.arange(len(l)), [*itertools.chain(*(range(len(l))[k] for k in cones))])
        self.conic, self.h_cone, u = conic, np.where(conic, u, 0.0), np.where(conic, np.inf, u)
        self.s_cone = self.z_cone = np.isin(np.arange(len(l)), [cone.start for cone in cones]).astype(float)
        self.equal = l == u
        self.b = np.where(self.equal, l, 0.0)
        sides = [(i, -1.0, -l[i]) for i in np.flatnonzero((l > -np.inf) & ~self.equal)]
        sides += [(i, 1.0, u[i]) for i in np.flatnonzero((u < np.inf) & ~self.equal)]
        self.row, self.sign, self.h = np.array([s[0] for s in sides], int), *np.array(sides).reshape(-1, 3)[:, 1:].T
        self.x, self.v, self.tau, self.kappa = np.zeros(len(q)), np.zeros(len(l)), 1.0, 1.0
        self.last, self.has_grown = np.inf, False
        self.s, self.z, self.fresh = np.ones(len(sides)), np.ones(len(sides)), start is None
        if start is not None:
            self.x, y = start[0] / D, start[1] / self.scale
            self.s = np.maximum(self.h - self.sign * (self.G @ self.x)[self.row], WARM_MARGIN)
            self.z = np.maximum(self.sign * y[self.row], WARM_MARGIN)
            self.v, self.kappa = np.where(self.equal, y, 0.0), WARM_MARGIN * WARM_MARGIN

    def spread(self, values):
        """Return for each row the sum of `values` over its sides."""
        return np.bincount(self.row, values, minlength=len(self.b))

    def measure(self):
        """Compute the residuals and the scaling of the cones: W, W^-1 and lam, which are zero in other rows."""
        self.Gx, self.Px = self.G @ self.x, self.P @ self.x
        self.y = self.spread(self.sign * self.z) + self.v + self.z_cone
        self.rd = self.Px + self.G.T @ self.y + self.q * self.tau
        self.r = self.sign * self.Gx[self.row] + self.s - self.h * self.tau
        self.r_equal = np.where(self.equal, self.Gx - self.b * self.tau, 0.0)
        self.hz = self.h @ self.z + self.b @ self.v + self.h_cone @ self.z_cone
        self.r_cone = np.where(self.conic, self.Gx - self.h_cone * self.tau, 0.0) + self.s_cone
        self.W, self.inverse = np.zeros((2, self.b.size, self.b.size))
        for cone in self.cones:
            J = np.diag(np.where(np.arange(cone.stop - cone.start) == 0, 1.0, -1.0))
            s, z = (v[cone] / np.sqrt(v[cone] @ J @ v[cone]) for v in (self.s_cone, self.z_cone))
            w = (s + J @ z) / np.sqrt(2.0 + 2.0 * s @ z)
            eta = ((self.s_cone[cone] @ J @ self.s_cone[cone]) / (self.z_cone[cone] @ J @ self.z_cone[cone])) ** 0.25
            W = arrow(w)
            W[1:, 1:] = np.eye(w.size - 1) + np.outer(w[1:], w[1:]) / (1.0 + w[0])
            self.W[cone, cone], self.inverse[cone, cone] = eta * W, J @ W @ J / eta
        self.lam = self.W @ self.z_cone

    def judge(self):
        """Return the status code of the current point, or None if no stopping test holds."""
        limits, tau, Gx, unit, dual_unit = self.settings, self.tau, self.Gx, 1.0 / self.scale, 1.0 / self.D
        tol, tol_abs = limits.tol, limits.tol_abs or np.inf
        xPx, qx = self.x @ self.Px, self.q @ self.x
        both = [(np.flatnonzero(self.row == i)) for i in range(len(self.b))]
        lost = sum(self.z[k].min() * self.h[k].sum() for k in both if len(k) == 2)
        primal, dual = (0.5 * xPx / tau + qx) / tau, (-0.5 * xPx / tau - self.hz + lost) / tau
        outside, allowed = np.abs(self.r_equal) + np.abs(self.r_cone), np.abs(self.b) * tau
        along = np.where(self.equal, np.abs(Gx), np.where(self.conic, np.abs(Gx + self.s_cone), 0.0))
        over = self.sign * Gx[self.row]
        np.maximum.at(outside, self.row, over - self.h * tau)
        np.maximum.at(along, self.row, over)
        np.maximum.at(allowed, self.row, np.abs(self.h) * tau)
        has = self.equal | self.conic | (self.spread(np.ones(len(self.row))) > 0.0)
        bounds = ((outside - limits.tol * allowed) * unit)[self.is_bound & has].max(initial=0.0)
        groups = [has & ~self.is_bound]
        if self.apart:
            groups = [groups[0] & self.equal, groups[0] & ~self.equal]
        small = [(outside * unit)[g].max(initial=0.0) <= min(
            tol * (tau + (np.abs(Gx) * unit)[g].max(initial=0.0)), tol_abs * tau) for g in groups]  # fmt: skip
        gradient = [self.q * tau, self.Px]
        size = max((np.abs(part) * dual_unit).max() for part in gradient)
        hidden = 0.01 * np.abs(self.x * self.rd).max() / tau**2  # what dual residuals hide of the gap
        dual_residual = (np.abs(self.rd) * dual_unit).max()
        # What grows is rounding, which depends on the processor: the lanes may end a step earlier or later.
        self.has_grown |= dual_residual > 2.0 * self.last
        self.last = dual_residual
        small += [
            bounds <= min(tol * tau, tol_abs * tau),
            dual_residual <= min(tol * (tau + size), tol_abs * tau),
            max(abs(primal - dual), hidden) <= min(tol * (1.0 + max(abs(primal), abs(dual))), tol_abs),
        ]
        if all(small):
            return OPTIMAL
        tol, hz = min(limits.tol_infeasible or limits.tol, CERTAIN), self.hz - lost
        ray_dual = (np.abs(self.rd - self.Px - self.q * tau) * dual_unit).max()
        ray_P, ray_rows = (np.abs(self.Px) * dual_unit).max(), (along * unit).max()
        if hz < 0.0 and ray_dual <= -tol * hz:
            return PRIMAL_INFEASIBLE
        return FAILED if qx < 0.0 and max(ray_rows, ray_P) <= -tol * qx else None

    def step(self):
        """Take a predictor-corrector step; at a cold start go to the minimum of the squares of s and z instead."""
        s, z, tau, kappa, sign, row, G = self.s, self.z, self.tau, self.kappa, self.sign, self.row, self.G
        penalty, fresh = self.equal / DELTA, self.fresh
        W = self.spread(z / s) + penalty
        V = self.inverse @ self.inverse
        K = self.P + G.T @ ((W + np.where(self.is_bound, RHO, 0.0))[:, None] * G + V @ G)
        rhs = self.spread(sign * z / s * self.h) + penalty * self.b + V @ self.h_cone
        x2 = np.linalg.solve(K, G.T @ rhs - self.q)
        apart = sign * (G @ x2)[row] - self.h
        slope = kappa / tau + self.x @ self.Px / tau**2 - (self.q + 2.0 * self.Px / tau) @ x2
        beside = V @ (G @ x2 - self.h_cone)
        slope -= self.h @ (z / s * apart) + self.b @ (penalty * (G @ x2 - self.b)) + self.h_cone @ beside
        difference = self.x / tau - x2
        slope = max(slope, kappa / tau + difference @ self.P @ difference + apart**2 @ (z / s)
                    + penalty @ (G @ x2 - self.b) ** 2 + (G @ x2 - self.h_cone) @ beside)  # fmt: skip
        residual = kappa + self.q @ self.x + self.hz + self.x @ self.Px / tau
        mu = (s @ z + self.s_cone @ self.z_cone + tau * kappa) / (len(s) + len(self.cones) + 1.0)

        def direction(c, c_cone, keep, product):
            """Return the direction, of cones as W^-1 ds and W dz: ds / s + dz / z = c, residuals shrink to 1 - keep."""
            v = self.spread(sign * z * (c + keep * self.r / s)) + penalty * keep * self.r_equal
            v += self.inverse @ c_cone + keep * V @ self.r_cone
            dx = -np.linalg.solve(K, keep * self.rd + G.T @ v)
            dz = z * (c + (sign * (G @ dx)[row] + keep * self.r) / s)
            dv = penalty * (G @ dx + keep * self.r_equal)
            total = (self.q + 2.0 * self.Px / tau) @ dx + self.h @ dz + self.b @ dv
            total += self.h_cone @ (self.inverse @ c_cone + V @ (G @ dx + keep * self.r_cone))
            dtau = 0.0 if fresh else (keep * residual + product / tau + total) / slope
            dx = dx + dtau * x2
            ds = (self.h * dtau - sign * (G @ dx)[row] - keep * self.r) / s
            s_cone = self.inverse @ (self.h_cone * dtau - G @ dx - keep * self.r_cone)
            return dx, ds, c - ds, dv + dtau * penalty * (G @ x2 - self.b), dtau, s_cone, c_cone - s_cone

        def to_boundary(v):
            """Return the least t >= 0 with t lam + v in the cones."""
            found = [0.0]
            for lam, part in ((self.lam[cone], v[cone]) for cone in self.cones):
                a, b, c = (x[0] * y[0] - x[1:] @ y[1:] for x, y in ((lam, lam), (lam, part), (part, part)))
                found.append((-b + np.sqrt(max(b * b - a * c, 0.0))) / a)
            return max(found)

        dx, ds, dz, dv, dtau, s_cone, z_cone = direction(-np.ones(len(s)), -self.lam, 1.0, -tau * kappa)
        dkappa = -kappa - kappa * dtau / tau
        longest = max(1.0, (-ds).max(initial=0.0), (-dz).max(initial=0.0), -dtau / tau, -dkappa / kappa)
        longest = max(longest, to_boundary(s_cone), to_boundary(z_cone))
        sigma = 0.0 if fresh else max((1.0 - 1.0 / longest) ** 3, LEAST_SIGMA)
        c = -np.ones(len(s)) if fresh else sigma * mu / (s * z) - 1.0 - ds * dz
        c_cone = -self.lam
        for cone in self.cones if not fresh else ():
            rest = np.eye(cone.stop - cone.start)[0] * sigma * mu - arrow(s_cone[cone]) @ z_cone[cone]
            c_cone[cone] += np.linalg.solve(arrow(self.lam[cone]), rest)
        product = sigma * mu - tau * kappa - dtau * dkappa
        dx, ds, dz, dv, dtau, s_cone, z_cone = direction(c, c_cone, 1.0 - sigma, product)
        dkappa = 0.0 if fresh else (product - kappa * dtau) / tau
        longest = max(1e-30, (-ds).max(initial=0.0), (-dz).max(initial=0.0), -dtau / tau, -dkappa / kappa)
        longest = max(longest, to_boundary(s_cone), to_boundary(z_cone))
        size = 1.0 if fresh else min(self.settings.step_fraction / longest, 1.0)
        self.x, self.v = self.x + size * dx, self.v + size * dv
        self.s, self.z = s * (1.0 + size * ds), z * (1.0 + size * dz)
        self.s_cone = self.s_cone + size * self.W @ s_cone
        self.z_cone = self.z_cone + size * self.inverse @ z_cone
        for v, v_cone in ((self.s, self.s_cone), (self.z, self.z_cone)):
            depths = [v_cone[cone.start] - np.linalg.norm(v_cone[cone][1:]) for cone in self.cones]
            up = 1.0 - min(v.min(initial=np.inf), *depths, np.inf) if fresh else 0.0
            if up >= 1.0 - WARM_MARGIN:
                v += up
                v_cone[[cone.start for cone in self.cones]] += up
        self.tau, self.kappa, self.fresh = tau + size * dtau, kappa + size * dkappa, False

    def run(self):
        """Return the status code, the number of steps after the start, and x, or None at the limit of iterations."""
        self.measure()
        for k in range(self.settings.max_iter + 1):
            self.step()
            self.measure()
            code = self.judge()
            if code is not None:
                size = {OPTIMAL: self.tau, PRIMAL_INFEASIBLE: -self.hz, FAILED: self.tau}[code]
                return code, k, self.x * self.D / size
        return MAX_ITERATIONS, self.settings.max_iter, None


STATUS = {
    OPTIMAL: "optimal",
    MAX_ITERATIONS: "max_iterations",
    PRIMAL_INFEASIBLE: "primal_infeasible",
}


def programs(seed, k=9):
    """Return programs with every kind of row in different units; some of them have no solution."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 8)), int(rng.integers(2, 6))
    F = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(m, 1))
    middle = rng.normal(size=(k, n)) @ A.T
    l, u = middle - rng.uniform(0.0, 1.0, size=(k, m)), middle + rng.uniform(0.0, 1.0, size=(k, m))
    l[:, 0] = u[:, 0]
    l[:, 1] = -np.inf
    if seed % 3 == 1:
        l[:2, -1], u[:2, -1] = 90.0, 91.0  # beyond what the bounds allow
    lb, ub = np.full(n, -4.0), np.full(n, 4.0)
    if seed % 3 == 2:
        lb[0], ub[-1] = -np.inf, np.inf
    return F @ F.T, rng.normal(size=(k, n)), A, l, u, lb, ub


def check(many, lanes):
    """Compare the answers of a batch with those of twins; what these do not end is solved alone, and nothing else."""
    left = set()
    for i, lane in enumerate(lanes):
        code, steps, x = lane.run()
        if code in (MAX_ITERATIONS, FAILED):  # FAILED: the objective falls, and it is not known if there is a point
            left.add(i)
            continue
        if code == PRIMAL_INFEASIBLE and i in many.alone:  # the certificate has failed its own test
            left.add(i)
            continue
        assert many.status[i] == STATUS[code]
        # a ray's residuals are rounding errors that depend on the processor: it may pass a step earlier or later
        assert abs(many.iterations[i] - steps) <= (code != OPTIMAL or lane.has_grown)
        if code == OPTIMAL:
            assert np.abs(many.x[i] - x).max() <= 2e-6 * (1.0 + np.abs(x).max())  # relative to the largest entry
    assert set(many.alone) == left


@pytest.mark.parametrize("settings", [{}, {"tol": 1e-5}, {"tol": 1e-4, "tol_abs": 1e-7}, {"max_iter": 7}])
@pytest.mark.parametrize("seed", range(9))
def test_steps_and_answers_are_those_of_the_method_in_numpy(seed, settings):
    P, q, A, l, u, lb, ub = programs(seed)
    many = qp.solve_many(P, q, A, l, u, lb, ub, **settings)
    sides = [(np.append(l[i], lb), np.append(u[i], ub)) for i in range(len(q))]
    check(many, [Lane(P, q[i], A, *sides[i], apart=False, **settings) for i in range(len(q))])


@pytest.mark.parametrize("own, moved, tol", [(False, 1.0, 1e-6), (True, 1.0, 1e-6), (False, 1.3, 1e-2)])
@pytest.mark.parametrize("seed", range(0, 9, 3))
def test_warm_starts_and_matrices_of_their_own(seed, own, moved, tol):
    P, q, A, l, u, lb, ub = programs(seed)
    rng = np.random.default_rng(seed)
    if own:
        P = P * rng.uniform(0.5, 2.0, size=(len(q), 1, 1))
        A = A * rng.uniform(0.9, 1.1, size=(len(q), 1, 1))
    first = qp.solve_many(P, q, A, l, u, lb, ub, tol=1e-6)
    l[:, 0] = u[:, 0] = moved * l[:, 0]  # an equality may be violated as much as the largest row may
    many = qp.solve_many(P, 1.01 * q, A, l, u, lb, ub, tol=tol, warm_start=first)
    lanes = []
    for i in range(len(q)):
        start = first.x[i], np.append(first.y[i], first.z_bounds[i])
        sides = np.append(l[i], lb), np.append(u[i], ub)
        mine = (P[i], 1.01 * q[i], A[i]) if own else (P, 1.01 * q[i], A)
        lanes.append(Lane(*mine, *sides, apart=False, start=start, tol=tol))
    check(many, lanes)


def test_more_programs_than_their_own_matrices_have_entries():
    rng, k = np.random.default_rng(0), 3 * LANES
    P, A, ends = (
        rng.uniform(1.0, 3.0, (k, 1, 1)),
        rng.uniform(0.5, 2.0, (k, 1, 1)),
        np.tile([0.2, 9.0, 0.4], (1, LANES)).T,
    )
    many = qp.solve_many(P, -np.ones((k, 1)), A=A, u=ends, tol=1e-10)
    free, held = 1.0 / P[:, 0], ends / A[:, 0]
    np.testing.assert_allclose(many.x, np.minimum(free, held), rtol=1e-7)
    gradient = many.vjp(dx=np.ones((k, 1)))
    np.testing.assert_allclose(gradient.q, np.where(free < held, -free, 0.0), atol=1e-7)
    np.testing.assert_allclose(gradient.u, np.where(free < held, 0.0, held / ends), atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"tol": 1e-4, "tol_abs": 1e-6}, {"max_iter": 7}])
@pytest.mark.parametrize("seed", range(8))
def test_second_order_cones(seed, settings):
    """Programs with cones of any dimension, orthants and an equality; some are infeasible or unbounded."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 6)), 9
    dims = [int(d) for d in rng.integers(2, 5, size=rng.integers(1, 4))]
    starts = np.cumsum([0, *dims])
    cones = [slice(int(a), int(e)) for a, e in itertools.pairwise(starts)]
    sides, m = 3, int(starts[-1]) + 3
    G, A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(m, 1)), rng.normal(size=(1, n))
    x, s, z = rng.normal(size=(k, n)), rng.uniform(0.1, 1.0, size=(k, m)), rng.uniform(0.1, 1.0, size=(k, m))
    for v in (s, z):
        v[:, starts[:-1]] += 3.0
    F = rng.normal(size=(n, int(rng.integers(0, n + 1))))
    P, h, c = F @ F.T, x @ G.T + s, rng.normal(size=(k, 1)) @ A - z @ G - x @ F @ F.T
    if seed % 4 == 1:
        h[:3, 0] = -90.0
    if seed % 4 == 2:
        c[:3], P = rng.normal(size=(3, n)), 0.0 * P
    given = {"c": c, "P": P, "G": G, "h": h, "A": A, "b": x @ A.T}
    kinds = [*(socp.SecondOrder(dim) for dim in dims), socp.NonNeg(sides)]
    many, lanes = socp.solve_many(**given, cones=kinds, **settings), []
    rows = np.vstack([G, A])
    for i in range(k):
        u = np.concatenate([h[i], x[i] @ A.T, np.full(n, np.inf)])
        l = np.where(np.arange(u.size) == m, u, -np.inf)
        lanes.append(Lane(P, c[i], rows, l, u, apart=True, cones=cones, **settings))
    check(many, lanes)


LOOSE = {"tol": 0.1, "tol_infeasible": 1e-8}, {"tol": 1e-3, "tol_abs": 1e-3}


@pytest.mark.parametrize("settings", LOOSE)
@pytest.mark.parametrize("size", [1e-2, 1e3])
def test_tolerances_far_from_tau_of_one(size, settings):
    for seed in (0, 3, 6):
        P, q, A, l, u, lb, ub = programs(seed)
        sides = size * l, size * u, size * lb, size * ub
        many = qp.solve_many(P, q, A, *sides, **settings)
        rows = [(size * np.append(l[i], lb), size * np.append(u[i], ub)) for i in range(len(q))]
        check(many, [Lane(P, q[i], A, *rows[i], apart=False, **settings) for i in range(len(q))])


@pytest.mark.parametrize("own", [False, True])
def test_what_is_filled_in_is_what_is_measured_there(own):
    rng, n, eye = np.random.default_rng(0), 4, np.eye(4)
    G = np.vstack([np.zeros(n), -eye, rng.normal(size=(3, n)), eye[:3], -2.0 * eye[1:]])
    cones, c, b = [socp.SecondOrder(n + 1), socp.NonNeg(9)], rng.normal(size=(LANES, n)), rng.normal(size=(LANES, 1))
    G, A = (np.tile(M, (LANES, 1, 1)) if own else M for M in (G, rng.normal(size=(1, n))))
    programs = ConePrograms(c, G, 0.5 + rng.random((LANES, n + 10)), cones, A, b, eye + 0.1)
    (group,) = groups_of(programs, Settings())
    lanes = lanes_for(group.batch, group.shape, group.settings, True)
    if lanes.shared:
        take_matrices(group.batch, lanes, 0)
    for lane in range(LANES):
        fill(group.batch, lanes, lane, lane)
    for i in range(lanes.cone_rows, lanes.m + lanes.n):  # s = z = 1
        lanes.y[i] = lanes.sign[lanes.first[i] : lanes.first[i + 1]].sum()
    names = "rd r r_equal cone_r inverse_sz inverse_s W rhs constant_rhs Gx Px xPx qx lam nt eta".split()
    filled = {name: getattr(lanes, name).copy() for name in names}
    measure(lanes)
    for name in names:
        np.testing.assert_allclose(filled[name], getattr(lanes, name), rtol=1e-12, atol=1e-12, err_msg=name)
