"""Active-set methods in a few lines, for  minimize 1/2 x'Px + q'x  with a positive definite P.

`active_set` is primal, for a box: it minimizes the objective on one face after another, until no multiplier has the
wrong sign (Nocedal and Wright 2006, section 16.5).  It counts its work, for a comparison with an interior-point method.
`dual_active_set` (Goldfarb and Idnani 1983) takes two-sided rows: the multipliers always have the right sign, and one
violated row after another is added to the working set.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import socp


@dataclass
class Walk:
    """Path of the method: the final x, and all points before it with the number of free variables at each."""

    x: np.ndarray
    points: list[np.ndarray] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    @property
    def work(self) -> float:
        """Number of multiplications: k^3 / 3 for the factorization of each face's k free variables."""
        return float(sum(k**3 for k in self.free)) / 3.0


def active_set(
    P: np.ndarray, q: np.ndarray, lb: np.ndarray, ub: np.ndarray, x: np.ndarray, max_faces: int = 100_000
) -> Walk:
    """Minimize over the box lb <= x <= ub, starting at its point `x`.

    Examples
    --------
    >>> walk = active_set(np.eye(2), np.array([-2.0, -0.5]), np.zeros(2), np.ones(2), np.zeros(2))
    >>> print(walk.x, walk.free)
    [1.  0.5] [1, 1]
    """
    walk, free = Walk(x.copy(), [x.copy()]), (lb < x) & (x < ub)
    for _ in range(max_faces):
        x, gradient = walk.x, P @ walk.x + q
        if not free.any() or np.abs(gradient[free]).max() <= 1e-10 * (1.0 + np.abs(q).max()):  # the minimum on the face
            wrong = np.where(x <= lb, -gradient, gradient)  # positive: the objective falls into the box
            wrong[free] = 0.0
            k = int(wrong.argmax())
            if wrong[k] <= 1e-10 * (1.0 + np.abs(q).max()):
                return walk
            free[k] = True
        d = np.zeros(x.size)
        d[free] = np.linalg.solve(P[np.ix_(free, free)], -gradient[free])
        walk.free.append(int(free.sum()))
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d > 0.0, (ub - x) / d, np.where(d < 0.0, (lb - x) / d, np.inf))
        first = int(room.argmin())
        walk.x = x + min(1.0, room[first]) * d
        if room[first] <= 1.0:  # a bound stops the step: it becomes active
            walk.x[first] = ub[first] if d[first] > 0.0 else lb[first]
            free[first] = False
        walk.points.append(walk.x.copy())
    raise socp.ProgramError(f"no minimum was found on {max_faces} faces")


def dual_active_set(
    P: np.ndarray, q: np.ndarray, C: np.ndarray, lower: np.ndarray, upper: np.ndarray, tol: float = 1e-10
) -> Walk | None:
    """Minimize within lower <= C x <= upper, or return None if infeasible; `free` counts rows not in the working set.

    Examples
    --------
    >>> walk = dual_active_set(np.eye(2), np.array([-2.0, -0.5]), np.eye(2), np.zeros(2), np.ones(2))
    >>> print(walk.x, walk.free)
    [1.  0.5] [2, 1]
    """
    inverse = np.linalg.inv(P)
    lengths, equal = np.sqrt(np.einsum("ij,jk,ik->i", C, inverse, C)), lower == upper
    lengths[lengths == 0.0] = 1.0
    x, y, holds = -inverse @ q, np.zeros(len(C)), np.zeros(len(C), bool)
    walk = Walk(x, [x], [len(C)])
    while True:
        values = C @ x
        excess = np.where(holds, 0.0, np.maximum(values - upper, lower - values) / lengths)
        i = int(np.argmax(np.where(equal & (excess > tol), np.inf, excess)))  # equalities come first
        if excess[i] <= tol:
            return walk
        sign = 1.0 if values[i] > upper[i] else -1.0
        while True:
            W, own = C[holds], C[i]
            r = np.linalg.lstsq(W @ inverse @ W.T, W @ inverse @ own)[0]
            change = -sign * r  # change of the multipliers of W per unit of row i's multiplier
            direction = -sign * inverse @ (own - W.T @ r)  # change of x
            slope, room = float(own @ direction), np.full(len(C), np.inf)
            falls = (y[holds] * change < 0.0) & ~equal[holds]
            room[np.flatnonzero(holds)[falls]] = np.abs(y[holds][falls] / change[falls])
            first, full = int(room.argmin()), np.inf
            if abs(slope) > tol * lengths[i] ** 2:
                full = ((upper[i] if sign > 0.0 else lower[i]) - own @ x) / slope
            step = min(room[first], full)
            if step == np.inf:
                return None  # y grows without bound: a certificate of infeasibility
            x, y[holds], y[i] = x + step * direction, y[holds] + step * change, y[i] + sign * step
            if full <= room[first]:
                break
            holds[first], y[first] = False, 0.0
        holds[i] = True
        walk.x = x
        walk.points.append(x)
        walk.free.append(int((~holds).sum()))


def boxed_program(n: int, free: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (P, q, x): x is the strictly complementary minimum over [0, 1]^n, with `free` entries inside (0, 1)."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    P = F @ F.T / n + 0.1 * np.eye(n)
    x = np.where(rng.random(n) < 0.5, 0.0, 1.0)
    between = rng.permutation(n)[:free]
    x[between] = rng.uniform(0.1, 0.9, free)
    multiplier = rng.uniform(0.1, 1.0, n) * np.where(x == 1.0, -1.0, 1.0)
    multiplier[between] = 0.0
    return P, multiplier - P @ x, x
