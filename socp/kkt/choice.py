"""Which way to solve the KKT systems: by the count of the work."""

from __future__ import annotations

import numpy as np

from ..form.hessian import LOW_RANK_SHARE, DenseHessian, LowRankHessian, SparseHessian
from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.settings import Settings
from .base import BANDWIDTH, FLOPS, KKT
from .dense import DenseKKT
from .lowrank import LowRankKKT
from .sparse import SparseKKT

SMALL, SMALL_DENSE = 170, 260  # variables and equalities up to which a program may be small; when P is dense
SMALL_WORK = 1.5e6  # multiplications of a factorization up to which it is, those in products by BLAS
SMALL_SPARSE = 3e4  # the same where the data are sparse: sparse LDL' then has less to do, but for its analysis
PRODUCT = 0.3  # counted at their share of the time
MIN_LOW_RANK = 150  # below this order a search for low rank does not pay
DENSE_SHARE = 0.3  # data with a larger share of nonzeros are worked on as dense
MIN_DENSE = 40  # variables below which sparse LDL' is quicker than dense Cholesky, unless all is small
MANY_ROWS = 2  # times as many dense rows as variables leave sparse LDL' nothing to save, beside a sparse P
MAX_DENSE = 3000  # variables of a sparse program that may be worked on as dense
MAX_ENTRIES = 3e8  # entries of dense arrays (2.4 GB) that are never exceeded by choice


def choose(form: StandardForm, settings: Settings, robust: bool = False) -> KKT:
    """The KKT solver that `settings.kkt` names, or for "auto" the one with the least work.

    With `robust` it is sparse LDL', with pivots of either sign, after dense Cholesky has failed.
    """
    arguments = (form, settings.regularization, settings.refinement_steps)
    if form.n == 0 or robust:  # BLAS refuses empty arrays
        return SparseKKT(*arguments, settings.threads)
    if settings.kkt == "auto" and is_small(form):
        return DenseKKT(*arguments)
    if settings.kkt in ("auto", "lowrank"):
        factors = _low_rank(form, forced=settings.kkt == "lowrank")
        if factors is not None:
            return LowRankKKT(*arguments, *factors)
    if settings.kkt == "dense":
        return DenseKKT(*arguments)
    if settings.kkt == "ldl" or not _dense_pays(form):
        return SparseKKT(*arguments, settings.threads)
    rows, _ = _counts(form)
    if isinstance(form.P, SparseHessian) and rows < MANY_ROWS * form.n:
        # dense rows may be kept behind all else, which the analysis shows; it costs less than a factorization
        sparse = SparseKKT(*arguments, settings.threads)
        if sparse.ldl.time < _dense_time(form.n, rows):
            return sparse
    return DenseKKT(*arguments)


def is_small(form: StandardForm) -> bool:
    """Whether dense Cholesky costs next to nothing."""
    size, dense_P = form.n + form.p, isinstance(form.P, DenseHessian)
    if size > (SMALL_DENSE if dense_P else SMALL):
        return False
    work = PRODUCT * size**3 / 6 + form.entries * form.n / 2
    dense = dense_P or form.entries > DENSE_SHARE * (form.p + form.m) * form.n
    return work <= (SMALL_WORK if dense else SMALL_SPARSE)


def _dense_time(n: int, rows: int) -> float:
    """What a Cholesky factorization of order n with so many dense rows, and three solves, take, in nanoseconds."""
    return 1e9 * ((n**3 / 3 + rows * n**2) / FLOPS + 3 * 8 * (n + 2 * rows) * n / BANDWIDTH)


def _counts(form: StandardForm) -> tuple[int, int]:
    """(rows of M but the bounds, their entries)."""
    bounds = form.bounds
    return form.p + form.m - bounds, form.entries - bounds


def _low_rank(form: StandardForm, forced: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """(F, d) with P = F F' + diag(d), when P is that, D will be positive and the Schur complement is small.

    Where it is forced, whatever the rank; what it cannot do is refused.
    """
    P, n = form.P, form.n
    if isinstance(P, SparseHessian):
        if forced:
            raise ProgramError('kkt="lowrank" needs a dense or LowRank P')
        return None
    if isinstance(P, LowRankHessian):
        F, d = P.F, P.d
    else:
        if not forced and (P.low_rank is None or n < MIN_LOW_RANK):
            return None
        F, d = P.factor(), np.zeros(n)
    rows, _ = _counts(form)
    if not forced and F.shape[1] > int(LOW_RANK_SHARE * n) - rows:
        return None
    positive, variable = d > 0.0, form.groups.variable
    positive[variable[variable >= 0]] = True  # that have a bound
    if not positive.all():
        if forced:
            raise ProgramError(
                'kkt="lowrank" needs every variable to have a bound or a positive entry in the diagonal of P'
            )
        return None
    return F, d


def _dense_pays(form: StandardForm) -> bool:
    """Whether the data are dense enough, and of an order, for dense Cholesky."""
    n, p = form.n, form.p
    if n < MIN_DENSE:
        return False
    if isinstance(form.P, SparseHessian) and 0 < form.M_data.size <= DENSE_SHARE * p * n:
        return False  # too few for the equalities alone
    rows, entries = _counts(form)
    if n * (n + rows) > MAX_ENTRIES:
        return False
    if isinstance(form.P, DenseHessian) or isinstance(form.P, LowRankHessian):
        return rows <= 4 * n or entries > DENSE_SHARE * rows * n
    return n <= MAX_DENSE and rows > 0 and p <= n and entries > DENSE_SHARE * rows * n
