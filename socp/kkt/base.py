"""The KKT system of a Newton step, in scaled dual variables, by sparse LDL'.

    [ P       A'   G'W^-1 ] [dx  ]   [r1]
    [ A       0    0      ] [dy  ] = [r2]        W dz is the unknown, not dz: near the end a cone's W has
    [ W^-1 G  0   -I      ] [W dz]   [r3]        a large condition number, and W (dz) would lose digits.

The matrix of `assembly`, congruent to this one, is factored.  A quasi-definite matrix has an LDL' with known
signs under any symmetric permutation (Vanderbei 1995); this one is so only when P is definite and A has full
rank.  Two regularizations make up for that: a static one adds +-delta to the whole diagonal, and a pivot that
still comes out below `PIVOT_EPS`, or with the wrong sign, is replaced by +-`PIVOT_DELTA`.  Iterative refinement
on the system above takes both out again.  No single delta serves all programs (the LISWET family has Schur
complements with eigenvalues below 1e-10, others need 1e-8 to be stable), so delta is judged by its result:
when refinement does not get the residual down, the other ones are tried and the best is kept.
"""

from __future__ import annotations

import abc
import functools
from time import perf_counter

import numpy as np

from ..compiled.jit import kernel
from ..cones.scaling import apply_inverse
from ..form.standard import StandardForm
from ..linalg.csc import multiply_both
from ..linalg.refinement import KRYLOV_ABOVE, KRYLOV_STEPS, finish_with_gmres, gmres, solve_refined

PIVOT_EPS, PIVOT_DELTA = 1e-13, 2e-7  # smaller pivots are replaced
STATIC = (1e-14, 1e-8, 1e-11, 1e-6)  # the choices of delta
GOOD_RESIDUAL = 1e-8  # relative residual at which a factorization is good enough
FEW_SOLVES = 3  # and the number of further solves up to which it is not too slow
FLOPS, BANDWIDTH = 4e10, 8e9  # of one core, a second: only their ratio counts
CORRECTORS_PAY = (5.0, 10.0, 20.0)  # solves that a factorization must cost for one, two, three centrality correctors
REST = 6  # factorizations before the choices of delta are compared again
MUCH_WORSE = 10.0  # or before that, when the residual is so many times the best one of the last comparison


@kernel
def kkt_residual(n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, Px, solution, rhs, v, Mtv, residual):
    """residual := rhs - K solution for the K of the head of this file; returns its infinity norm.

    v is the place for (y, z) = (y, W^-1 (W z)).
    """
    v[:p] = solution[n : n + p]
    apply_inverse(l, ptr, w, eta, solution[n + p :], v[p:])
    multiply_both(M_indptr, M_indices, M_data, solution[:n], v, residual[n:], Mtv)
    apply_inverse(l, ptr, w, eta, residual[n + p :], residual[n + p :])
    norm, trap = 0.0, 0.0  # the trap becomes NaN with any entry that is not finite; max(norm, NaN) is norm
    for j in range(n):
        residual[j] = rhs[j] - Px[j] - Mtv[j]
        norm = max(norm, abs(residual[j]))
        trap += 0.0 * residual[j]
    for i in range(np.uint64(n), np.uint64(n + p)):
        residual[i] = rhs[i] - residual[i]
        norm = max(norm, abs(residual[i]))
        trap += 0.0 * residual[i]
    for i in range(np.uint64(n + p), np.uint64(rhs.size)):
        residual[i] = rhs[i] - residual[i] + solution[i]
        norm = max(norm, abs(residual[i]))
        trap += 0.0 * residual[i]
    return norm if trap == 0.0 else np.inf


class KKT(abc.ABC):
    """What all ways of solving the KKT systems of one program share: the residual, refinement, the choice of delta.

    A way of solving gives the abstract methods, and `still_fits` where what it found at set-up may cease to hold.
    """

    choices: tuple[float, ...] = STATIC
    correctors = 0  # centrality correctors that an iteration may try; each costs a solve and may save factorizations

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        self.form, self.refinement_steps = form, refinement_steps
        if regularization is not None:
            self.choices = (regularization,)
        self.refinements = 0
        self.restart()
        n, p, m = form.n, form.p, form.m
        self.Px, self.Mtv, self.v = np.zeros(n), np.zeros(n), np.zeros(p + m)
        self.residual, self.zero = np.zeros(n + p + m), np.zeros(n + p + m)
        self.Pu = np.zeros((2, n))  # P x of the solutions that the last call of `solve` found

    def _allow_correctors(self, flops: float, entries: float) -> None:
        """Note a factorization's work, and set `correctors` by what it costs beside a solve with so many entries."""
        self.flops = flops
        ratio = flops / FLOPS / (16.0 * max(entries, 1.0) / BANDWIDTH)
        self.correctors = int(np.searchsorted(CORRECTORS_PAY, ratio))

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """The method, its order and its entries, in words."""

    @abc.abstractmethod
    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""

    def still_fits(self) -> bool:
        """Whether what set-up found in the values of the form still holds for its new values."""
        return True

    @abc.abstractmethod
    def _factor(self, static: float) -> int:
        """Factor at the present scaling; the number of replaced pivots, -1 on failure."""

    @abc.abstractmethod
    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        """out += the solution with the factors, not refined."""

    def analysis_seconds(self) -> tuple[float, float]:
        """What the ordering and the symbolic analysis took."""
        return 0.0, 0.0

    def restart(self) -> None:
        """Begin with the first choice of delta: what the last run ended with must not change the bits of the next."""
        self.factor_seconds = self.solve_seconds = 0.0
        self.static, self._rest, self._good_residual = self.choices[0], 0, GOOD_RESIDUAL

    def take_refinements(self) -> int:
        """The steps of iterative refinement since the last call."""
        count, self.refinements = self.refinements, 0
        return count

    def factor(self, w: np.ndarray, eta: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> int:
        """Factor at the scaling (w, eta) and solve K out = rhs as `solve` does, with the delta that does it best.

        Returns the number of replaced pivots, -1 when no delta gives finite factors.
        """
        self.w, self.eta = w, eta
        self._rest -= 1
        if self._rest <= 0:
            self._good_residual = GOOD_RESIDUAL
        tried: list[tuple[bool, float, float, float]] = []  # (not good, solves a right-hand side, residual, delta)
        best_out, best_Pu = out, self.Pu
        for static in sorted(self.choices, key=lambda choice: choice != self.static):
            before = self.refinements
            replaced = self._factor_timed(static)
            residual = self.solve(rhs, out) if replaced >= 0 else np.inf
            good = residual <= self._good_residual
            solves = (self.refinements - before) / (1 if rhs.ndim == 1 else rhs.shape[0])
            tried.append((not good, solves if good else 0, residual, static))
            if good and (solves <= FEW_SOLVES or self._rest > 0):
                return replaced
            if min(tried) == tried[-1]:
                best_out, best_Pu = out.copy(), self.Pu.copy()
        _, _, residual, static = min(tried)
        if not np.isfinite(residual):
            return -1
        # until the next comparison, what is not much worse than the best of this one is good
        self._rest, self._good_residual = REST, max(GOOD_RESIDUAL, MUCH_WORSE * residual)
        if static != self.static:
            replaced = self._factor_timed(static)
        out[:], self.Pu[:] = best_out, best_Pu
        return replaced

    def _factor_timed(self, static: float) -> int:
        """`_factor`, its seconds noted."""
        started = perf_counter()
        replaced = self._factor(static)
        self.factor_seconds += perf_counter() - started
        return replaced

    def solve(self, rhs: np.ndarray, out: np.ndarray) -> float:
        """K out = rhs with refinement for one vector, or for each row of an array of them (at most two).

        Returns the largest of the residuals that are left, each relative to its right-hand side (infinity norms),
        infinity when one is not a number.
        """
        started = perf_counter()
        if rhs.ndim == 1:
            rhs, out = rhs[None], out[None]
        worst = 0.0
        for k, (size, norm, count) in enumerate(self._solve_rows(rhs, out)[: rhs.shape[0]].tolist()):
            if norm > KRYLOV_ABOVE * size:
                norm, count = self._finish(rhs[k], out[k], (size, norm, int(count)))
                self.Pu[k] = self.Px
            self.refinements += int(count)
            relative = norm / max(size, 1e-300)
            worst = max(worst, relative) if relative == relative else np.inf
        self.solve_seconds += perf_counter() - started
        return worst

    def _solve_rows(self, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
        """`solve` up to GMRES, with P x in the rows of `Pu`; for each row (|rhs|, |residual|, further solves)."""
        found = np.zeros((rhs.shape[0], 3))
        for k in range(rhs.shape[0]):
            residual_of = functools.partial(self._residual, rhs[k])
            found[k] = solve_refined(
                residual_of, self.residual, self._add_solution, rhs[k], out[k], self.refinement_steps
            )
            self.Pu[k] = self.Px
        return found

    def _finish(self, rhs: np.ndarray, out: np.ndarray, found: tuple[float, float, int]) -> tuple[float, int]:
        """GMRES where refinement of out has stalled; the residual that is left, and the further solves in all."""
        residual_of = functools.partial(self._residual, rhs)
        residual_of(out)
        return finish_with_gmres(residual_of, self._krylov, found, out, self.refinement_steps)

    def _krylov(self, out: np.ndarray, tol: float) -> int:
        """out += the solution d of K d = residual by GMRES; returns the number of its steps."""
        return gmres(self._add_solution, self._multiply, self.residual, out, KRYLOV_STEPS, tol)

    def _multiply(self, u: np.ndarray, out: np.ndarray) -> None:
        """out := K u."""
        self.form.P.product(u[: self.form.n], self.Px)
        form = self.form
        kkt_residual(
            form.n, form.p, form.l, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data, self.Px,
            u, self.zero, self.v, self.Mtv, out,
        )  # fmt: skip
        np.negative(out, out=out)

    def _residual(self, rhs: np.ndarray, out: np.ndarray) -> float:
        form = self.form
        form.P.product(out[: form.n], self.Px)
        return kkt_residual(
            form.n, form.p, form.l, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data, self.Px,
            out, rhs, self.v, self.Mtv, self.residual,
        )  # fmt: skip
