"""A model predictive controller: one quadratic program per sampling instant, set up once and updated.

A cart of position p and velocity v is driven by a force u, abs(u) <= 1, from p = 5 to rest at p = 0.  At each instant
the controller solves, over a horizon of N steps,

    min  sum_k x_k' Q x_k + r u_k^2   s.t.  x_(k+1) = A x_k + B u_k,  x_0 = the measured state,  -1 <= u_k <= 1,

and applies u_0.  Only the right-hand side x_0 changes, so `Solver.update` keeps equilibration, ordering and symbolic
analysis, and each solve starts from the last answer.
"""

import numpy as np
import scipy.sparse as sp

import qp

HORIZON, STEP = 20, 0.2
A = np.array([[1.0, STEP], [0.0, 1.0]])
B = np.array([[0.5 * STEP**2], [STEP]])


def controller():
    """Return the solver of the program in (x_0, ..., x_N, u_0, ..., u_(N-1)), set up with x_0 = 0."""
    states, inputs = 2 * (HORIZON + 1), HORIZON
    P = sp.block_diag([sp.kron(sp.eye_array(HORIZON + 1), np.diag([1.0, 0.1])), 0.1 * sp.eye_array(inputs)])
    dynamics = sp.kron(sp.eye_array(HORIZON, HORIZON + 1, k=1), np.eye(2)) - sp.kron(
        sp.eye_array(HORIZON, HORIZON + 1), A
    )
    first = sp.eye_array(2, states)
    rows = sp.block_array([[first, None], [dynamics, -sp.kron(sp.eye_array(HORIZON), B)]], format="csc")
    sides = np.zeros(states)
    bound = np.concatenate([np.full(states, np.inf), np.ones(inputs)])
    return qp.Solver(P, np.zeros(states + inputs), A=rows, l=sides, u=sides, lb=-bound, ub=bound)


def main():
    solver, sides = controller(), np.zeros(2 * (HORIZON + 1))
    state, iterations, path = np.array([5.0, 0.0]), [], []
    for _ in range(60):
        sides[:2] = state
        solver.update(l=sides, u=sides)
        solution = solver.solve(warm_start=True)
        assert solution.status == "optimal", solution.message
        force = solution.x[2 * (HORIZON + 1)]
        state = A @ state + B[:, 0] * force
        iterations.append(solution.iterations)
        path.append((state[0], state[1], force))
    path = np.array(path)
    print(f"60 programs, {np.mean(iterations):.1f} iterations each")
    print(f"the largest force is {abs(path[:, 2]).max():.3f}; the cart ends at {path[-1, 0]:.3f}")
    return path


if __name__ == "__main__":
    main()
