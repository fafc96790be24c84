"""A pool of workspaces: a solve leaves its memory to the next program of equal sizes.

For many small programs solved one after another, memory (three structures of a hundred arrays) costs more than a
factorization: ten variables take 63 us with a workspace from the pool and 90 us without; sparse programs of a thousand
variables take two thirds to three quarters of the time.  `solve` releases its workspace, and the next setup in the
thread acquires it.  All fields are written before they are read, as when a program is updated.

A workspace serves programs of one kind.  The kind has all that `plan.choice` depends on for a small program; a
sparse program needs equal places of the entries, too, so that the ordering and the analysis are kept.  The plan goes
with the workspace, and a program is solved in one way, to the bit, whatever was solved before it.
"""

from __future__ import annotations

from ..compiled.memory import Pool
from ..form.standard import Sizes
from ..plan.choice import is_small
from ..problem.hessian import Hessian
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from .loop import State

MOST = 2**20  # size up to which a workspace is kept, in words of 8 bytes

_pool = Pool()
Kind = tuple[Sizes, bool, bool, int, str, float | None, int, float, bool]


def acquire(program: ConeProgram, sizes: Sizes, settings: Settings) -> State | None:
    """Return a workspace for programs of this kind from the pool, owned by the caller, or None."""
    state: State | None = _pool.take(_kind(sizes, program.hessian, settings))
    return state


def release(state: State, settings: Settings) -> None:
    """Put the workspace of a finished program into the pool if it is small enough."""
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
    """Clear the pool of this thread: the next programs allocate their workspaces."""
    _pool.clear()


def _kind(sizes: Sizes, P: Hessian, settings: Settings) -> Kind:
    of_settings = str(settings.kkt), settings.regularization, settings.refinement_steps, settings.step_fraction
    return sizes, P.is_full, P.is_sparse, P.entries, *of_settings, settings.equilibrate
