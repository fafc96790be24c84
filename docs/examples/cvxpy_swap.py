"""The swap in cvxpy: a script stays as it is, and one argument names this solver.

`import socp.interop.cvxpy` registers the solver.  The problem is a lasso with a norm constraint, so it goes to the cone
engine; without that constraint it is a quadratic program and goes to `qp`.
"""

import cvxpy as cp
import numpy as np

import socp.interop.cvxpy  # noqa: F401  (registers "CENTRALPATH")


def main():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(40, 10)), rng.normal(size=40)
    x = cp.Variable(10)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + cp.norm1(x)), [cp.norm(x) <= 0.2])
    values = {}
    for solver in ("CLARABEL", "CENTRALPATH"):
        problem.solve(solver=solver)
        values[solver] = problem.value
        print(f"{solver}: {problem.status}, {problem.value:.6f}, multiplier {problem.constraints[0].dual_value:.6f}")
    return values


if __name__ == "__main__":
    main()
