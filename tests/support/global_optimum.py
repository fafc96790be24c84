"""The global optimum of the bilevel program (4.17) in few dimensions, by branch and bound over directions of w.

With the means of step 2 put in, the only part that is not convex is -phi |R_i w| in zeta_i, R_i'R_i = Omega_i.  In the
cone of w = V c, c >= 0, whose rays are the columns of V, convexity gives |R_i w| <= sum_k c_k |R_i V_k| = g_i'w, with
equality on the rays.  So step 1 with the means t_i + s_i phi g_i and w in the cone is a lower bound, a cone program;
its answer gives an upper bound.  The cone with the least bound is cut in two at its widest edge until the bounds meet.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

import socp
from models.bilevel.prior import GenerativePrior
from models.bilevel.steps import evaluate, farthest_means
from models.programs.bilevel import SIDES, Constants, Samples, hyperplane_program


@dataclass(frozen=True)
class Global:
    """Bounds of the optimal value, the best hyperplane, and the number of cones that were bounded."""

    lower: float
    upper: float
    w: np.ndarray
    b: float
    cones: int


def global_optimum(
    samples: Samples, prior: GenerativePrior, constants: Constants, gap: float = 1e-4, most: int = 5000
) -> Global:
    """Return bounds of (4.17) within the relative `gap`, or wider ones after `most` cones; C3 is infinite."""
    roots = [R.root_matrix() for R in prior.Omega]
    best = (np.inf, np.zeros(prior.n), 0.0)
    open_cones: list[tuple[float, int, np.ndarray]] = []
    count = 0

    def bound(V: np.ndarray) -> None:
        nonlocal best, count
        count += 1
        rays = np.linalg.inv(V)
        g = [rays.T @ np.linalg.norm(R @ V, axis=0) for R in roots]
        means = prior.t + constants.phi * np.array(SIDES)[:, None] * np.array(g)
        blocks, _ = hyperplane_program(samples, means, [S.root_matrix() for S in prior.Sigma], constants)
        blocks.at_least(0.0, w=rays)
        found = socp.solve(blocks.program(), tol=1e-9)
        if found.status.is_infeasible:
            return
        w, b = found.x[blocks.w], float(found.x[blocks.b][0])
        mu, nu = farthest_means(prior, constants, w, b)
        point = evaluate(samples, prior, constants, w, b, mu, nu)
        # a relaxed answer may miss (4.20) and (4.21) where they are hard
        if np.isfinite(constants.C2) or point.zeta.max() <= 1e-7:
            best = min(best, (point.objective, w, b), key=lambda one: one[0])
        heapq.heappush(open_cones, (float(found.objective), count, V))

    for signs in itertools.product((-1.0, 1.0), repeat=prior.n):
        bound(np.diag(signs))
    lower = open_cones[0][0] if open_cones else np.inf
    while open_cones and count < most:
        lower, _, V = heapq.heappop(open_cones)
        if best[0] - lower <= gap * (1.0 + abs(best[0])):
            break
        cosines = np.where(np.eye(prior.n), 1.0, V.T @ V)
        i, j = np.unravel_index(cosines.argmin(), cosines.shape)
        middle = V[:, i] + V[:, j]
        for k in (i, j):
            half = V.copy()
            half[:, k] = middle / np.linalg.norm(middle)
            bound(half)
    return Global(lower, best[0], best[1], best[2], count)


def alternated(samples: Samples, prior: GenerativePrior, constants: Constants, starts: int, seed: int) -> np.ndarray:
    """Return the objective that the alternation reaches from each of its starts."""
    from models import BilevelClassifier

    settings = {"phi": constants.phi, "C1": constants.C1, "C2": constants.C2, "n_init": starts, "random_state": seed}
    model = BilevelClassifier(prior, constants.beta, **settings)
    return model.fit(samples.X, samples.y, samples.weights).objectives_
