"""The KKT system by sparse LDL' of the matrix of `assembly`: the way to it and back, and refinement, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.jit import inner_kernel, kernel
from ..form.standard import StandardForm
from ..linalg.csc import multiply_symmetric
from ..linalg.ldl.factorization import LDL
from ..linalg.ldl.supernodal import supernodal_solve, supernodal_solve_two
from ..linalg.ldl.uplooking import scalar_solve, scalar_solve_two
from ..linalg.refinement import (
    BREAKDOWN,
    GO_ON,
    KRYLOV_STEPS,
    TAKE_BACK,
    add_images,
    begin_basis,
    extend_basis,
    judge,
)
from ..linalg.vectors import norm_tail
from .assembly import KKTMatrix, rotate, rotate_back
from .base import KKT, PIVOT_DELTA, PIVOT_EPS, kkt_residual
from .expansion import recover_expanded, reduce_expanded


@kernel
def reduce_rhs(n, p, l, ptr, rhs, w, eta, variable, group, coefficient, theta, t, cones, f, out):
    """The right-hand side for the assembled matrix; t as in `row_groups`, cones and f as in `expansion`."""
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


@kernel
def krylov_scalar(system, w, eta, reduction, state, factors, solve_work, krylov, residual, tol, out, Px):
    """`refinement.gmres` for scalar factors; krylov = (basis, images, small, product, zero)."""
    n, p, l, ptr, M_indptr, M_indices, M_data, P_indptr, P_indices, P_data = system
    variable, group, coefficient, theta, heaviest, cones = reduction
    t, f, reduced_rhs, reduced, work = state[2][0], state[3][0], state[4][0], state[5][0], state[7]
    perm, start, rows, values, d = factors
    basis, images, small, product, zero = krylov
    size, count = out.size, 0
    beta = begin_basis(residual, basis, small)
    for k in range(small.shape[0] - 1):
        vector, image = basis[k * size : (k + 1) * size], images[k * size : (k + 1) * size]
        image[:] = 0.0
        reduce_rhs(n, p, l, ptr, vector, w, eta, variable, group, coefficient, theta, t, cones, f, reduced_rhs)
        scalar_solve(perm, start, rows, values, d, reduced_rhs, reduced, solve_work[0])
        recover(
            n, p, l, ptr, vector, w, eta, variable, group, coefficient, theta, t, heaviest, cones, f, reduced, work,
            image,
        )  # fmt: skip
        multiply_symmetric(P_indptr, P_indices, P_data, image[:n], Px)
        kkt_residual(
            n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, Px, image, zero, state[8], state[9], product
        )  # fmt: skip
        product *= -1.0
        left = extend_basis(k, product, basis, small)
        if left < 0.0:
            break
        count = k + 1
        if left <= tol or small[count, k] <= BREAKDOWN * beta:
            break
    add_images(count, images, small, out)
    return count


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
        # for GMRES, see `refinement.begin_basis`; memory that is not touched before it is needed
        self._room_of_krylov = (
            np.empty((KRYLOV_STEPS + 1) * size), np.empty(KRYLOV_STEPS * size),
            np.zeros((KRYLOV_STEPS + 1, KRYLOV_STEPS + 3)), np.empty(size), self.zero,
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

    def _krylov(self, out: np.ndarray, tol: float) -> int:
        if self._system is None or self.ldl.method != "scalar":
            return super()._krylov(out, tol)
        return krylov_scalar(  # type: ignore[no-any-return]
            self._system, self.w, self.eta, self._reduction, self._state, self.ldl.factors, self.ldl.solve_work,
            self._room_of_krylov, self.residual, tol, out, self.Px
        )  # fmt: skip

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
