"""The KKT system of a diagonal plus low-rank P by the Cholesky factor of a small Schur complement.

P = F F' + diag(d), every variable bounded or d > 0.  With f = -F'dx as further unknowns, D = d + the weights of the
bounds, B = [F'; A; the merged rows of the orthant and W^-1 G of the cones]:

    [ D  B' ] [dx]   [r]
    [ B  -E ] [v ] = [t],    E = (1, delta, 1),    (E + B D^-1 B') v = B D^-1 r - t,    dx = D^-1 (r - B'v).

A merged row (see `row_groups`) enters B as sqrt(theta) rho; its unknown is sqrt(theta) rho dx - t.
"""

from __future__ import annotations

import math

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, syrk
from ..compiled.kernels import inner
from ..compiled.memory import check_memory
from ..compiled.signatures import Floats
from ..compiled.structures import floats, integer, structure
from ..form.dense_rows import DenseRows, scale_rows
from ..form.row_groups import recover_orthant, reduce_orthant, weigh_rows
from ..form.standard import StandardForm
from ..linalg.cholesky import cholesky_until, solve_lower, solve_lower_transposed
from ..plan.choice import is_held
from ..problem.lowrank import LowRank
from .base import KKT


class LowRankKKT(KKT):
    """Cholesky of E + B D^-1 B', whose order is the rank of P plus the number of rows that are not bounds.

    Attributes
    ----------
    rows : DenseRows
    k : int
        The rank of P.
    B, BD : arrays, shape (order n,)
        B and B D^-1/2, by rows.
    D, S : arrays, shapes (n,), (order order,)
        diag(d) plus the weights of the bounds, and the Cholesky factor of E + B D^-1 B'.
    """

    rows = structure(DenseRows)
    k = integer()
    B, BD, S = floats("order * n"), floats("order * n"), floats("order * order")
    D, r, t = floats("n"), floats("n"), floats("2 * order")
    of_groups, reduced = floats("groups"), floats("n + p + groups")  # t and the reduced right-hand side of `row_groups`

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        n, k = form.n, form.P.low_rank_form()[0].shape[1]
        order = k + form.p + form.distinct
        words = n * (2 * order + form.p + 2 * form.distinct) + order**2
        check_memory(8.0 * words, f"the Schur complement of order {order} with its rows of {n} entries")
        rows = DenseRows(form)
        super().__init__(form, regularization, refinement_steps, order=order, groups=form.groups.count)
        self.rows, self.k, self.order, self.bounds = rows, k, order, form.bounds
        self.flops, self.factor_entries = order**2 * (n + order / 3.0), order * (n + 0.5 * order)
        self._use(factor_low_rank, apply_low_rank)
        self.refresh()

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        count = self.order - self.k
        rows = f"{count} row{'' if count == 1 else 's'}"
        return f"diagonal plus low rank, Cholesky of order {self.order} (rank {self.k} of P, {rows})"

    def refresh(self) -> None:
        """Copy the factors of P and the values of M from the standard form; let the form multiply by these factors."""
        form, n, p, k = self.form, self.form.n, self.form.p, self.k
        F, d = form.P.low_rank_form()
        form.bind_hessian(LowRank.of_checked(F, d))
        self.rows.spread(form)
        self.B[: k * n], self.B[k * n : (k + p) * n] = F.T.reshape(-1), self.rows.M[: p * n]

    def try_refresh(self) -> bool:
        """Refresh for another program of equal sizes in the form; return False if the rank or the rows differ."""
        fits = (self.rows.count, self.bounds) == (self.form.distinct, self.form.bounds) and self._suits()
        if fits:
            self.refresh()
        return fits

    def still_fits(self) -> bool:
        """Return True if P has the rank of set-up, every variable is held, and the merged rows are still parallel."""
        return self._suits() and self.form.groups_hold()

    def _suits(self) -> bool:
        """Return True if P has the rank that memory was allocated for, and every variable is bounded or has d > 0."""
        return self.form.P.rank == self.k and is_held(self.form)


@inner
def factor_low_rank(kkt: LowRankKKT, delta: float) -> int:
    """Compute S := the Cholesky factor of E + B D^-1 B'; return 0, or -1 on failure."""
    form, D, B, BD, S, r = kkt.form, kkt.D, kkt.B, kkt.BD, kkt.S, kkt.r
    n, p, k, rows = form.n, form.p, kkt.k, kkt.t.size // 2
    for j in range(n):
        D[j] = form.d[j] + delta
    weigh_rows(kkt.form.groups, kkt.w, D)
    scale_rows(form, kkt.rows, kkt.w, kkt.eta, B[(k + p) * n :])
    for j in range(n):
        r[j] = 1.0 / math.sqrt(D[j])
    for i in range(rows):
        at = i * n
        for j in range(n):
            BD[at + j] = B[at + j] * r[j]
    if rows > 0:  # BLAS refuses a leading dimension of 0.
        syrk(LOWER, TRANSPOSE, rows, n, 1.0, BD, 0, n, 0.0, S, 0, rows)
    for i in range(rows):
        S[i + i * rows] += delta if k <= i < k + p else 1.0
    return 0 if cholesky_until(rows, S, kkt.until) == 0 else -1


@inner
def apply_low_rank(kkt: LowRankKKT, count: int, rhs: Floats, out: Floats) -> None:
    """Add to `out` the solutions, without refinement, for `count` right-hand sides stored one after the other."""
    t, n, rows, size = kkt.t, kkt.form.n, kkt.t.size // 2, kkt.product.size
    for c in range(count):
        v = t[c * rows : (c + 1) * rows]
        condense(kkt, rhs[c * size :], v)
        for j in range(n):
            kkt.reduced[j] /= kkt.D[j]
        gemv(TRANSPOSE, n, rows, 1.0, kkt.B, 0, n, kkt.reduced, 0, -1.0, v, 0)
    solve_lower(rows, kkt.S, count, t)
    solve_lower_transposed(rows, kkt.S, count, t)
    for c in range(count):
        expand(kkt, rhs[c * size :], t[c * rows : (c + 1) * rows], out[c * size :])


@inner
def condense(kkt: LowRankKKT, rhs: Floats, t: Floats) -> None:
    """reduced[:n] := r, which is r1 plus the bounds' share of G'W^-1 r3, and t := (0, r2, the rest of r3)."""
    form, reduced, k, theta = kkt.form, kkt.reduced, kkt.k, kkt.form.groups.theta
    n, p, first = form.n, form.p, k + form.p
    cones = first + form.groups.count
    reduce_orthant(form.groups, n + p, rhs, kkt.of_groups, reduced)
    for i in range(cones):
        t[i] = reduced[n + i - k] if i >= k else 0.0
    for i in range(first, cones):
        t[i] *= math.sqrt(theta[i - first])
    for i in range(cones, t.size):
        t[i] = rhs[n + p + form.l + i - cones]


@inner
def expand(kkt: LowRankKKT, rhs: Floats, v: Floats, out: Floats) -> None:
    """out += (dx, dy, W dz) for dx = D^-1 (r - B'v)."""
    form, reduced, k, theta = kkt.form, kkt.reduced, kkt.k, kkt.form.groups.theta
    n, p, first = form.n, form.p, k + form.p
    cones = first + form.groups.count
    reduce_orthant(form.groups, n + p, rhs, kkt.of_groups, reduced)
    gemv(NO_TRANSPOSE, n, v.size, -1.0, kkt.B, 0, n, v, 0, 1.0, reduced, 0)
    for j in range(n):
        reduced[j] /= kkt.D[j]
    for i in range(k, cones):
        reduced[n + i - k] = v[i] * math.sqrt(theta[i - first]) if i >= first else v[i]
    recover_orthant(form.groups, n + p, rhs, kkt.of_groups, reduced, out)
    for i in range(cones, v.size):
        out[n + p + form.l + i - cones] += v[i]
