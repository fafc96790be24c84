"""Left-looking factorization of some supernodes, and the triangular solves with them.

The supernodes are taken in postorder.  Each one puts its entries of K into its panel, subtracts what the earlier
supernodes with rows among its columns leave there,

    F(R, C) -= L_c(R, :) D_c L_c(C, :)'    C the columns of the panel that c has as rows, R the rows of c from there,

and factorizes the panel.  Every supernode waits in the list of the one that it updates next.
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats, Unsigned
from ..factors import Factors
from .dense import factor_panel, set_zero, solve_lower, solve_lower_two, solve_upper, solve_upper_two, update_panel

CACHED = 32_768  # entries of a panel that stay in the cache while all that comes to its columns is subtracted,
FEWEST = 32  # and so many columns at least
WHOLE = -1  # in the place of a task: all supernodes, or those of the top of the tree


@inner
def factor_supernodes(
    ldl: Factors, data: Floats, eps: float, delta: float, begin: int, end: int, task: int, member: int
) -> int:
    """Panels and D of supernodes begin ... end - 1, whose descendants have been factorized.

    With a task, what updates supernodes from `end` on waits in the list of the task.
    """
    tree, panels, d = ldl.tree, ldl.values, ldl.d
    first, row_start, rows, panel_start = tree.first, tree.row_start, tree.rows, tree.panel_start
    head, following, position = ldl.head, ldl.following, ldl.position
    n, room = ldl.n, ldl.scaled.size // ldl.workers
    place, scaled = ldl.place[member * n : (member + 1) * n], ldl.scaled[member * room : (member + 1) * room]
    replaced = 0
    for k in range(begin, end):
        column, stop_column = first[k], first[k + 1]
        width, height = stop_column - column, row_start[k + 1] - row_start[k]
        put_entries(ldl, data, k, tree.entry_start[k], tree.entry_start[k + 1], panel_start[k], panel_start[k + 1])
        if head[k] != -1:
            note_places(ldl, k, place)
        step = max(FEWEST, CACHED // (width + height))
        for edge in range(column + step, stop_column + step, step):
            c = head[k]
            while c != -1:
                after, start = following[c], position[c]
                stop = start
                while stop < row_start[c + 1] and rows[stop] < min(edge, stop_column):
                    stop += 1
                if stop > start:
                    update_by(ldl, k, c, start, stop, place, member)
                position[c] = stop
                if edge >= stop_column:
                    wait(ldl, c, stop, end, task)
                c = after
        wrong = factor_panel(panels, panel_start[k], width, height, ldl.signs, column, eps, delta, d, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        if height > 0:
            wait(ldl, k, row_start[k], end, task)
    return replaced


@leaf
def put_entries(ldl: Factors, data: Floats, k: int, begin: int, end: int, first: int, last: int) -> None:
    """The entries of K from `begin` on into panel k, from `first` to `last` zero before."""
    panels, source, target = ldl.values, ldl.tree.source, ldl.tree.target
    set_zero(panels, first, last - first)
    for q in range(begin, end):
        panels[target[q]] = data[source[q]]


@inner
def note_places(ldl: Factors, k: int, place: Unsigned) -> None:
    """place := the row in panel k of each column and row of it."""
    tree = ldl.tree
    column, width, rows = tree.first[k], tree.first[k + 1] - tree.first[k], tree.rows
    for j in range(width):
        place[column + j] = np.uint64(j)
    for q in range(tree.row_start[k + 1] - tree.row_start[k]):
        place[rows[tree.row_start[k] + q]] = np.uint64(width + q)


@inner
def update_by(ldl: Factors, k: int, c: int, start: int, stop: int, place: Unsigned, member: int) -> None:
    """What supernode c takes from the columns of panel k that are its rows start ... stop - 1."""
    tree = ldl.tree
    first, row_start, rows, panel_start = tree.first, tree.row_start, tree.rows, tree.panel_start
    n, room, most = ldl.n, ldl.product.size // ldl.workers, ldl.scaled.size // ldl.workers
    places = ldl.places[member * n : (member + 1) * n]
    length, wide = first[k + 1] - first[k] + row_start[k + 1] - row_start[k], first[c + 1] - first[c]
    for q in range(start, row_start[c + 1]):
        places[q - start] = place[rows[q]]
    update_panel(
        ldl.values, panel_start[k], length, panel_start[c], wide, wide + start - row_start[c],
        row_start[c + 1] - start, stop - start, places, ldl.d, first[c],
        ldl.product[member * room : (member + 1) * room], ldl.scaled[member * most : (member + 1) * most],
    )  # fmt: skip


@leaf
def wait(ldl: Factors, c: int, start: int, end: int, task: int) -> None:
    """Supernode c waits for the supernode of its row `start`; in the list of the task, if that is from `end` on."""
    tree, head, following = ldl.tree, ldl.head, ldl.following
    ldl.position[c] = start
    if start == tree.row_start[c + 1]:
        return
    k = tree.owner[tree.rows[start]]
    if task == WHOLE or k < end:
        following[c], head[k] = head[k], c
        return
    following[c] = -1
    if ldl.waiting[2 * task] == -1:
        ldl.waiting[2 * task] = c
    else:
        following[ldl.waiting[2 * task + 1]] = c
    ldl.waiting[2 * task + 1] = c


@inner
def solve_lower_part(ldl: Factors, count: int, begin: int, end: int, x: Floats, member: int) -> None:
    """x := L^-1 x by supernodes begin ... end - 1, for one or two right-hand sides one after the other."""
    n, tree, panels, room = ldl.n, ldl.tree, ldl.values, ldl.below.size // ldl.workers
    first, row_start, panel_start, rows = tree.first, tree.row_start, tree.panel_start, tree.rows.view(np.uint64)
    below = ldl.below[member * room : (member + 1) * room]
    for k in range(begin, end):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        if count == 1:
            solve_lower(panels, panel_start[k], width, height, x, first[k], rows, row_start[k], below)
        else:
            solve_lower_two(panels, panel_start[k], width, height, x, n, first[k], rows, row_start[k], below)


@inner
def solve_upper_part(ldl: Factors, count: int, begin: int, end: int, x: Floats, member: int) -> None:
    """x := L'^-1 D^-1 x by supernodes end - 1 ... begin, likewise."""
    n, tree, panels, d, room = ldl.n, ldl.tree, ldl.values, ldl.d, ldl.below.size // ldl.workers
    first, row_start, panel_start, rows = tree.first, tree.row_start, tree.panel_start, tree.rows.view(np.uint64)
    below = ldl.below[member * room : (member + 1) * room]
    for r in range(count):
        for j in range(first[begin], first[end]):
            x[r * n + j] /= d[j]
    for k in range(end - 1, begin - 1, -1):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        if count == 1:
            solve_upper(panels, panel_start[k], width, height, x, first[k], rows, row_start[k], below)
        else:
            solve_upper_two(panels, panel_start[k], width, height, x, n, first[k], rows, row_start[k], below)


@leaf
def permute(ldl: Factors, count: int, rhs: Floats, begin: int, end: int, x: Floats) -> None:
    """x := P rhs, entries begin ... end - 1 of each right-hand side."""
    n, perm = ldl.n, ldl.perm
    for r in range(count):
        for k in range(begin, end):
            x[r * n + k] = rhs[r * n + perm[k]]


@leaf
def permute_back(ldl: Factors, count: int, x: Floats, begin: int, end: int, out: Floats) -> None:
    """out := P' x, entries begin ... end - 1 of x."""
    n, perm = ldl.n, ldl.perm
    for r in range(count):
        for k in range(begin, end):
            out[r * n + perm[k]] = x[r * n + k]
