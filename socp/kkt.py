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
from typing import Any

import numpy as np

from .assembly import KKTMatrix, rotate, rotate_back
from .cones import norm_tail
from .expansion import recover_expanded, reduce_expanded
from .form import StandardForm
from .jit import inner_kernel, kernel
from .ldl import LDL
from .refinement import GO_ON, KRYLOV_ABOVE, TAKE_BACK, finish_with_gmres, judge, solve_refined
from .scaling import apply_inverse
from .sparse import multiply_both, multiply_symmetric
from .supernodal import supernodal_solve, supernodal_solve_two
from .uplooking import scalar_solve, scalar_solve_two

PIVOT_EPS, PIVOT_DELTA = 1e-13, 2e-7  # smaller pivots are replaced
STATIC = (1e-14, 1e-8, 1e-11, 1e-6)  # the choices of delta
GOOD_RESIDUAL = 1e-8  # relative residual at which a factorization is good enough
FEW_SOLVES = 3  # and the number of further solves up to which it is not too slow
FLOPS, BANDWIDTH = 4e10, 8e9  # of one core, a second: only their ratio counts
CORRECTORS_PAY = (5.0, 10.0, 20.0)  # solves that a factorization must cost for one, two, three centrality correctors
REST = 6  # factorizations before the choices of delta are compared again
MUCH_WORSE = 10.0  # or before that, when the residual is so many times the best one of the last comparison


@kernel
def reduce_rhs(n, p, l, ptr, rhs, w, eta, variable, group, coefficient, theta, t, cones, f, out):
    """The right-hand side for the assembled matrix; t as in `groups`, cones and f as in `expansion`."""
    out[: n + p] = rhs[: n + p]
    t[:] = 0.0
    for i in range(l):
        value = coefficient[i] * rhs[n + p + i] / w[i]
        if group[i] < 0:
            out[variable[i]] += value
        else:
            t[group[i]] += value
    base = n + p
    for r in range(t.size):
        out[base + r] = t[r] / theta[r]
    extra, column, single, entry, scales = cones
    rz, w_cone = rhs[n + p + l :], w[l:]
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        start, stop = ptr[k] - l, ptr[k + 1] - l
        tail = norm_tail(w_cone, start, stop)
        f[start:stop] = rz[start:stop]
        rotate(w_cone, start, stop, tail, f, start, np.int64(1))  # a literal 1 would be a second signature
        scale_rotated(eta[k], w_cone[start] + tail, f, start, stop)
        out[column[start] : column[start] + stop - start] = f[start:stop]
    reduce_expanded(l, ptr, w_cone, eta, extra, column, single, entry, scales, rz, f, out)


@inner_kernel
def scale_rotated(eta, rho, v, start, stop):
    """v := Lambda^(1/2) v, the eigenvalues of W: eta rho, eta / rho, eta, ..., eta."""
    v[start] *= eta * rho
    v[start + 1] *= eta / rho
    for i in range(start + 2, stop):
        v[i] *= eta


@kernel
def recover(
    n, p, l, ptr, rhs, w, eta, variable, group, coefficient, theta, t, heaviest, cones, f, reduced, work, out
):  # fmt: skip
    """out += (dx, dy, W dz) from the solution of the assembled system."""
    for i in range(n + p):
        out[i] += reduced[i]
    rz, dz = rhs[n + p :], out[n + p :]
    base = n + p
    for i in range(l):
        r = group[i]
        if r < 0:
            dz[i] += coefficient[i] * reduced[variable[i]] / w[i] - rz[i]
        elif heaviest[r] != i:
            # rho dx = (v + t) / theta; what the lighter rows take is moved from v to t
            step = coefficient[i] * (reduced[base + r] + t[r]) / theta[r] / w[i] - rz[i]
            dz[i] += step
            reduced[base + r] -= coefficient[i] * step / w[i]
            t[r] += coefficient[i] * step / w[i]
    for r in range(theta.size):
        i = heaviest[r]
        dz[i] += w[i] * reduced[base + r] / coefficient[i]
    extra, column, single, entry, scales = cones
    dz, w_cone = dz[l:], w[l:]
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        start, stop = ptr[k] - l, ptr[k + 1] - l
        tail = norm_tail(w_cone, start, stop)
        work[start:stop] = reduced[column[start] : column[start] + stop - start]
        scale_rotated(eta[k], w_cone[start] + tail, work, start, stop)
        rotate_back(w_cone, start, stop, tail, work, start, np.int64(1))
        for i in range(start, stop):
            dz[i] += work[i]
    recover_expanded(l, ptr, w_cone, eta, extra, column, single, entry, scales, f, reduced, work, dz)


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


@kernel
def begin_rows(rhs, out, residual, active, found):
    """found := (the norm of rhs, that of the residual that is left, the number of further solves) of each row."""
    for r in range(rhs.shape[0]):
        out[r] = 0.0
        residual[r] = rhs[r]
        active[r] = 1
        found[r, 0] = 0.0
        for i in range(rhs.shape[1]):
            found[r, 0] = max(found[r, 0], abs(rhs[r, i]))
        found[r, 1], found[r, 2] = np.inf, 0.0


@kernel
def reduce_rows(system, w, eta, reduction, state, count):
    """`reduce_rhs` of the residuals of the active rows."""
    n, p, l, ptr = system[0], system[1], system[2], system[3]
    variable, group, coefficient, theta, _, cones = reduction
    active, residual, t, f, reduced_rhs = state[0], state[1], state[2], state[3], state[4]
    for r in range(count):
        if active[r] != 0:
            reduce_rhs(
                n, p, l, ptr, residual[r], w, eta, variable, group, coefficient, theta, t[r], cones, f[r],
                reduced_rhs[r],
            )  # fmt: skip


@kernel
def correct_rows(system, w, eta, reduction, state, steps, rhs, out, Px, found):
    """out += the correction of each active row, its residual, and whether it stays active; returns how many do."""
    n, p, l, ptr, M_indptr, M_indices, M_data, P_indptr, P_indices, P_data = system
    variable, group, coefficient, theta, heaviest, cones = reduction
    active, residual, t, f, _, reduced, before, work, v, Mtv = state
    left = 0
    for r in range(rhs.shape[0]):
        if active[r] == 0:
            continue
        recover(
            n, p, l, ptr, residual[r], w, eta, variable, group, coefficient, theta, t[r], heaviest, cones, f[r],
            reduced[r], work, out[r],
        )  # fmt: skip
        what = GO_ON
        while True:
            multiply_symmetric(P_indptr, P_indices, P_data, out[r, :n], Px[r])
            norm = kkt_residual(
                n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, Px[r], out[r], rhs[r], v, Mtv, residual[r]
            )
            what = judge(what, norm, steps, out[r], before[r], found[r])
            if what != TAKE_BACK:
                break
        if what == GO_ON:
            left += 1
        else:
            active[r] = 0
    return left


@kernel
def refine_scalar(system, w, eta, reduction, state, steps, factors, solve_work, rhs, out, Px, found):
    """`solve_refined` up to GMRES in one call, for one or two right-hand sides, scalar factors and a sparse P."""
    perm, start, rows, values, d = factors
    work, active, reduced_rhs, reduced = solve_work[0], state[0], state[4], state[5]
    begin_rows(rhs, out, state[1], active, found)
    while True:
        reduce_rows(system, w, eta, reduction, state, rhs.shape[0])
        if rhs.shape[0] == 2 and active[0] != 0 and active[1] != 0:
            scalar_solve_two(perm, start, rows, values, d, reduced_rhs, reduced, work)
        else:
            for r in range(rhs.shape[0]):
                if active[r] != 0:
                    scalar_solve(perm, start, rows, values, d, reduced_rhs[r], reduced[r], work)
        if correct_rows(system, w, eta, reduction, state, steps, rhs, out, Px, found) == 0:
            break


@kernel
def refine_supernodal(system, w, eta, reduction, state, steps, factors, solve_work, rhs, out, Px, found):
    """`refine_scalar` for supernodal factors."""
    perm, first, row_start, rows, panel_start, panels, d = factors
    work, below, active, reduced_rhs, reduced = solve_work[0], solve_work[1], state[0], state[4], state[5]
    begin_rows(rhs, out, state[1], active, found)
    while True:
        reduce_rows(system, w, eta, reduction, state, rhs.shape[0])
        if rhs.shape[0] == 2 and active[0] != 0 and active[1] != 0:
            supernodal_solve_two(
                perm, first, row_start, rows, panel_start, panels, d, reduced_rhs, reduced, work, below
            )
        else:
            for r in range(rhs.shape[0]):
                if active[r] != 0:
                    supernodal_solve(
                        perm, first, row_start, rows, panel_start, panels, d, reduced_rhs[r], reduced[r], work, below
                    )
        if correct_rows(system, w, eta, reduction, state, steps, rhs, out, Px, found) == 0:
            break


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
            solves = (self.refinements - before) / np.atleast_2d(rhs).shape[0]
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
        return finish_with_gmres(
            residual_of, self.residual, self._add_solution, self._multiply, found, out, self.refinement_steps
        )

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


class SparseKKT(KKT):
    """Sparse LDL' of the matrix of `assembly`."""

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        super().__init__(form, regularization, refinement_steps)
        self.matrix = KKTMatrix(form)
        self.ldl = LDL(
            self.matrix.size, self.matrix.indptr, self.matrix.indices, self.matrix.signs, weak=self.matrix.weak
        )
        self._allow_correctors(self.ldl.flops, self.ldl.nnz)
        size, matrix, cones = form.n + form.p + form.m, self.matrix, self.matrix.cones
        self._cones = (cones.extra, cones.column, cones.variable, cones.entry, cones.scales)
        self.t, self.f = np.zeros((2, matrix.groups.count)), np.zeros((2, form.m - form.l))
        self.reduced_rhs, self.reduced = np.zeros((2, matrix.size)), np.zeros((2, matrix.size))
        self.work, self.found = np.zeros(form.m), np.zeros((2, 3))
        # for the rows of right-hand sides: which are active, residuals, `reduce_rhs`, `recover`, the solutions before
        self._state = (
            np.zeros(2, dtype=np.int64), np.zeros((2, size)), self.t, self.f, self.reduced_rhs, self.reduced,
            np.zeros((2, size)), self.work, self.v, self.Mtv,
        )  # fmt: skip
        self._bind()

    def _bind(self) -> None:
        """What the compiled refinement takes at each call; None when P is large and dense."""
        form, matrix, groups = self.form, self.matrix, self.matrix.groups
        P = form.P.entries_by_column()
        self._system: tuple[Any, ...] | None = None
        if P is not None:
            self._system = (form.n, form.p, form.l, form.ptr, form.M_indptr, form.M_indices, form.M_data, *P)
        self._reduction = (
            groups.variable, groups.group, matrix.coefficient, matrix.theta, matrix.heaviest, self._cones
        )  # fmt: skip
        self._refine = refine_scalar if self.ldl.method == "scalar" else refine_supernodal

    def analysis_seconds(self) -> tuple[float, float]:
        """What the ordering and the symbolic analysis took."""
        return self.ldl.ordering_time, self.ldl.symbolic_time

    @property
    def description(self) -> str:
        """The method, its order and its entries, in words."""
        matrix = self.matrix
        return (
            f"sparse LDL' ({self.ldl.method}), order {matrix.size}, {matrix.indices.size} entries, {self.ldl.nnz} in L"
        )

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        self.matrix.refresh()
        self._bind()

    def _solve_rows(self, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self._system is None:
            return super()._solve_rows(rhs, out)
        self._refine(
            self._system, self.w, self.eta, self._reduction, self._state,
            self.refinement_steps, self.ldl.factors, self.ldl.solve_work, rhs, out, self.Pu, self.found
        )  # fmt: skip
        return self.found

    def still_fits(self) -> bool:
        """Whether the merged rows are still parallel."""
        return self.matrix.groups.still_hold(self.matrix.rows, self.form.raw_M)

    def _factor(self, static: float) -> int:
        self.static = static
        self.matrix.fill(self.w, self.eta, static)
        return self.ldl.factor(self.matrix.data, PIVOT_EPS, PIVOT_DELTA)

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form, (variable, group, coefficient, theta, heaviest, cones) = self.form, self._reduction
        reduce_rhs(
            form.n, form.p, form.l, form.ptr, rhs, self.w, self.eta, variable, group, coefficient, theta, self.t[0],
            cones, self.f[0], self.reduced_rhs[0],
        )  # fmt: skip
        self.ldl.solve(self.reduced_rhs[0], self.reduced[0])
        recover(
            form.n, form.p, form.l, form.ptr, rhs, self.w, self.eta, variable, group, coefficient, theta, self.t[0],
            heaviest, cones, self.f[0], self.reduced[0], self.work, out,
        )  # fmt: skip
