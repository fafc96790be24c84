"""A support vector machine, and its dual program written out and solved for comparison.

    min  1/2 a'(y y' * K) a - sum a   s.t.  y'a = 0,  0 <= a <= C.

The estimator and the program agree; the multiplier of y'a = 0 is the intercept.
"""

import numpy as np

import qp
from models import SVC


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(np.sum(X**2, axis=1) > 1.4, 1.0, -1.0)  # a disk and its surroundings
    C, gamma = 10.0, 0.5
    machine = SVC(C=C, kernel="rbf", gamma=gamma).fit(X, y)

    distances = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    K = np.exp(-gamma * distances)
    solution = qp.solve(y[:, None] * K * y, -np.ones(120), A=y[None], l=0.0, u=0.0, lb=0.0, ub=C)
    scores = K @ (y * solution.x) + solution.y[0]
    difference = np.abs(scores - machine.decision_function(X)).max()
    print(f"{len(machine.support_)} support vectors of 120, {np.mean(machine.predict(X) == y):.1%} of the labels right")
    print(f"program and estimator: {solution.status}, scores that differ by {difference:.1e}")
    return machine, difference


if __name__ == "__main__":
    main()
