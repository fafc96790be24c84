"""A solver of cone programs after any sequence of operations, compared with a new one."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.stateful import rule

from socp import ConeProgram, LowRank, NonNeg, Solver
from tests.support import solver_states
from tests.support.programs import complementary, random_cones, random_hessian, times


class ConeSolverStates(solver_states.SolverStates):
    """The first two rows are x_0 <= h_0 and -x_0 <= h_1, neither of which is active at the optimum."""

    linear, changes = "c", ["c", "slack", "sides", "G", "A", "P"]

    def new(self, data):
        program = self.new_program()
        kkts = ["auto", "ldl", "dense", *["lowrank"] * isinstance(program.P, LowRank)]
        self.settings = {"kkt": data.draw(st.sampled_from(kkts)), "equilibrate": data.draw(st.booleans())}
        return Solver(program, **self.settings)

    def new_program(self):
        """Return a program for which the planted point is optimal."""
        rng = self.rng
        n, p = int(rng.integers(2, 9)), int(rng.integers(0, 3))
        cones = [NonNeg(2), *random_cones(rng, most=3, largest=6)]
        m, P = sum(cone.dim for cone in cones), random_hessian(rng, n)
        A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.8)
        G[0], G[1] = np.eye(n)[0], -np.eye(n)[0]
        s, z = complementary(cones, rng)
        s[:2], z[:2] = 1.0, 0.0
        self.planted = {"x": rng.normal(size=n), "y": rng.normal(size=p), "s": s, "z": z}
        self.first = sp.csc_array(G), sp.csc_array(A)
        program = ConeProgram(
            **self.around({"P": P, "A": self.first[1], "G": self.first[0]}, self.planted), cones=cones
        )
        self.data = {name: getattr(program, name) for name in ("P", "A", "G", "c", "b", "h")}
        return program

    @rule()
    def replace(self):
        if self.settings["kkt"] != "lowrank":
            self.solver.replace(self.new_program())

    @staticmethod
    def around(data, planted):
        """Return the data with c, b and h chosen so that the planted point is optimal."""
        P, A, G = data["P"], data["A"], data["G"]
        x, y, s, z = (planted[name] for name in "xysz")
        return {**data, "c": -(times(P, x) + A.T @ y + G.T @ z), "b": A @ x, "h": G @ x + s}

    def change(self, kind):
        rng, data, planted, own = self.rng, dict(self.data), dict(self.planted), {}
        if kind == "c":
            factor = rng.uniform(0.5, 2.0)
            planted |= {"y": factor * planted["y"], "z": factor * planted["z"]}
        elif kind == "slack":
            planted["s"] = np.append(rng.uniform(0.1, 5.0, 2), planted["s"][2:])
        elif kind == "sides":
            planted["x"] = planted["x"] + 0.3 * rng.normal(size=planted["x"].size)
        elif kind == "P" and not isinstance(data["P"], LowRank | None):
            data["P"] = rng.uniform(0.5, 2.0) * data["P"]
            own["P_data"] = data["P"].data if sp.issparse(data["P"]) else data["P"]
        elif kind in "AG":  # values for the first pattern: entries that became zero can return
            M = self.first["GA".index(kind)].copy()
            M.data = M.data * rng.uniform(0.9, 1.1, M.nnz) * (rng.random(M.nnz) < 0.9)
            if kind == "G":
                M.data[np.isin(M.indices, [0, 1])] = self.first[0].data[np.isin(M.indices, [0, 1])]
            data[kind], own[f"{kind}_data"] = M, M.data
        after = self.around(data, planted)
        own |= {name: after[name] for name in "cbh" if not np.array_equal(after[name], self.data[name])}
        return own, after, planted

    def infeasible(self):
        h = self.data["h"].copy()
        h[0] = -h[1] - 1.0
        return {"h": self.data["h"]}, {"h": h}

    def refused(self):
        c, P, G = self.data["c"], self.data["P"], self.data["G"]
        bad = [{"c": c[1:]}, {"c": np.nan * c}, {"h": np.inf + 0.0 * self.data["h"]}, {"G_data": G.data[1:]}]
        bad += [{"b": np.append(self.data["b"], 1.0)}]
        return (
            bad
            if isinstance(P, LowRank | None) or not P.diagonal().any()
            else [*bad, {"P_data": -(P.data if sp.issparse(P) else P), "c": -c}]
        )


TestConeSolver = ConeSolverStates.TestCase
TestConeSolver.settings = solver_states.SETTINGS
