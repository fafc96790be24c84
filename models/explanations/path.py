r"""The machine with explanations for every Q at once: its dual is piecewise linear in Q.

With v = (alpha, lambda), signs e = (y, 0) and s_j the weight of explanation j,

    minimize    1/2 v'Pv - 1'alpha     subject to     e'v = 0,   0 <= alpha_i <= C_i,   |lambda_j| <= Q s_j

Let F be the variables off their bounds.  Those at bounds are constant or +-Q s_j, and

    P_FF v_F + e_F b = q_F - P_FB v_B,    e_F'v_F = 0,    q = (1, 0)

is linear in Q, so that v_F and b are.  The piece ends where a variable of F meets a bound, or where the slope
r = Pv - q + b e of a variable at a bound changes its sign and the variable joins F.  It cannot join if P_FF would be
singular: then P p = 0 for a direction p in F and k with p_k = 1 and e'p = 0, so that p'dr = 0 and dr_F = 0 give
dr_k = 0, and what was found is rounding.  Where no piece ends any more, the answer is that of perfect explanations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SINGULAR = 1e-9  # Schur complement relative to its terms: smaller ones count as zero
NIL = 1e-10  # relative size up to which a rate, or the distance to a bound, counts as zero
ASTRAY = 1e-6  # relative size of a violation at which the path is given up
MOST_PIECES = 50  # pieces a variable, after which the path is given up


@dataclass(frozen=True)
class Piece:
    """Answers v = v0 + Q v1 and intercepts b = b0 + Q b1 from `Q` on, to the next piece or to infinity."""

    Q: float
    v0: np.ndarray
    v1: np.ndarray
    b0: float
    b1: float

    def at(self, Q: float) -> tuple[np.ndarray, float]:
        """Return v and b at Q."""
        return self.v0 + Q * self.v1, self.b0 + Q * self.b1


class ExplanationPath:
    """The answers of one two-class machine for all Q >= 0; iterate over its pieces, Q ascending.

    `P`, `y`, `C` and `share` are those of the dual, C finite; `alpha` is the answer of the plain machine (Q = 0) and
    `b` its intercept.  ArithmeticError is raised where rounding leads the path astray: a variable or a slope beyond its
    bound, or more than `MOST_PIECES` pieces a variable.
    """

    def __init__(
        self, P: np.ndarray, y: np.ndarray, C: np.ndarray, share: np.ndarray, bias: bool, alpha: np.ndarray, b: float
    ) -> None:
        n, m = y.size, share.size
        self.P, self.bias, self.n = P, bias, n
        self.e = np.concatenate([y, np.zeros(m)]) if bias else np.zeros(n + m)
        self.q = np.concatenate([np.ones(n), np.zeros(m)])
        self.C, self.width = np.append(C, np.zeros(m)), np.append(np.zeros(n), share)
        self.v, self.b, self.Q = np.concatenate([alpha, np.zeros(m)]), b, 0.0
        self.is_alpha = np.arange(n + m) < n
        self.side = np.where(self.v >= self.C * (1.0 - NIL), 1, -1)  # the bound of a variable outside of F
        self.inside = np.zeros(n + m, dtype=bool)  # F
        for k in map(int, np.flatnonzero((alpha > NIL * C) & (alpha < C * (1.0 - NIL)))):
            p = self._null_direction(k)
            if p is None:
                self.inside[k] = True
            else:
                self._exchange(k, p)
        self.v[:n] = np.where(self.inside[:n], self.v[:n], np.where(self.side[:n] > 0, self.C[:n], 0.0))
        slope = self._slope(*self._line()[:3:2])
        self.side[n:] = np.where(slope[n:] > 0.0, -1, 1)

    def __iter__(self) -> Iterator[Piece]:
        for _ in range(MOST_PIECES * self.v.size):
            piece = Piece(self.Q, *self._line())
            steps = self._steps(piece)
            if self._strays(piece):
                break
            while True:
                row, k = map(int, np.unravel_index(steps.argmin(), steps.shape))
                step = float(steps[row, k])
                if row > 0 or not np.isfinite(step) or self._null_direction(k) is None:
                    break
                steps[row, k] = np.inf
            if self.Q + step > self.Q:
                yield piece
            if not np.isfinite(step):
                return
            self.Q += step
            self.v, self.b = piece.at(self.Q)
            self.inside[k], self.side[k] = row == 0, (self.side[k], -1, 1)[row]
        raise ArithmeticError(f"the path in Q is lost at Q = {self.Q:g}")

    def _strays(self, piece: Piece) -> bool:
        """Return True if v leaves its bounds, or a slope has the wrong sign, by more than `ASTRAY`."""
        v, b = piece.at(self.Q)
        r, width = self._slope(v, b), self.Q * self.width
        beyond = np.maximum(np.where(self.is_alpha, -v, -v - width), np.where(self.is_alpha, v - self.C, v - width))
        wrong = np.where(self.inside | (self.C + width == 0.0), 0.0, self.side * r)
        return bool(beyond.max() > ASTRAY * (1.0 + np.abs(v).max()) or wrong.max() > ASTRAY * (1.0 + np.abs(r).max()))

    def _line(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return v0, v1, b0, b1 of the current F and sides."""
        F, at_high = self.inside, self.side > 0
        v0 = np.where(at_high, self.C, 0.0) * self.is_alpha * ~F
        v1 = self.width * self.side * ~F
        rows = np.flatnonzero(F)
        right = np.stack([self.q[rows] - self.P[rows] @ v0, -(self.P[rows] @ v1)], axis=1)
        held = self.bias and bool(self.e[rows].any())
        if held:
            right = np.vstack([right, [[-(self.e @ v0), 0.0]]])
        elif self.bias:
            right[:, 0] -= self.e[rows] * self.b
        found = np.linalg.solve(self._system(rows, held), right) if rows.size else np.zeros((0, 2))
        v0[rows], v1[rows] = found[: rows.size].T
        b0, b1 = found[-1] if held else (self.b, 0.0)
        return v0, v1, float(b0), float(b1)

    def _system(self, rows: np.ndarray, held: bool) -> np.ndarray:
        """Return P_FF, bordered by e_F if the equality is `held` by a variable of F."""
        K = self.P[np.ix_(rows, rows)]
        if not held:
            return K
        e = self.e[rows]
        return np.block([[K, e[:, None]], [e[None, :], np.zeros((1, 1))]])

    def _slope(self, v0: np.ndarray, b0: float) -> np.ndarray:
        return np.asarray(self.P @ v0 - self.q + b0 * self.e)

    def _steps(self, piece: Piece) -> np.ndarray:
        """Return the steps in Q at which each variable joins F, or meets its lower or its upper bound, as rows."""
        v, b = piece.at(self.Q)
        F, free_alpha, free = self.inside, self.inside & self.is_alpha, self.inside & ~self.is_alpha
        size = np.abs(self.P[:, F]) @ np.abs(piece.v1[F]) + np.abs(self.P[:, ~F] @ piece.v1[~F]) + abs(piece.b1)
        steps = np.full((3, v.size), np.inf)
        # the slope of a variable at a bound changes its sign: r >= 0 at the lower one, r <= 0 at the upper one
        r = -self.side * self._slope(v, b)
        rate = -self.side * (self.P @ piece.v1 + piece.b1 * self.e)
        falls = ~F & (rate < -NIL * size)
        fixed = (self.C + self.width) == 0.0
        falls &= ~fixed
        steps[0, falls] = np.maximum(0.0, r[falls]) / -rate[falls]
        # a variable of F meets its lower or its upper bound
        for row, sign in ((1, -1), (2, 1)):
            room = np.where(self.is_alpha, np.where(sign > 0, self.C - v, v), self.Q * self.width - sign * v)
            closing = np.where(self.is_alpha, sign * piece.v1, sign * piece.v1 - self.width)
            meets = (free_alpha | free) & (closing > NIL)
            steps[row, meets] = np.maximum(0.0, room[meets]) / closing[meets]
        return steps

    def _null_direction(self, k: int) -> np.ndarray | None:
        """Return p_F with P (p_F, 1) = 0 in F and k if P_FF is singular once k is in F, else None."""
        rows = np.flatnonzero(self.inside)
        held = self.bias and bool(self.e[rows].any())
        if self.bias and not held and self.is_alpha[k]:
            return None  # the equality holds k, and b becomes free
        right = np.append(self.P[rows, k], self.e[k]) if held else self.P[rows, k]
        p = -np.linalg.solve(self._system(rows, held), right) if right.size else np.zeros(0)
        terms = np.append(right * p, self.P[k, k])
        return p[: rows.size] if terms.sum() <= SINGULAR * np.abs(terms).sum() else None

    def _exchange(self, k: int, p: np.ndarray) -> None:
        """Move alpha along the null direction (p, 1) of F and k until one of them meets a bound, and leaves F."""
        moved, way = np.append(np.flatnonzero(self.inside), k), np.append(p, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(way > 0.0, self.C[moved] - self.v[moved], self.v[moved])
            steps = np.where(np.abs(way) > NIL, np.maximum(0.0, room) / np.abs(way), np.inf)
        one = int(steps.argmin())
        self.v[moved] += steps[one] * way
        self.inside[k] = True
        self.inside[moved[one]], self.side[moved[one]] = False, 1 if way[one] > 0.0 else -1
