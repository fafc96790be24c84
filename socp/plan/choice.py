"""The plan for a program: which method, and which way to solve its KKT systems, by the table of costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.settings import Settings
from .costs import COSTS, dense_seconds, low_rank_seconds, method_seconds, sparse_seconds
from .plan import Backend, Plan

SMALL = 260  # variables and equalities up to which a program may be small
OF_LANES = Settings.max_iter, Settings.equilibrate, Settings.refinement_steps  # which know no others
NAMES: dict[str, Backend] = {"ldl": "sparse", "dense": "dense", "lowrank": "low rank"}


def choose_method(program: Any, settings: Settings) -> str:
    """The `Plan.method` for a program with two-sided rows and bounds.

    The one with the least `plan.costs.method_seconds` of those that can: a lane for all, the active set for a dense P
    where most variables have bounds and at most one row has sides.  An interior-point method factors all of P in each
    iteration, whereas the active set reads the rows of what moves.  The working set where rows of P are enough.
    Settings that belong to the interior-point method choose it.
    """
    P = program.hessian
    if settings.callback is not None or settings.kkt != "auto" or settings.regularization is not None:
        return "interior point"
    if P.is_by_rows:
        return "working set" if _suits_working_set(program, settings) else "interior point"
    seconds = method_seconds(program.n, program.m, program.A.data.size, P.order**2 if P.is_full else P.entries)
    own, has_time = (settings.max_iter, settings.equilibrate, settings.refinement_steps), _has_time(settings)
    if "lane" in seconds and own == OF_LANES and has_time and seconds["lane"] <= seconds["interior point"]:
        return "lane"
    is_cheaper = P.is_full and seconds["active set"] <= seconds["interior point"]
    return "active set" if is_cheaper and _suits_active_set(program, settings) else "interior point"


def _suits_working_set(program: Any, settings: Settings) -> bool:
    """Whether all variables have two bounds and one row at most has sides, along the signs of the samples."""
    if not settings.active_set:
        return False
    suits = program.sided_rows.size == 0 or program.row_along_signs()[0] is not None
    suits = suits and (program.hessian.is_semidefinite or not settings.check_convexity)
    return bool(suits and np.isfinite(program.lb).all() and np.isfinite(program.ub).all())


def _suits_active_set(program: Any, settings: Settings) -> bool:
    """Whether most variables have bounds, one row at most has sides, and there is time for a round."""
    if not (settings.active_set and _has_time(settings)):
        return False
    bounded = np.count_nonzero(np.isfinite(program.lb) | np.isfinite(program.ub))
    return bool(program.sided_rows.size <= 1 and 2 * bounded > program.n and program.hessian.diagonal().max() > 0.0)


def _has_time(settings: Settings) -> bool:
    """Whether there is time for a round of the active set, or for a lane: neither looks at it earlier."""
    return settings.time_limit is None or settings.time_limit >= COSTS.round


def decide(form: StandardForm, settings: Settings) -> Plan:
    """The plan that `settings.kkt` names, or for "auto" the one with the least seconds.

    Where a sparse matrix takes fewer than dense Cholesky by what its counts tell, its analysis decides
    (`kkt.backends`): it shows the work, and costs less than a factorization.
    """
    backend, reason, seconds = _backend(form, settings)
    return Plan(
        backend, reason, settings.kkt == "auto", "interior point", settings.regularization, settings.refinement_steps,
        settings.equilibrate, form.limit, settings.step_fraction, False, seconds,
    )  # fmt: skip


def _backend(form: StandardForm, settings: Settings) -> tuple[Backend, str, dict[str, float]]:
    """(the backend, why, the seconds of all that were compared)."""
    wanted = NAMES.get(settings.kkt)
    if form.n == 0:  # BLAS refuses empty arrays
        return "sparse", "there are no variables", {}
    if wanted == "low rank":
        check_low_rank(form)
    if wanted is not None:
        return wanted, f'kkt="{settings.kkt}" was asked for', {}
    n, P, rows = form.n, form.P, form.p + form.m - form.bounds
    P_entries = P.entries if P.is_sparse else n**2
    seconds: dict[Backend, float] = {
        "dense": dense_seconds(n, rows),
        "sparse": sparse_seconds(n, rows, form.entries - form.bounds, P_entries=P_entries),
    }
    if is_small(form):
        return "dense", "the program is small", _told(seconds, "dense")
    if P.rank is not None and _is_held(form):
        seconds["low rank"] = low_rank_seconds(n, P.rank + rows)
    least = min(seconds, key=seconds.__getitem__)
    return least, "the least work", _told(seconds, least)


def _told(seconds: dict[Backend, float], chosen: Backend) -> dict[str, float]:
    """Those that are slower than the chosen one, and itself."""
    return {name: each for name, each in seconds.items() if each >= seconds[chosen]}


def is_small(form: StandardForm) -> bool:
    """Whether dense Cholesky takes less than to look for another way, by what the sizes alone tell."""
    n, p, entries = form.n, form.p, form.entries
    if n == 0 or n + p > SMALL:
        return False
    least = sparse_seconds(n, p + form.m, entries, P_entries=n**2) if form.P.is_full else COSTS.analysis
    return dense_seconds(n + p, entries / n) <= least


def check_low_rank(form: StandardForm) -> None:
    """Refuse what the low-rank backend cannot do."""
    if form.P.is_sparse:
        raise ProgramError('kkt="lowrank" needs a dense or LowRank P')
    if not _is_held(form):
        raise ProgramError(
            'kkt="lowrank" needs every variable to have a bound or a positive entry in the diagonal of P'
        )


def _is_held(form: StandardForm) -> bool:
    """Whether every variable has a bound or a positive entry in the diagonal that is left of P."""
    held, variable = form.P.low_rank_form()[1] > 0.0, form.groups.variable
    held[variable[variable >= 0]] = True
    return bool(held.all())
