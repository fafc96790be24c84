"""The KKT system by dense Cholesky, where the data are dense, few variables carry many rows, or all is small.

Eliminating W dz = W^-1 G dx - r3 from the system of `base` leaves

    [ H  A' ] [dx]   [r1 + G'W^-1 r3 + rho A'r2]
    [ A  0  ] [dy] = [r2                       ],      H = P + G'W^-2 G + rho A'A,

solved by H = LL' and the Cholesky factor of the Schur complement A H^-1 A' = Y'Y, Y = L^-1 A'.  Bounds enter
H on its diagonal only; the other rows of G as the product of W^-1 G with its transpose (W^-2 is not formed, as its
small eigenvalues would be lost).  rho A'A changes no solution; where not every variable has a bound it adds the
curvature that P + G'W^-2 G lacks.
"""

from __future__ import annotations

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, syrk
from ..compiled.kernels import inner, kernel
from ..compiled.memory import check_memory
from ..compiled.signatures import Floats
from ..compiled.structures import floats, number, part
from ..cones.scaling import apply_inverse
from ..form.dense_rows import DenseRows, multiply_M, multiply_M_transposed, scale_rows, spread_hessian, spread_rows
from ..form.row_groups import weigh_rows
from ..form.standard import StandardForm
from ..linalg.cholesky import cholesky_until, solve_lower, solve_lower_transposed
from ..linalg.dense import gram, multiply_tall
from ..plan.choice import is_small
from .base import KKT
from .policy import PIVOT_EPS

SCHUR = 100.0  # The Schur complement is regularized by SCHUR delta: it is singular if equalities are redundant.


class DenseKKT(KKT):
    """Dense Cholesky of H = P + G'W^-2 G + rho A'A.

    Attributes
    ----------
    rows : DenseRows
    P, H : arrays, shape (n n,)
        P, and H or its Cholesky factor.
    Y, S : arrays, shapes (n p,), (p p,)
        L^-1 A' for the factor L of H, and the Cholesky factor of Y'Y.
    rho, rho_used : float
        Weight of A'A for an H with entries of size one, and the weight in the last factorization.
    """

    _owns_P = False

    rows = part(DenseRows)
    P, H = floats(), floats()
    Y, S, diagonal = floats("n * p"), floats("p * p"), floats("n")
    rho, rho_used = number(), number()
    t, dy, work = floats("2 * n"), floats("2 * p"), floats("n + p + m")

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        n, count = form.n, form.distinct
        words = n * n * (2 if form.P.is_sparse else 1) + 2 * n * (count + form.p) + form.p**2
        check_memory(8.0 * words, f"the dense KKT matrix of order {n}, with {count + form.p} rows,")
        super().__init__(form, regularization, refinement_steps, count=count, H=form.P.take_workspace())
        self.count = count
        self.flops, self.factor_entries = n**3 / 3.0 + n**2 * count, 0.5 * n**2
        self._use(factor_dense, apply_dense)
        self.refresh()

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        p = f", Schur complement of {self.form.p} equalities" if self.form.p else ""
        return f"dense Cholesky, order {self.form.n}, {self.count} dense row{'' if self.count == 1 else 's'}{p}"

    def try_refresh(self) -> bool:
        """Refresh for another program of equal sizes in the form; return False if dense Cholesky no longer suits it."""
        form = self.form
        fits = self.count == form.distinct and (form.P.rank is None or is_small(form))
        if fits:
            self.refresh()
        return fits

    def still_fits(self) -> bool:
        """Return True if the merged rows are still parallel."""
        return self.form.groups_hold()

    def refresh(self) -> None:
        """Copy the current values of P and M from the standard form."""
        form = self.form
        if not form.P.is_sparse:
            self.P = form.P.dense().reshape(-1)
        elif not self._owns_P:
            self.P = np.empty(form.n**2)
        self._owns_P, form.spread_M = form.P.is_sparse, self.rows.M
        read_rows(self)


@kernel
def read_rows(kkt: DenseKKT) -> None:
    """Copy a sparse P and the rows from the form; set rho by the entries of P and A, 0 if all variables are bounded."""
    rows, n = kkt.rows, kkt.form.n
    spread_hessian(kkt.form, kkt.P)
    spread_rows(kkt.form, rows)
    kkt.rho = 0.0
    if kkt.form.p > 0 and not rows.bounded:
        largest = 1.0
        for j in range(n):
            largest = max(largest, kkt.P[j * n + j])
        kkt.rho = largest / max(1.0, rows.largest) ** 2


@inner
def factor_dense(kkt: DenseKKT, delta: float) -> int:
    """Factor at the scaling of `kkt`: H := L, Y := L^-1 A', S := the factor of Y'Y; return 0, or -1 on failure.

    A singular H has pivots of any size by rounding, and x would grow along its null space in each iteration: H is
    refactored with each diagonal entry a little larger.
    """
    n, p, H, A, Y = kkt.form.n, kkt.form.p, kkt.H, kkt.rows.M, kkt.Y
    form_hessian(kkt, delta)
    info, least = cholesky_until(n, H, kkt.until), 1.0
    for j in range(n):  # least pivot relative to its diagonal entry of H
        least = min(least, H[j + j * n] * H[j + j * n] / kkt.work[j])
    if info >= 0 and not (info == 0 and least > PIVOT_EPS):
        form_hessian(kkt, delta)
        for j in range(n):
            H[j + j * n] *= 1.0 + PIVOT_EPS
        info = cholesky_until(n, H, kkt.until)
    if info == 0 and p > 0:
        for i in range(n * p):
            Y[i] = A[i]
        solve_lower(n, H, p, Y)
        gram(n, p, Y, kkt.S)
        raise_diagonal(p, kkt.S, SCHUR * delta)
        info = cholesky_until(p, kkt.S, kkt.until)
    return 0 if info == 0 else -1


@inner
def form_hessian(kkt: DenseKKT, delta: float) -> None:
    """Compute H, and a copy of its diagonal in `work`.

    The diagonal is raised by delta times its largest entry or times 1, whichever is less, as W may make all of it small
    or some of it large.  rho is scaled likewise.
    """
    form, rows = kkt.form, kkt.rows
    n, p, P, H, A, diagonal, work = form.n, form.p, kkt.P, kkt.H, rows.M, kkt.diagonal, kkt.work
    for j in range(n):
        diagonal[j] = 0.0
    weigh_rows(form.groups, kkt.w, diagonal)
    for j in range(n):
        for i in range(j * n + j, (j + 1) * n):
            H[i] = P[i]
        H[j + j * n] += diagonal[j]
    if rows.count > 0:
        scale_rows(form, rows, kkt.w, kkt.eta, rows.scaled)
        syrk(LOWER, NO_TRANSPOSE, n, rows.count, 1.0, rows.scaled, 0, n, 1.0, H, 0, n)
    kkt.rho_used = kkt.rho * raise_diagonal(n, H, delta)
    if kkt.rho_used > 0.0:
        syrk(LOWER, NO_TRANSPOSE, n, p, kkt.rho_used, A, 0, n, 1.0, H, 0, n)
    for j in range(n):
        work[j] = H[j + j * n]


@inner
def raise_diagonal(n: int, H: Floats, share: float) -> float:
    """H := H + share size I, where size = min(max H_ii, 1), or 1 if no H_ii is positive; return size."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, H[i + i * n])
    size = min(largest, 1.0) if largest > 0.0 else 1.0
    for i in range(n):
        H[i + i * n] += share * size
    return size


@inner
def apply_dense(kkt: DenseKKT, count: int, rhs: Floats, out: Floats) -> None:
    """Add to `out` the solutions, without refinement, for `count` right-hand sides stored one after the other."""
    n, p, Y, S, t, dy = kkt.form.n, kkt.form.p, kkt.Y, kkt.S, kkt.t, kkt.dy
    size = kkt.work.size
    for r in range(count):
        condense(kkt, rhs[r * size : (r + 1) * size], t[r * n : (r + 1) * n])
    solve_lower(n, kkt.H, count, t)
    if p > 0:  # S dy = Y't - r2, t := t - Y dy
        for r in range(count):
            for i in range(p):
                dy[r * p + i] = rhs[r * size + n + i]
            multiply_tall(TRANSPOSE, n, p, 1.0, Y, t[r * n : (r + 1) * n], -1.0, dy[r * p : (r + 1) * p])
        solve_lower(p, S, count, dy)
        solve_lower_transposed(p, S, count, dy)
        for r in range(count):
            multiply_tall(NO_TRANSPOSE, n, p, -1.0, Y, dy[r * p : (r + 1) * p], 1.0, t[r * n : (r + 1) * n])
    solve_lower_transposed(n, kkt.H, count, t)
    for r in range(count):
        expand(kkt, rhs[r * size : (r + 1) * size], t[r * n : (r + 1) * n], dy[r * p : (r + 1) * p],
               out[r * size : (r + 1) * size])  # fmt: skip


@inner
def condense(kkt: DenseKKT, rhs: Floats, t: Floats) -> None:
    """t := r1 + G'W^-1 r3 + rho A'r2."""
    form, v, n, p = kkt.form, kkt.v, kkt.form.n, kkt.form.p
    for i in range(p):
        v[i] = kkt.rho_used * rhs[n + i]
    apply_inverse(form.l, form.ptr, kkt.w, kkt.eta, rhs, n + p, v, p)
    multiply_M_transposed(form, v, t)
    for j in range(n):
        t[j] += rhs[j]


@inner
def expand(kkt: DenseKKT, rhs: Floats, t: Floats, dy: Floats, out: Floats) -> None:
    """out += (dx, dy, W^-1 G dx - r3) for dx = t."""
    form, product, n, p = kkt.form, kkt.v, kkt.form.n, kkt.form.p
    multiply_M(form, t, product)
    apply_inverse(form.l, form.ptr, kkt.w, kkt.eta, product, p, product, p)
    for j in range(n):
        out[j] += t[j]
    for i in range(p):
        out[n + i] += dy[i]
    at = n
    for i in range(p, product.size):
        out[at + i] += product[i] - rhs[at + i]
