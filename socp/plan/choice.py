"""The plan for a program: which method, and which way to solve its KKT systems, by counts of the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.hessian import LOW_RANK_SHARE
from ..problem.settings import Settings
from .costs import dense_seconds, small_work
from .plan import Backend, Plan

SMALL, SMALL_DENSE = 170, 260  # variables and equalities up to which a program may be small; when P is dense
SMALL_WORK = 1.5e6  # multiplications of a factorization up to which it is, those in products by BLAS
SMALL_SPARSE = 3e4  # the same where the data are sparse: sparse LDL' then has less to do, but for its analysis
DENSE_SHARE = 0.3  # data with a larger share of nonzeros are worked on as dense
MIN_DENSE = 40  # variables below which sparse LDL' is quicker than dense Cholesky, unless all is small
MANY_ROWS = 2  # times as many dense rows as variables leave sparse LDL' nothing to save, beside a sparse P
MAX_DENSE = 3000  # variables of a sparse program that may be worked on as dense
MAX_ENTRIES = 3e8  # entries of dense arrays (2.4 GB) that are never exceeded by choice
LANE = 30  # variables, and twice as many rows, of a program with a dense P that is solved in a lane
MIN_ACTIVE_SET = 80  # variables from which on the active set pays
LONG_TIME = 1.0  # the active set looks at its time between rounds only: no limit below so many seconds
NO_LIMITS = Settings.max_iter, Settings.time_limit, Settings.equilibrate, Settings.refinement_steps
NAMES: dict[str, Backend] = {"ldl": "sparse", "dense": "dense", "lowrank": "low rank"}


def choose_method(program: Any, settings: Settings) -> str:
    """The `Plan.method` for a program with two-sided rows and bounds.

    The active set for a dense P, most variables with bounds and at most one row with sides: an interior-point method
    factors all of P in each iteration, whereas the active set reads the rows of what moves, which is worth it from
    `MIN_ACTIVE_SET` on.  The working set where rows of P are enough.  A lane for small ones.  Settings that belong to
    the interior-point method choose it.
    """
    P = program.hessian
    small = P.is_full and P.order <= LANE and program.m <= 2 * LANE
    if not (small or P.is_by_rows or (P.is_full and P.order >= MIN_ACTIVE_SET)):
        return "interior point"
    if settings.callback is not None or settings.kkt != "auto" or settings.regularization is not None:
        return "interior point"
    if small:
        own = settings.max_iter, settings.time_limit, settings.equilibrate, settings.refinement_steps
        return "lane" if own == NO_LIMITS else "interior point"
    if settings.verbose or not settings.active_set:
        return "interior point"
    rows, below, above = program.sided_rows, np.isfinite(program.lb), np.isfinite(program.ub)
    if P.is_by_rows:
        suits = rows.size == 0 or program.row_along_signs()[0] is not None
        suits = suits and (P.is_semidefinite or not settings.check_convexity)
        return "working set" if suits and below.all() and above.all() else "interior point"
    limited = settings.time_limit is not None and settings.time_limit < LONG_TIME
    suits = rows.size <= 1 and 2 * np.count_nonzero(below | above) > P.order and P.diagonal().max() > 0.0
    return "active set" if suits and not limited else "interior point"


def decide(form: StandardForm, settings: Settings) -> Plan:
    """The plan that `settings.kkt` names, or for "auto" the one with the least work.

    Where a sparse plan has ``seconds``, those of dense Cholesky, the analysis of the sparse matrix decides
    (`kkt.backends`): it shows the work, and costs less than a factorization.
    """
    backend, reason, seconds = _backend(form, settings)
    return Plan(
        backend, reason, settings.kkt == "auto", "interior point", settings.regularization, settings.refinement_steps,
        settings.equilibrate, form.limit, settings.step_fraction, False, seconds,
    )  # fmt: skip


def _backend(form: StandardForm, settings: Settings) -> tuple[Backend, str, dict[str, float]]:
    """(the backend, why, the seconds of those that were compared)."""
    wanted: Backend | None = NAMES.get(settings.kkt)
    if form.n == 0:  # BLAS refuses empty arrays
        return "sparse", "there are no variables", {}
    if wanted == "low rank":
        check_low_rank(form)
    if wanted is not None:
        return wanted, f'kkt="{settings.kkt}" was asked for', {}
    if is_small(form):
        return "dense", "the program is small", {}
    if _is_low_rank(form):
        return "low rank", "the rank of P and the rows are few beside the variables", {}
    if not _dense_pays(form):
        return "sparse", "the data are sparse", {}
    rows, _ = _counts(form)
    if form.P.is_sparse and rows < MANY_ROWS * form.n:  # dense rows may be kept behind all else
        return "sparse", "the analysis of its pattern shows the least work", {"dense": dense_seconds(form.n, rows)}
    return "dense", "the data are dense", {}


def is_small(form: StandardForm) -> bool:
    """Whether dense Cholesky costs next to nothing."""
    size, dense_P = form.n + form.p, form.P.is_full
    if size > (SMALL_DENSE if dense_P else SMALL):
        return False
    dense = dense_P or form.entries > DENSE_SHARE * (form.p + form.m) * form.n
    return small_work(size, form.entries, form.n) <= (SMALL_WORK if dense else SMALL_SPARSE)


def _counts(form: StandardForm) -> tuple[int, int]:
    """(rows of M but the bounds, their entries)."""
    bounds = form.bounds
    return form.p + form.m - bounds, form.entries - bounds


def check_low_rank(form: StandardForm) -> None:
    """Refuse what the low-rank backend cannot do."""
    if form.P.is_sparse:
        raise ProgramError('kkt="lowrank" needs a dense or LowRank P')
    if not _is_held(form):
        raise ProgramError(
            'kkt="lowrank" needs every variable to have a bound or a positive entry in the diagonal of P'
        )


def _is_low_rank(form: StandardForm) -> bool:
    """Whether P is of low rank, D will be positive and the Schur complement is small."""
    P = form.P
    if P.rank is None:
        return False
    return P.rank <= int(LOW_RANK_SHARE * form.n) - _counts(form)[0] and _is_held(form)


def _is_held(form: StandardForm) -> bool:
    """Whether every variable has a bound or a positive entry in the diagonal that is left of P."""
    held, variable = form.P.low_rank_form()[1] > 0.0, form.groups.variable
    held[variable[variable >= 0]] = True
    return bool(held.all())


def _dense_pays(form: StandardForm) -> bool:
    """Whether the data are dense enough, and of an order, for dense Cholesky."""
    n, p = form.n, form.p
    if n < MIN_DENSE:
        return False
    if form.P.is_sparse and 0 < form.M_data.size <= DENSE_SHARE * p * n:
        return False  # too few for the equalities alone
    rows, entries = _counts(form)
    if n * (n + rows) > MAX_ENTRIES:
        return False
    if not form.P.is_sparse:
        return rows <= 4 * n or entries > DENSE_SHARE * rows * n
    return n <= MAX_DENSE and rows > 0 and p <= n and entries > DENSE_SHARE * rows * n
