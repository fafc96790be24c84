"""The efficient frontier of a factor model: the covariance stays diagonal plus low rank, and is never formed.

    min  risk/2 x'(F F' + diag(d)) x - mu'x   s.t.  sum x = 1,  0 <= x <= 0.1

for a decreasing aversion to risk.  `LowRank(F, d)` states P by its factor.
"""

import numpy as np

import qp


def main(assets=200, factors=10):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(assets, factors)) / np.sqrt(factors)
    d = rng.uniform(0.1, 0.5, assets)
    mu = 0.1 * rng.random(assets)
    frontier = []
    print("aversion  return  deviation  assets held")
    for aversion in (100.0, 30.0, 10.0, 3.0, 1.0, 0.3):
        P = qp.LowRank(F * np.sqrt(aversion), d * aversion)
        solution = qp.solve(P, -mu, A=np.ones((1, assets)), l=1.0, u=1.0, lb=0.0, ub=0.1)
        assert solution.status == "optimal", solution.message
        x = solution.x
        deviation = np.sqrt(np.sum((F.T @ x) ** 2) + d @ x**2)
        frontier.append((mu @ x, deviation))
        print(f"{aversion:8g} {mu @ x:7.4f} {deviation:10.4f} {np.sum(x > 1e-6):12d}")
    return np.array(frontier)


if __name__ == "__main__":
    main()
