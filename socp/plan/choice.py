"""The plan for a program: which way to solve its KKT systems, by the table of costs."""

from __future__ import annotations

from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.hessian import GLANCE
from ..problem.settings import Settings
from .costs import COSTS, NEW_PATTERNS, dense_seconds, low_rank_seconds, sparse_seconds
from .plan import Backend, Plan

NAMES: dict[str, Backend] = {"ldl": "sparse", "dense": "dense", "lowrank": "low rank"}


def decide(form: StandardForm, settings: Settings, is_kept: bool = False) -> Plan:
    """The plan that `settings.kkt` names, or for "auto" the one with the least seconds.

    Where a sparse matrix takes fewer than dense Cholesky by what its counts tell, its analysis decides
    (`kkt.backends`): it shows the work, and costs less than a factorization.  To solve a small program once costs less
    than to look at it; where a solver `is_kept`, the analysis costs nothing.
    """
    backend, reason, seconds = _backend(form, settings, is_kept)
    return Plan(
        backend, reason, settings.kkt == "auto", "interior point", settings.regularization, settings.refinement_steps,
        settings.equilibrate, form.limit, settings.step_fraction, False, seconds,
    )  # fmt: skip


def _backend(form: StandardForm, settings: Settings, is_kept: bool) -> tuple[Backend, str, dict[str, float]]:
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
    costs = COSTS
    if _dense_at_a_glance(form) <= COSTS.analysis:
        costs = COSTS._replace(analysis=NEW_PATTERNS * COSTS.analysis)
    if is_kept:
        costs = COSTS._replace(analysis=0.0, analysis_of_entry=0.0)
    seconds: dict[Backend, float] = {
        "dense": dense_seconds(n, rows),
        "sparse": sparse_seconds(n, rows, form.entries - form.bounds, costs, P_entries=P_entries),
    }
    if not is_kept and is_small(form):
        return "dense", "the program is small", _told(seconds, "dense")
    if P.rank is not None and is_held(form):
        seconds["low rank"] = low_rank_seconds(n, P.rank + rows)
    least = min(seconds, key=seconds.__getitem__)
    return least, "the least work", _told(seconds, least)


def _told(seconds: dict[Backend, float], chosen: Backend) -> dict[str, float]:
    """Those that are slower than the chosen one, and itself."""
    return {name: each for name, each in seconds.items() if each >= seconds[chosen]}


def is_small(form: StandardForm) -> bool:
    """Whether dense Cholesky takes less than to look for another way, by what the sizes alone tell."""
    n, p, entries, rank = form.n, form.p, form.entries, form.P.rank
    if n == 0 or n + p > GLANCE:
        return False
    least = NEW_PATTERNS * COSTS.analysis
    if rank is not None:
        least = low_rank_seconds(n, rank + p + form.distinct)
    elif form.P.is_full:
        least = sparse_seconds(n, p + form.m, entries, P_entries=n**2)
    return _dense_at_a_glance(form) <= least


def _dense_at_a_glance(form: StandardForm) -> float:
    """The seconds of dense Cholesky by the number of entries alone."""
    return dense_seconds(form.n + form.p, form.entries / form.n)


def check_low_rank(form: StandardForm) -> None:
    """Refuse what the low-rank backend cannot do."""
    if form.P.is_sparse:
        raise ProgramError('kkt="lowrank" needs a dense or LowRank P')
    if not is_held(form):
        raise ProgramError(
            'kkt="lowrank" needs every variable to have a bound or a positive entry in the diagonal of P'
        )


def is_held(form: StandardForm) -> bool:
    """Whether every variable has a bound or a positive entry in the diagonal that is left of P."""
    held, variable = form.P.low_rank_form()[1] > 0.0, form.groups.variable
    held[variable[variable >= 0]] = True
    return bool(held.all())
