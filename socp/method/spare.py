"""The memory of a small program that is done with, for the next one of the same sizes.

Who solves many small programs one after another pays more for memory, three structures of a hundred arrays, than for a
factorization.  `solve` leaves what it worked with here, and whoever is set up next in the same thread takes it.  All in
it is written before it is read: one run comes after another in the same memory also where a program is updated.
"""

from __future__ import annotations

import threading

from ..form.standard import Sizes
from ..kkt.choice import SMALL, is_small
from ..kkt.dense import DenseKKT
from ..problem.settings import Settings
from .loop import State

MOST = 100_000  # words that are kept

_thread = threading.local()
Kind = tuple[Sizes, str, float | None, int]


def take(sizes: Sizes, settings: Settings) -> State | None:
    """What was left by a program of these sizes and with such a KKT solver, which is the caller's now."""
    found: tuple[Kind, State] | None = _thread.__dict__.pop("left", None)
    return found[1] if found is not None and found[0] == _kind(sizes, settings) else None


def fits(state: State) -> bool:
    """Whether its KKT solver, of which the form has become another one, has room for the rows; it takes them."""
    kkt: DenseKKT = state.kkt
    if kkt.count != kkt.form.distinct:
        return False
    kkt.refresh()
    return True


def leave(state: State, settings: Settings) -> None:
    """Leave the memory of a program that nobody asks for any more."""
    form, kkt = state.form, state.kkt
    if not form.is_spare:
        chosen = settings.kkt == "auto" and isinstance(kkt, DenseKKT)
        small = form.n + form.p <= SMALL and is_small(form)  # whatever P is stored as
        form.is_spare = chosen and small and form.words + kkt.words + state.words <= MOST
    if form.is_spare:
        _thread.left = _kind(form.sizes, settings), state


def _kind(sizes: Sizes, settings: Settings) -> Kind:
    return sizes, settings.kkt, settings.regularization, settings.refinement_steps
