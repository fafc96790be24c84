"""Least squares whose matrix is uncertain (El Ghaoui and Lebret 1997): a cone program in epigraph form.

The worst residual over all A + D with norm(D) <= rho is  norm(A x - b) + rho norm(x).  With bounds t and v on the two
norms, and the variables (x, t, v):

    min  t + rho v   s.t.  (t, A x - b) in Q,  (v, x) in Q,   where Q is the second-order cone.
"""

import numpy as np

import socp


def robust(A, b, rho):
    """Return the x that minimizes norm(A x - b) + rho norm(x), and the solution of the cone program."""
    rows, n = A.shape
    c = np.concatenate([np.zeros(n), [1.0, rho]])
    G = np.zeros((rows + 1 + n + 1, n + 2))  # h - G (x, t, v) = (t, A x - b, v, x)
    h = np.zeros(len(G))
    G[0, n] = -1.0
    G[1 : rows + 1, :n], h[1 : rows + 1] = -A, -b
    G[rows + 1, n + 1] = -1.0
    G[rows + 2 :, :n] = -np.eye(n)
    solution = socp.solve(c=c, G=G, h=h, cones=[socp.SecondOrder(rows + 1), socp.SecondOrder(n + 1)])
    return solution.x[:n], solution


def main():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 5)) * [1.0, 1.0, 1.0, 1.0, 0.01]  # the last column is nearly zero
    b = A @ np.ones(5) + 0.1 * rng.normal(size=30)
    rho = 0.5
    plain = np.linalg.lstsq(A, b, rcond=None)[0]
    x, solution = robust(A, b, rho)
    worst = {name: np.linalg.norm(A @ v - b) + rho * np.linalg.norm(v) for name, v in (("plain", plain), ("robust", x))}
    print(f"{solution.status}: norm(x) is {np.linalg.norm(x):.3f}, of plain least squares {np.linalg.norm(plain):.3f}")
    print(f"the worst residual is {worst['robust']:.3f}, of plain least squares {worst['plain']:.3f}")
    return worst, solution


if __name__ == "__main__":
    main()
