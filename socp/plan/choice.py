"""The plan for a program: which way to solve its KKT systems, by the table of costs."""

from __future__ import annotations

from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.hessian import GLANCE
from ..problem.settings import Settings
from .costs import COSTS, NEW_PATTERNS, dense_seconds, low_rank_seconds, sparse_seconds
from .plan import Backend, Plan

NAMES: dict[str, Backend] = {"ldl": "sparse", "dense": "dense", "lowrank": "low rank"}
SHARED = COSTS._replace(analysis=NEW_PATTERNS * COSTS.analysis)  # where the pattern may be known
KEPT = COSTS._replace(analysis=0.0, analysis_of_entry=0.0)  # for a solver that is kept
LIFTED = "sparse with F'x as variables"  # what the plan compares the low-rank backend with: P itself is full


def decide(form: StandardForm, settings: Settings, is_kept: bool = False) -> Plan:
    """Return the plan that `settings.kkt` names, or the plan with the least predicted seconds for "auto".

    Where sparse LDL' is predicted to be faster than dense Cholesky, its symbolic analysis decides (`kkt.backends`),
    which gives the exact work and costs less than a factorization.  A small program that is solved once is not
    analyzed; if a solver `is_kept`, the cost of the analysis is not counted.
    """
    if callable(settings.kkt):
        return Plan(
            "caller", "kkt is a function", False, "interior point", None, settings.refinement_steps,
            settings.equilibrate, form.limit, settings.step_fraction, solver=settings.kkt,
        )  # fmt: skip
    backend, reason, seconds = _backend(form, settings, is_kept)
    return Plan(
        backend, reason, settings.kkt == "auto", "interior point", settings.regularization, settings.refinement_steps,
        settings.equilibrate, form.limit, settings.step_fraction, False, seconds,
    )  # fmt: skip


def _backend(form: StandardForm, settings: Settings, is_kept: bool) -> tuple[Backend, str, dict[str, float]]:
    """Return the backend, the reason for it in words, and the predicted seconds of the backends compared."""
    wanted = NAMES.get(str(settings.kkt))
    if form.n == 0:  # BLAS refuses empty arrays.
        return "sparse", "there are no variables", {}
    if wanted == "low rank":
        check_low_rank(form)
    if wanted is not None:
        return wanted, f'kkt="{settings.kkt}" was asked for', {}
    n, P, rows = form.n, form.P, form.p + form.m - form.bounds
    P_entries = P.entries if P.is_sparse else n**2
    costs = COSTS
    if is_kept:
        costs = KEPT
    elif _dense_at_a_glance(form) <= COSTS.analysis:
        costs = SHARED
    seconds: dict[Backend, float] = {
        "dense": dense_seconds(n, rows),
        "sparse": sparse_seconds(n, rows, form.entries - form.bounds, costs, P_entries=P_entries),
    }
    if not is_kept and is_small(form):
        return "dense", "the program is small", _told(seconds, "dense")
    if P.rank is not None and is_held(form):
        seconds["low rank"] = low_rank_seconds(n, P.rank + rows)
    least = min(seconds, key=seconds.__getitem__)
    if least == "low rank" and P.rank is not None:  # A caller could state w = F'x, with w'w in place of |F'x|^2.
        order, more = n + P.rank, P.rank * (n + 1)
        lifted = sparse_seconds(order, rows + P.rank, form.entries - form.bounds + more, costs, P_entries=order)
        return least, "the least work", _told({"dense": seconds["dense"], least: seconds[least], LIFTED: lifted}, least)
    return least, "the least work", _told(seconds, least)


def _told(seconds: dict[Backend, float], chosen: Backend) -> dict[str, float]:
    """Return the entries of `seconds` that are at least the seconds of the chosen backend."""
    return {name: each for name, each in seconds.items() if each >= seconds[chosen]}


def is_small(form: StandardForm) -> bool:
    """Return True if dense Cholesky costs no more than the choice of another backend, by the sizes alone."""
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
    """Return the predicted seconds of dense Cholesky by the number of entries alone."""
    return dense_seconds(form.n + form.p, form.entries / form.n)


def check_low_rank(form: StandardForm) -> None:
    """Raise ProgramError unless the low-rank backend can solve the program."""
    if form.P.is_sparse:
        raise ProgramError('kkt="lowrank" needs a dense or LowRank P')
    if not is_held(form):
        raise ProgramError(
            'kkt="lowrank" needs every variable to have a bound or a positive entry in the diagonal of P'
        )


def is_held(form: StandardForm) -> bool:
    """Return True if every variable has a bound or a positive entry in diag(d), where P = F F' + diag(d)."""
    held, variable = form.P.low_rank_form()[1] > 0.0, form.groups.variable
    held[variable[variable >= 0]] = True
    return bool(held.all())
