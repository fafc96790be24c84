"""A solver of quadratic programs after any sequence of operations, compared with a new one."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.stateful import rule

from qp import QuadraticProgram, Solver
from socp import LowRank
from tests.support import solver_states
from tests.support.interrupts import Interrupted
from tests.support.programs import planted_quadratic, planted_sides, random_hessian, times

INF = np.inf
METHODS = [{}, {}, {"active_set": False}, {"kkt": "ldl"}, {"kkt": "dense", "equilibrate": False}]


class QuadraticSolverStates(solver_states.SolverStates):
    """The first row has two sides, and x_0 and x_1 have two bounds, none of which is active at the optimum."""

    linear, changes = "q", ["q", "slack", "open", "close", "sides", "A", "P"]

    def new(self, data):
        rng = self.rng
        # for the active set of a boxed dense program, and for the interior-point method before the dual active set
        is_wide, is_sparse = np.arange(2) == data.draw(st.integers(0, 5))
        n, m = (90, 1) if is_wide else (150, 5) if is_sparse else (int(rng.integers(2, 9)), int(rng.integers(1, 5)))
        P = sp.csc_array(np.diag(rng.uniform(0.5, 2.0, n))) if is_sparse else random_hessian(rng, n)
        if is_wide:
            F = rng.normal(size=(n, n))
            P = F @ F.T / n + 0.1 * np.eye(n)
        A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
        A[0] = 1.0
        x = rng.normal(size=n)
        (l, u, y), (lb, ub, z) = planted_sides(A @ x, rng), planted_sides(x, rng)
        l[0], u[0], y[0], z[:2] = (A @ x)[0] - 1.0, (A @ x)[0] + 1.0, 0.0, 0.0
        lb[:2], ub[:2] = x[:2] - 1.0, x[:2] + 1.0
        if is_wide:
            lb, ub = np.where(z <= 0.0, x - (z == 0.0), x - 2.0), np.where(z >= 0.0, x + (z == 0.0), x + 2.0)
        self.planted, self.first = {"x": x, "y": y, "z": z}, sp.csc_array(A)
        self.settings = data.draw(st.sampled_from(METHODS))
        rest = {"P": P, "A": self.first, "l": l, "u": u, "lb": lb, "ub": ub}
        program = QuadraticProgram(**self.around(rest, self.planted))
        self.data = {name: getattr(program, name) for name in ("P", "A", "q", "l", "u", "lb", "ub")}
        return Solver(program, **self.settings)

    @staticmethod
    def around(data, planted):
        """Return the data with q chosen so that the planted point is optimal."""
        x, y, z = planted["x"], planted["y"], planted["z"]
        return {**data, "q": -(times(data["P"], x) + data["A"].T @ y + z)}

    def change(self, kind):
        rng, data, planted, own = self.rng, dict(self.data), dict(self.planted), {}
        x, A, moved = planted["x"], data["A"], np.zeros(data["l"].size)
        pairs = ("l", "u", planted["y"], A @ x), ("lb", "ub", planted["z"], x)
        if kind == "q":
            planted |= {name: rng.uniform(0.5, 2.0) * planted[name] for name in "yz"}
        elif kind == "sides":
            planted["x"] = x + 0.3 * rng.normal(size=x.size)
            moved, x = A @ (planted["x"] - x), planted["x"] - x
            data |= {name: data[name] + x for name in ("lb", "ub")}
        elif kind == "P" and not isinstance(data["P"], LowRank | None):
            data["P"] = rng.uniform(0.5, 2.0) * data["P"]
            own["P_data"] = data["P"].data if sp.issparse(data["P"]) else data["P"]
        elif kind == "A":  # values for the first pattern: entries that became zero can return
            A = self.first.copy()
            A.data = A.data * rng.uniform(0.9, 1.1, A.nnz) * ((rng.random(A.nnz) < 0.9) | (A.indices == 0))
            data["A"], own["A_data"], moved = A, A.data, A @ x - data["A"] @ x
        elif kind != "P":
            for lower, upper, multiplier, at in pairs:
                some, l, u = rng.random(at.size) < 0.5, data[lower], data[upper]
                some[: 2 if lower == "lb" else 1] &= kind == "slack"
                far = rng.uniform(0.1, 5.0, (2, at.size))
                low, high = {
                    "slack": (np.where(np.isfinite(l), at - far[0], l), np.where(np.isfinite(u), at + far[1], u)),
                    "open": (-INF, INF),
                    "close": (np.maximum(l, at - far[0]), np.minimum(u, at + far[1])),
                }[kind]
                data[lower] = np.where(some & (multiplier >= 0.0) & (l < u), low, l)
                data[upper] = np.where(some & (multiplier <= 0.0) & (l < u), high, u)
        data |= {name: data[name] + moved for name in "lu"}
        after = self.around(data, planted)
        vectors = ("q", "l", "u", "lb", "ub")
        own |= {name: after[name] for name in vectors if not np.array_equal(after[name], self.data[name])}
        return own, after, planted

    def infeasible(self):
        """Return the feasible sides, and sides of which the first row's are beyond all values that the bounds allow."""
        data, row = self.data, self.data["A"].toarray()[0]
        l, u = data["l"].copy(), data["u"].copy()
        most = np.where(row > 0.0, row * np.minimum(data["ub"], 1e3), row * np.maximum(data["lb"], -1e3)).sum()
        l[0], u[0] = most + 1.0, most + 2.0
        back = {name: data[name] for name in ("l", "u", "lb", "ub")}
        return back, {"l": l, "u": u, "lb": np.maximum(data["lb"], -1e3), "ub": np.minimum(data["ub"], 1e3)}

    @rule(data=st.data())
    def cross_sides(self, data):
        change, self.data, self.planted = self.change(data.draw(st.sampled_from(self.changes)))
        l = self.data["l"].copy()
        l[0] = self.data["u"][0] + 1.0
        self.solver.update(**{**change, "l": l})
        assert self.solver.solve(warm_start=True).status == "primal_infeasible"
        self.solver.update(l=self.data["l"])

    def refused(self):
        q = self.data["q"]
        bad = [{"q": q[1:]}, {"q": np.nan * q}, {"lb": np.inf}, {"lb": np.nan * q}]
        bad += [{"A_data": self.data["A"].data[1:]}, {"ub": -np.inf, "q": 2.0 * q}]
        P = self.data["P"]
        return (
            bad
            if isinstance(P, LowRank | None) or not P.diagonal().any()
            else [*bad, {"P_data": -(P.data if sp.issparse(P) else P), "q": -q}]
        )


TestQuadraticSolver = QuadraticSolverStates.TestCase
TestQuadraticSolver.settings = solver_states.SETTINGS


@pytest.mark.parametrize("name", ["q", "u", "A_data", "P_data"])
def test_after_an_update_that_is_interrupted_anywhere_the_old_or_the_new_program_is_solved(name):
    rng = np.random.default_rng(3)
    planted = planted_quadratic(rng)[0]
    P = sp.csc_array(np.diag(rng.uniform(1.0, 2.0, planted.n)))
    program = QuadraticProgram(P, planted.q, planted.A, planted.l, planted.u, planted.lb, planted.ub)
    value = getattr(program, name[:1]) if name.endswith("data") else getattr(program, name)
    change = {name: 1.5 * value.data if name.endswith("data") else 1.5 * np.abs(value) + 1.0}

    def update(at=None):
        solver = Solver(program, active_set=False)
        solver.solve()
        return solver, Interrupted(partial(solver.update, **change), at)

    for at in range(1, update()[1].lines + 1, 3):
        solver, interrupted = update(at)
        found, fresh = solver.solve(), Solver(solver.program, active_set=False).solve()
        assert interrupted.raised and found.status == fresh.status
        assert found.objective == pytest.approx(fresh.objective, rel=1e-6, nan_ok=True)
