"""The KKT system by sparse LDL' of the matrix of `assembly`: reduction of right-hand sides, recovery of solutions."""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner
from ..compiled.signatures import Floats
from ..compiled.structures import floats, structure
from ..form.row_groups import recover_orthant, reduce_orthant
from ..form.standard import StandardForm
from ..linalg.ldl.factorization import LDL
from ..linalg.ldl.factors import Factors, factor, solve
from ..problem.checks import NO_PLACES
from .assembly import KKTMatrix, fill_matrix, pattern_of, take_values
from .base import KKT
from .expansion import recover_cones, reduce_cones
from .policy import PIVOT_DELTA, PIVOT_EPS

KERNELS = {"scalar": "columns", "four-wide": "strips", "supernodal": "panels"}


class SparseKKT(KKT):
    """Sparse LDL' of the matrix of `assembly`.

    Attributes
    ----------
    matrix : KKTMatrix
    ldl : LDL
    factors : Factors
        The factors of `ldl`.
    """

    matrix, factors = structure(KKTMatrix), structure(Factors)
    t, f = floats("2 * groups"), floats("2 * (m - l)")  # t of `row_groups` and f of `expansion`, for two vectors
    reduced_rhs, reduced, work = floats("2 * order"), floats("2 * order"), floats("m - l")
    _pattern = NO_PLACES  # pattern of the KKT matrix, set by `keep_pattern`

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        matrix = KKTMatrix(form)
        super().__init__(
            form, regularization, refinement_steps, l=form.l, order=matrix.size, groups=matrix.groups.count
        )
        self.matrix = matrix
        self.ldl = LDL(
            matrix.indptr, matrix.indices, matrix.signs,
            zero_diagonal=matrix.zero_diagonal, static=matrix.static,
        )  # fmt: skip
        self.flops, self.factor_entries = self.ldl.flops, self.ldl.nnz
        self.factors = self.ldl.factors
        self._use(factor_sparse, apply_sparse)

    def analysis_seconds(self) -> tuple[float, float]:
        """Return the seconds of the ordering and of the symbolic analysis."""
        return self.ldl.ordering_time, self.ldl.symbolic_time

    @property
    def description(self) -> str:
        """The method, its order and its entries, in words."""
        ldl, order = self.ldl, self.matrix.size
        return f"sparse LDL' by {KERNELS[ldl.method]}, {ldl.ordering}, order {order}, {ldl.nnz:,} entries in L"

    def refresh(self) -> None:
        """Copy the current values of P and M from the standard form."""
        take_values(self.matrix, self.form.P.upper()[2])

    def try_refresh(self) -> bool:
        """Refresh for another program of equal sizes in the form; return False if the pattern of the matrix differs."""
        fits = np.array_equal(self._pattern, pattern_of(self.form))
        if fits:
            self.refresh()
        return fits

    def keep_pattern(self) -> None:
        """Store the pattern of the KKT matrix for `try_refresh`."""
        self._pattern = pattern_of(self.form)

    @property
    def words(self) -> int:
        """Size of this block plus the blocks of the matrix and of the factors, in words of 8 bytes."""
        return super().words + self.matrix.words + self.factors.words

    def still_fits(self) -> bool:
        """Return True if the merged rows are still parallel."""
        return self.form.groups_hold()


@inner
def factor_sparse(kkt: SparseKKT, delta: float) -> int:
    """Factor at the scaling of `kkt`; return the number of replaced pivots, or -1 on failure."""
    fill_matrix(kkt.matrix, kkt.w, kkt.eta, delta)
    kkt.factors.until = kkt.until
    return factor(kkt.factors, kkt.matrix.data, PIVOT_EPS, PIVOT_DELTA)


@inner
def apply_sparse(kkt: SparseKKT, count: int, rhs: Floats, out: Floats) -> None:
    """Add to `out` the solutions, without refinement, for one or two right-hand sides stored one after the other."""
    form, size, order, groups = kkt.form, kkt.product.size, kkt.matrix.size, kkt.matrix.groups.count
    first, cones = form.n + form.p + form.l, form.m - form.l
    w = kkt.w[form.l :]
    for r in range(count):
        b, reduced = rhs[r * size : (r + 1) * size], kkt.reduced_rhs[r * order : (r + 1) * order]
        reduce_orthant(form.groups, form.n + form.p, b, kkt.t[r * groups : (r + 1) * groups], reduced)
        if cones > 0:
            f = kkt.f[r * cones : (r + 1) * cones]
            reduce_cones(form, kkt.matrix.cones, w, kkt.eta, b[first:], f, reduced)
    solve(kkt.factors, count, kkt.reduced_rhs, kkt.reduced)
    for r in range(count):
        b, u = rhs[r * size : (r + 1) * size], out[r * size : (r + 1) * size]
        reduced = kkt.reduced[r * order : (r + 1) * order]
        recover_orthant(form.groups, form.n + form.p, b, kkt.t[r * groups : (r + 1) * groups], reduced, u)
        if cones > 0:
            f = kkt.f[r * cones : (r + 1) * cones]
            recover_cones(form, kkt.matrix.cones, w, kkt.eta, f, reduced, kkt.work, u[first:])
