"""A certificate of infeasibility, read aloud: why no plan can exist.

Two plants send goods to three customers.  The customers want 30 + 30 + 30, the plants have 40 + 40, and no route takes
more than 25.  The answer is not "infeasible, believe me" but one multiplier per row: added up with these weights, the
rows say that 0 is at least 1.
"""

import numpy as np

import qp

ROUTES = [(plant, customer) for plant in range(2) for customer in range(3)]
NAMES = ["plant 1 sends at most 40", "plant 2 sends at most 40", *(f"customer {k} gets at least 30" for k in (1, 2, 3))]


def main():
    A = np.array(
        [[plant == k for plant, _ in ROUTES] for k in range(2)] + [[c == k for _, c in ROUTES] for k in range(3)]
    )
    A = A.astype(float)
    l, u = np.array([-np.inf] * 2 + [30.0] * 3), np.array([40.0] * 2 + [np.inf] * 3)
    lb, ub = np.zeros(6), np.full(6, 25.0)
    solution = qp.solve(None, np.ones(6), A=A, l=l, u=u, lb=lb, ub=ub)
    assert solution.status == "primal_infeasible", solution.status
    y, z = solution.y, solution.z_bounds
    # A'y + z = 0, but y'(A x) + z'x <= -1 for all A x and x within their bounds: 0 <= -1.
    most = np.where(y > 0, y, 0) @ np.where(y > 0, u, 0) + np.where(y < 0, y, 0) @ np.where(y < 0, l, 0)
    most += np.where(z > 0, z, 0) @ np.where(z > 0, ub, 0) + np.where(z < 0, z, 0) @ np.where(z < 0, lb, 0)
    print(solution.status)
    for name, weight in zip(NAMES, y):
        if abs(weight) > 1e-9:
            print(f"  {abs(weight):.3f} times: {name}")
    print(f"the left-hand sides cancel to {abs(A.T @ y + z).max():.0e}, the right-hand sides add up to {most:.3f}")
    return np.abs(A.T @ y + z).max(), most


if __name__ == "__main__":
    main()
