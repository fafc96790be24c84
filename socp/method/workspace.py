"""The workspace of a program that is done with, for the next one of the same sizes.

Who solves many small programs one after another pays more for memory, three structures of a hundred arrays, than for a
factorization: ten variables take 63 us with a workspace that is there, 90 us without, sparse ones of a thousand two
thirds to three quarters of the time.  `solve` releases what it worked with, and whoever is set up next in the same
thread acquires it.  All in it is written before it is read: one run comes after another in the same memory also where a
program is updated.

A workspace is for programs of one kind, which has all that `plan.choice` decides by for a small program, or with the
places of its entries for a sparse one, whose ordering and analysis are kept so: the plan goes along, and a program is
solved in the same way, to the bit, whatever was solved before it.
"""

from __future__ import annotations

from ..compiled.memory import Pool
from ..form.standard import Sizes
from ..plan.choice import is_small
from ..problem.hessian import Hessian
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from .loop import State

MOST = 2**20  # words that are kept

_pool = Pool()
Kind = tuple[Sizes, bool, bool, int, str, float | None, int, float, bool]


def acquire(program: ConeProgram, sizes: Sizes, settings: Settings) -> State | None:
    """Return a workspace that a program of this kind has released, which is the caller's now, or None."""
    state: State | None = _pool.take(_kind(sizes, program.hessian, settings))
    return state


def release(state: State, settings: Settings) -> None:
    """Put the workspace of a program that is done with into the pool, if it is small enough."""
    form, kkt = state.form, state.kkt
    words = form.words + kkt.words + state.words
    if not form.is_pooled:
        chosen = state.plan.is_free and (state.plan.backend == "dense") == is_small(form)
        form.is_pooled = chosen and words <= MOST
        if form.is_pooled:
            kkt.keep_pattern()
    if form.is_pooled:
        _pool.leave(_kind(form.sizes, form.P, settings), state, words)


def forget() -> None:
    """Let the next programs of this thread begin as the first of their kinds do."""
    _pool.clear()


def _kind(sizes: Sizes, P: Hessian, settings: Settings) -> Kind:
    of_settings = settings.kkt, settings.regularization, settings.refinement_steps, settings.step_fraction
    return sizes, P.is_full, P.is_sparse, P.entries, *of_settings, settings.equilibrate
