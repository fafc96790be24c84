"""Plans that follow a failed run, one after another, each for its own kind of failure.

Of 73,941 random programs (`bench.fuzz`) the first run failed on 3,211.  Of these the plans below decided 2,837; each
decided some that no other did, so that none can go:

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

import numpy as np

from ..form.standard import LIMIT, StandardForm
from .plan import Plan

SHORT_STEPS = 0.9  # share of the way to the boundary
REGULARIZATION = 1e-6  # that stays in the KKT system
WIDE = LIMIT * LIMIT  # limit of the scales where the first one was met
LARGE = 5_000  # variables, or these and rows, beyond which another run takes too long to be a surprise


def fallbacks(plan: Plan, form: StandardForm, iterations: int) -> Iterator[Plan]:
    """Yield the plans to try after `plan`, whose run with `form` failed after `iterations` iterations."""
    # the KKT system with a regularization that stays, as in a proximal method: one step of refinement takes out
    # most of what it does to a solution, and little in a direction that the exact system does not see
    proximal = plan._replace(regularization=REGULARIZATION, refinement_steps=min(plan.refinement_steps, 1))
    robust = plan
    if form.p > 0 and iterations > 0:
        # equalities that depend on each other, and miss each other by less than tol, have y run away without end
        yield proximal
    if form.cones > 0 and iterations > 0:
        # near the boundary of a cone the residual of an inexact solve can spoil the direction
        yield plan._replace(precise=True)
    if plan.is_free and plan.backend == "dense" and form.n <= LARGE:
        robust = plan._replace(backend="sparse", reason="dense Cholesky broke down", seconds={})
        # where dense Cholesky breaks down, sparse LDL' goes on with pivots of either sign
        yield robust._replace(precise=True)
        # not precise, where data are scaled so badly that no solve can be
        yield robust
    if iterations == 0 or form.n + form.p + form.m > LARGE:
        return
    short = min(plan.step_fraction, SHORT_STEPS)
    # further from the boundary s0 - |s1| has more digits, and so has the scaling
    yield plan._replace(step_fraction=short)
    # all of that together
    yield robust._replace(step_fraction=short, precise=True)
    if form.p == 0:
        # rows of the cones have z run away
        yield proximal
    if plan.equilibrate and is_cut_off(form):
        # numbers near 1e12 need scales beyond the limit that is good for others
        yield robust._replace(limit=WIDE)
    if plan.equilibrate:
        plain = robust._replace(equilibrate=False)
        # equilibration can make of a thin set one that looks empty or large
        yield plain._replace(step_fraction=short)
        # in long steps, too: near infeasibility now these end well, now the short ones
        yield plain
        if form.p > 0:
            # equalities beside each other in the caller's units
            yield proximal._replace(equilibrate=False, backend=robust.backend, seconds={})


def is_cut_off(form: StandardForm) -> bool:
    """Return True if a scale of rows or columns has reached its limit."""
    scales = np.concatenate([form.D, form.E])
    return bool(((scales <= 1.0 / LIMIT) | (scales >= LIMIT)).any())
