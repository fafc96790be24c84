"""Left-looking factorization of some supernodes, and the triangular solves with them.

The supernodes are taken in postorder.  Each one puts its entries of K into its panel, subtracts what the earlier
supernodes with rows among its columns leave there,

    F(R, C) -= L_c(R, :) D_c L_c(C, :)'    C the columns of the panel that c has as rows, R the rows of c from there,

and factorizes the panel.  Every supernode waits in the list of the one that it updates next.
"""

from __future__ import annotations

from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats, Ints
from .dense import extent, factor_panel, solve_lower, solve_upper, update_panel
from .factors import PanelFactors

WHOLE = -1  # in the place of a task: all supernodes, or those of the top of the tree


@inner
def factor_supernodes(ldl: PanelFactors, data: Floats, begin: int, end: int, task: int, member: int) -> int:
    """Panels and D of supernodes begin ... end - 1, whose descendants have been factorized.

    With a task, what updates supernodes from `end` on waits in the list of the task.
    """
    tree, head, following, position = ldl.tree, ldl.head, ldl.following, ldl.position
    n, most, replaced = ldl.n, ldl.scaled.size // ldl.workers, 0
    place, scaled = ldl.place[member * n : (member + 1) * n], ldl.scaled[member * most : (member + 1) * most]
    for k in range(begin, end):
        put_entries(
            ldl, data, tree.entry_start[k], tree.entry_start[k + 1], tree.panel_start[k], tree.panel_start[k + 1]
        )
        c = head[k]
        if c != -1:
            note_places(ldl, k, place)
        while c != -1:
            after, start = following[c], position[c]
            stop = rows_before(tree.rows, start, tree.row_start[c + 1], tree.first[k + 1])
            update_panel(ldl, k, c, start, stop, member)
            wait(ldl, c, stop, end, task)
            c = after
        wrong = factor_panel(ldl, k, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        wait(ldl, k, tree.row_start[k], end, task)
    return replaced


@leaf
def rows_before(rows: Ints, begin: int, end: int, column: int) -> int:
    """The end of those among the ascending rows begin ... end - 1 that are before a column."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def put_entries(ldl: PanelFactors, data: Floats, begin: int, end: int, first: int, last: int) -> None:
    """The entries begin ... end - 1 of K into their panel, of which places first ... last - 1 are zero before."""
    panels, source, target = ldl.values, ldl.tree.source, ldl.tree.target
    for i in range(first, last):
        panels[i] = 0.0
    for q in range(begin, end):
        panels[target[q]] = data[source[q]]


@inner
def note_places(ldl: PanelFactors, k: int, place: Ints) -> None:
    """place := the row in panel k of each column and row of it."""
    tree, (width, height) = ldl.tree, extent(ldl, k)
    for j in range(width):
        place[tree.first[k] + j] = j
    for q in range(height):
        place[tree.rows[tree.row_start[k] + q]] = width + q


@leaf
def wait(ldl: PanelFactors, c: int, start: int, end: int, task: int) -> None:
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
def solve_lower_part(ldl: PanelFactors, count: int, begin: int, end: int, x: Floats, member: int) -> None:
    """x := L^-1 x by supernodes begin ... end - 1, for right-hand sides one after the other."""
    n, room = ldl.n, ldl.below.size // ldl.workers
    below = ldl.below[member * room : (member + 1) * room]
    for k in range(begin, end):
        for r in range(count):
            solve_lower(ldl, k, x[r * n : (r + 1) * n], below)


@inner
def solve_upper_part(ldl: PanelFactors, count: int, begin: int, end: int, x: Floats, member: int) -> None:
    """x := L'^-1 D^-1 x by supernodes end - 1 ... begin, likewise."""
    n, first, d, room = ldl.n, ldl.tree.first, ldl.d, ldl.below.size // ldl.workers
    below = ldl.below[member * room : (member + 1) * room]
    for r in range(count):
        for j in range(first[begin], first[end]):
            x[r * n + j] /= d[j]
    for k in range(end - 1, begin - 1, -1):
        for r in range(count):
            solve_upper(ldl, k, x[r * n : (r + 1) * n], below)


@leaf
def permute(ldl: PanelFactors, count: int, rhs: Floats, x: Floats) -> None:
    """x := P rhs for each right-hand side."""
    n, perm = ldl.n, ldl.perm
    for r in range(count):
        for k in range(n):
            x[r * n + k] = rhs[r * n + perm[k]]


@leaf
def permute_back(ldl: PanelFactors, count: int, x: Floats, out: Floats) -> None:
    """out := P' x for each right-hand side."""
    n, perm = ldl.n, ldl.perm
    for r in range(count):
        for k in range(n):
            out[r * n + perm[k]] = x[r * n + k]
