"""The KKT system by dense Cholesky, where the data are dense, few variables carry many rows, or all is small.

Eliminating W dz = W^-1 G dx - r3 from the system of `base` leaves

    [ H  A' ] [dx]   [r1 + G'W^-1 r3 + rho A'r2]
    [ A  0  ] [dy] = [r2                       ],      H = P + G'W^-2 G + rho A'A,

solved by H = LL' and the Cholesky factor of the Schur complement A H^-1 A' = Y'Y, Y = L^-1 A'.  Bounds enter
H on its diagonal only; the other rows of G as the product of W^-1 G with its transpose (no W^-2 is formed, whose
small eigenvalues would be lost).  rho A'A changes no solution; where not every variable has a bound it makes up
for what P + G'W^-2 G does not see.

Towards the end the bounds' weights Theta of most variables are so large that P matters little beside them: a support
vector machine's dual has few free variables.  Of these weakly coupled variables B only the diagonal D of H is kept,

    H = [ H_BB  P_BF ]   ~   [ D^1/2          0    ] [ D^1/2  D^-1/2 P_BF ]
        [ P_FB  H_FF ]       [ P_FB D^-1/2  L_FF ] [ 0      L_FF'       ],

a Cholesky factor of order |F| in place of n.  With e = || D^-1/2 (H_BB - D) D^-1/2 || <= sum of P_jj / D_jj over B,
each step of refinement leaves about e of the error; B is taken so large that this sum stays below `WEAK`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, syrk
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats
from ..compiled.structures import floats, integer, integers, number, part
from ..cones.scaling import apply_inverse
from ..form.row_groups import weigh_rows
from ..form.standard import StandardForm
from ..linalg.cholesky import cholesky, solve_lower, solve_lower_many, solve_lower_transposed
from ..linalg.dense import gram, multiply_tall
from .base import KKT
from .dense_rows import DenseRows, scale_rows, spread_hessian, spread_rows

MIN_SPLIT, SPLIT_SHARE = 400, 0.3  # the order, and the share of weakly coupled variables, from which a split pays
WEAK = 0.02  # the sum of P_jj / D_jj over the weakly coupled variables
SINGULAR, RAISED = (
    1e-14,
    1e-13,
)  # pivots beside the diagonal of H, and the share that it is raised by where one is smaller
SCHUR = 100.0  # Regularize the Schur complement this much more: it is singular where equalities are redundant.
BISECTIONS, PRECISION = 60, 1e-3


class DenseKKT(KKT):
    """Dense Cholesky of H = P + G'W^-2 G + rho A'A.

    Attributes
    ----------
    rows : DenseRows
    P, H : arrays, shape (n n,)
        P, and H or its factor; after a split (P_FB D^-1/2, L_FF), each by columns.
    Y, S : arrays, shapes (n p,), (p p,)
    rho, rho_used : float
        rho is meant for an H of size one, rho_used is the one that is used.
    order, weak, roots : array of int64, int, array
        The variables order[:weak] are the weakly coupled ones, with D^1/2 in `roots`.
    """

    _owns_P = False

    rows = part(DenseRows)
    P, H = floats(), floats()
    Y, S, diagonal = floats("n * p"), floats("p * p"), floats("n")
    rho, rho_used = number(), number()
    order, weak, roots, shares = integers("n"), integer(), floats("n"), floats("n")
    t, dy, work = floats("2 * n"), floats("2 * p"), floats("n + p + m")

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        n, count = form.n, form.distinct
        super().__init__(form, regularization, refinement_steps, count=count, H=form.P.take_room())
        self.count = count
        self.flops, self.factor_entries = n**3 / 3.0 + n**2 * count, 0.5 * n**2
        self._use(factor_dense, apply_dense)
        self._read()

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        p = f", Schur complement of {self.form.p} equalities" if self.form.p else ""
        return f"dense Cholesky, order {self.form.n}, {self.count} dense row{'' if self.count == 1 else 's'}{p}"

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        self._read()

    def still_fits(self) -> bool:
        """Whether the merged rows are still parallel."""
        return self.form.groups_hold()

    def _read(self) -> None:
        form = self.form
        if not form.P.is_sparse:
            self.P = form.P.dense().reshape(-1)
        elif not self._owns_P:
            self.P = np.empty(form.n**2)
        self._owns_P = form.P.is_sparse
        read_rows(self)


@kernel
def read_rows(kkt: DenseKKT) -> None:
    """Take a sparse P and the rows from the form; rho, where not every variable has a bound, by the largest
    entry of P.
    """
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
    """Factor at the scaling of kkt, without the weakly coupled variables if these are many; 0, or -1 on failure.

    Only where G has no rows but bounds, of which the weights are a diagonal, those of the merged rows in their groups.
    """
    diagonal = kkt.diagonal
    for j in range(diagonal.size):
        diagonal[j] = 0.0
    weigh_rows(kkt.form.groups, kkt.w, diagonal)
    kkt.weak = 0
    if diagonal.size >= MIN_SPLIT and kkt.rows.count == 0 and not (kkt.rho > 0.0 or kkt.full):
        choose_split(kkt)
    kkt.dropped_coupling = kkt.weak > 0
    info = factor_split(kkt, delta) if kkt.weak > 0 else factor_whole(kkt, delta)
    return 0 if info == 0 else -1


@inner
def factor_whole(kkt: DenseKKT, delta: float) -> int:
    """H := L, Y := L^-1 A', S := the factor of Y'Y; 0, or not when it fails.

    A singular H, of which rounding leaves pivots of any size, would let x grow along its null space by a factor in each
    iteration: it is factorized again with each entry of its diagonal a little larger.
    """
    n, p, H, A, Y = kkt.form.n, kkt.form.p, kkt.H, kkt.rows.A, kkt.Y
    form_hessian(kkt, delta)
    info, least = cholesky(n, H), 1.0
    for j in range(n):  # a pivot beside the entry of the diagonal that it is left of
        least = min(least, H[j + j * n] * H[j + j * n] / kkt.work[j])
    if info != 0 or not least > SINGULAR:
        form_hessian(kkt, delta)
        for j in range(n):
            H[j + j * n] *= 1.0 + RAISED
        info = cholesky(n, H)
    if info != 0 or p == 0:
        return info
    for i in range(n * p):
        Y[i] = A[i]
    solve_lower_many(n, H, p, Y)
    return factor_schur(n, p, Y, delta, kkt.S)


@inner
def form_hessian(kkt: DenseKKT, delta: float) -> None:
    """H, and a copy of its diagonal in `work`.

    The diagonal is raised by a share of its largest entry, but by no more than the same share of one: W may make all of
    it small, or some of it large.  So with rho.
    """
    form, rows = kkt.form, kkt.rows
    n, p, P, H, A, diagonal, order, work = form.n, form.p, kkt.P, kkt.H, rows.A, kkt.diagonal, kkt.order, kkt.work
    for j in range(n):
        order[j] = j
        for i in range(j * n + j, (j + 1) * n):
            H[i] = P[i]
        H[j + j * n] += diagonal[j]
    if rows.count > 0:
        scale_rows(form, rows, kkt.w, kkt.eta, rows.scaled)
        syrk(LOWER, NO_TRANSPOSE, n, rows.count, 1.0, rows.scaled, 0, n, 1.0, H, 0, n)
    size = min(largest_on_diagonal(n, H), 1.0)
    kkt.rho_used = kkt.rho * size
    if kkt.rho_used > 0.0:
        syrk(LOWER, NO_TRANSPOSE, n, p, kkt.rho_used, A, 0, n, 1.0, H, 0, n)
    raise_diagonal(n, H, delta * size)
    for j in range(n):
        work[j] = H[j + j * n]


@inner
def factor_split(kkt: DenseKKT, delta: float) -> int:
    """`factor_whole` when of the variables order[:weak] only the diagonal of H is kept, and G has no rows but bounds.

    H := (P_FB D^-1/2, L_FF), each by columns; Y is in the order of `order`.
    """
    n, p, weak, P, H, A, Y = kkt.form.n, kkt.form.p, kkt.weak, kkt.P, kkt.H, kkt.rows.A, kkt.Y
    order, roots, diagonal = kkt.order, kkt.roots, kkt.diagonal
    free, at = n - weak, 0
    for j in range(weak):
        column = order[j] * n
        roots[j] = math.sqrt(P[column + order[j]] + diagonal[order[j]] + delta)
        for i in range(weak, n):
            H[at] = P[column + order[i]] / roots[j]
            at += 1
    L = H[at:]
    for j in range(free):
        column = order[weak + j] * n
        for i in range(j, free):
            L[i + j * free] = P[column + order[weak + i]]
        L[j + j * free] += diagonal[order[weak + j]] + delta
    info = cholesky(free, L)
    if info != 0 or p == 0:
        return info
    for k in range(p):
        for i in range(n):
            Y[k * n + i] = A[k * n + order[i]]
    solve_factor(NO_TRANSPOSE, kkt, p, Y)
    return factor_schur(n, p, Y, delta, kkt.S)


@inner
def choose_split(kkt: DenseKKT) -> None:
    """Choose the weakly coupled variables, those below the largest limit, and put them first in `order`."""
    n, P, diagonal, shares, order = kkt.form.n, kkt.P, kkt.diagonal, kkt.shares, kkt.order
    for j in range(n):
        shares[j] = P[j * n + j] / (P[j * n + j] + diagonal[j])
    most, limit, high, count = WEAK * kkt.split_tolerance, 0.0, 1.0, 0
    for _ in range(BISECTIONS):
        middle, total, below = 0.5 * (limit + high), 0.0, 0
        for j in range(n):
            if shares[j] <= middle:
                total += shares[j]
                below += 1
        if total <= most and below < n:
            limit, count = middle, below
        else:
            high = middle
        if high - limit <= PRECISION * limit:
            break
    if count < SPLIT_SHARE * n:
        return
    weak, strong = 0, count
    for j in range(n):
        if shares[j] <= limit:
            order[weak] = j
            weak += 1
        else:
            order[strong] = j
            strong += 1
    kkt.weak = weak


@inner
def factor_schur(n: int, p: int, Y: Floats, delta: float, S: Floats) -> int:
    """S := the factor of Y'Y."""
    gram(n, p, Y, S)
    raise_diagonal(p, S, SCHUR * delta * min(largest_on_diagonal(p, S), 1.0))
    return cholesky(p, S)


@inner
def solve_factor(trans: int, kkt: DenseKKT, count: int, X: Floats) -> None:
    """x := L^-1 x, or L'^-1 x for TRANSPOSE, for `count` vectors one after the other."""
    n, weak, roots, H = kkt.form.n, kkt.weak, kkt.roots, kkt.H
    if weak == 0:
        if trans == TRANSPOSE:
            solve_lower_transposed(n, H, count, X)
        else:
            solve_lower(n, H, count, X)
        return
    free = n - weak
    L = H[free * weak :]
    for r in range(count):
        x = X[r * n : (r + 1) * n]
        if trans == TRANSPOSE:
            solve_lower_transposed(free, L, 1, x[weak:])
            gemv(TRANSPOSE, free, weak, -1.0, H, 0, free, x, weak, 1.0, x, 0)
        for j in range(weak):
            x[j] /= roots[j]
        if trans == NO_TRANSPOSE:
            gemv(NO_TRANSPOSE, free, weak, -1.0, H, 0, free, x, 0, 1.0, x, weak)
            solve_lower(free, L, 1, x[weak:])


@inner
def largest_on_diagonal(n: int, H: Floats) -> float:
    """max H_ii, 1 when there is no positive one."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, H[i + i * n])
    return largest if largest > 0.0 else 1.0


@inner
def raise_diagonal(n: int, H: Floats, shift: float) -> None:
    """H := H + shift I."""
    for i in range(n):
        H[i + i * n] += shift


@inner
def apply_dense(kkt: DenseKKT, count: int, rhs: Floats, out: Floats) -> None:
    """out += the solution, not refined, for `count` right-hand sides one after the other."""
    n, p, Y, S, t, dy = kkt.form.n, kkt.form.p, kkt.Y, kkt.S, kkt.t, kkt.dy
    size = kkt.work.size
    for r in range(count):
        condense(kkt, rhs[r * size : (r + 1) * size], t[r * n : (r + 1) * n])
    solve_factor(NO_TRANSPOSE, kkt, count, t)
    if p > 0:  # S dy = Y't - r2, t := t - Y dy
        for r in range(count):
            for i in range(p):
                dy[r * p + i] = rhs[r * size + n + i]
            multiply_tall(TRANSPOSE, n, p, 1.0, Y, t, r * n, -1.0, dy, r * p)
        solve_lower(p, S, count, dy)
        solve_lower_transposed(p, S, count, dy)
        for r in range(count):
            multiply_tall(NO_TRANSPOSE, n, p, -1.0, Y, dy, r * p, 1.0, t, r * n)
    solve_factor(TRANSPOSE, kkt, count, t)
    for r in range(count):
        expand(kkt, rhs[r * size : (r + 1) * size], t[r * n : (r + 1) * n], dy[r * p : (r + 1) * p],
               out[r * size : (r + 1) * size])  # fmt: skip


@inner
def condense(kkt: DenseKKT, rhs: Floats, t: Floats) -> None:
    """t := r1 + G'W^-1 r3 + rho A'r2, in the order of the factor."""
    form, order, v = kkt.form, kkt.order, kkt.v
    n, p, indptr, indices, data = form.n, form.p, form.M_indptr, form.M_indices, form.M_data
    for i in range(p):
        v[i] = kkt.rho_used * rhs[n + i] if kkt.weak == 0 else 0.0
    apply_inverse(form.l, form.ptr, kkt.w, kkt.eta, rhs, n + p, v, p)
    for j in range(n):
        column, total = order[j], 0.0
        for k in range(indptr[column], indptr[column + 1]):
            total += data[k] * v[indices[k]]
        t[j] = rhs[column] + total


@inner
def expand(kkt: DenseKKT, rhs: Floats, t: Floats, dy: Floats, out: Floats) -> None:
    """out += (dx, dy, W^-1 G dx - r3) for dx = t in the order of the factor."""
    form, order, product = kkt.form, kkt.order, kkt.v
    n, p, indptr, indices, data = form.n, form.p, form.M_indptr, form.M_indices, form.M_data
    for i in range(product.size):
        product[i] = 0.0
    for j in range(n):
        column, dx = order[j], t[j]
        out[column] += dx
        for k in range(indptr[column], indptr[column + 1]):
            product[indices[k]] += data[k] * dx
    apply_inverse(form.l, form.ptr, kkt.w, kkt.eta, product, p, product, p)
    for i in range(p):
        out[n + i] += dy[i]
    at = n
    for i in range(p, product.size):
        out[at + i] += product[i] - rhs[at + i]
