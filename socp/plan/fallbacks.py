"""Plans that follow a failed run, one after another, each for its own kind of failure.

Of 73,941 random programs (`bench.fuzz`) the first run failed on 3,211.  Of these the plans below decided 2,837; each
decided some that no other plan decided, so that none can be dropped:

    plan                        decided    alone
    proximal                      2,366       40
    plain and proximal            2,264       57
    sparse                        1,353       11
    plain                         1,244       26
    plain in short steps          1,179       29
    sparse and precise            1,063       13
    all of that in short steps      897       17
    short steps                     338       40
    precise                         235       30
    wider scales                     39        9
"""

from __future__ import annotations

from collections.abc import Iterator

from ..form.standard import LIMIT, StandardForm
from .plan import Plan

SHORT_STEPS = 0.9  # step length relative to the step to the boundary
REGULARIZATION = 1e-6  # regularization that stays in the KKT system
LARGE = 5_000  # most variables, or variables and rows, with which another run takes little time


def fallbacks(plan: Plan, form: StandardForm, iterations: int) -> Iterator[Plan]:
    """Yield the plans to try after `plan`, whose run with `form` failed after `iterations` iterations."""
    if plan.backend == "caller":  # A failure of the caller's solver is for the caller to see.
        return
    # The regularization stays in the KKT system, as in a proximal method: one step of refinement removes most of its
    # effect on a solution, but little of it in directions in which the exact system is singular.
    proximal = plan._replace(regularization=REGULARIZATION, refinement_steps=min(plan.refinement_steps, 1))
    robust = plan
    if form.p > 0 and iterations > 0:
        # Dependent equalities that disagree by less than tol let y grow without bound.
        yield proximal
    if form.cones > 0 and iterations > 0:
        # Near the boundary of a cone the residual of an inexact solve can spoil the direction.
        yield plan._replace(precise=True)
    if plan.is_free and plan.backend == "dense" and form.n <= LARGE:
        robust = plan._replace(backend="sparse", reason="dense Cholesky broke down", seconds={})
        # Where dense Cholesky breaks down, sparse LDL' continues with pivots of either sign.
        yield robust._replace(precise=True)
        # Badly scaled data may not allow any precise solve.
        yield robust
    if iterations == 0 or form.n + form.p + form.m > LARGE:
        return
    short = min(plan.step_fraction, SHORT_STEPS)
    # Further from the boundary, s_0 - ||s_1|| and the scaling have more correct digits.
    yield plan._replace(step_fraction=short)
    # all of these together
    yield robust._replace(step_fraction=short, precise=True)
    if form.p == 0:
        # Rows of the cones may let z grow without bound.
        yield proximal
    if plan.equilibrate and plan.limit > LIMIT:
        # Numbers near 1e12 need scales beyond LIMIT, which does not suit all data.
        yield robust._replace(limit=LIMIT)
    if plan.equilibrate:
        plain = robust._replace(equilibrate=False)
        # Equilibration can make a thin feasible set look empty or large.
        yield plain._replace(step_fraction=short)
        # Near infeasibility sometimes long steps succeed, sometimes short ones.
        yield plain
        if form.p > 0:
            # Dependent equalities are compared in the caller's units.
            yield proximal._replace(equilibrate=False, backend=robust.backend, seconds={})
