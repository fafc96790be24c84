"""Supernodal factorization and solves by several threads: the subtrees that are tasks (see `sharing`), and the top.

Tasks are subtrees.  A supernode of the top with much work is shared: its updates by blocks of its columns, then of each
block of columns that has been factorized the rows below, and what it takes from the columns behind it.  Who does what
changes no bits: each entry is the result of the same operations in the same order.
"""

from __future__ import annotations

from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats, Ints
from ....compiled.teams import floats_at_address, share
from ..factors import Factors
from ..panels.dense import BLOCK, COLUMNS, LONG, WIDE_BLOCK, WIDE_COLUMNS, factor_block, solve_rows, update_columns
from ..panels.left_looking import (
    WHOLE,
    factor_supernodes,
    note_places,
    put_entries,
    solve_lower_part,
    solve_upper_part,
    update_by,
    wait,
)

SHARED = 4e6  # operations on a panel from which on they are shared
CHUNK, WIDE_CHUNK = 32, 64  # columns of a panel that are updated by one member at a time, and where there are many
MANY_COLUMNS = 256
ROWS = 256  # likewise rows


@inner
def factor_side_by_side(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """The subtrees, then the top; returns the number of replaced pivots, -1 where one is not finite."""
    ldl.data_address, ldl.data_size, ldl.eps, ldl.delta = data.ctypes.data, data.size, eps, delta
    share(ldl, ldl.tasks_of_factors, ldl.sharing.count)
    replaced = 0
    for t in range(ldl.sharing.count):
        if ldl.replaced[t] < 0:
            return -1
        replaced += ldl.replaced[t]
    more = factor_top(ldl, data, eps, delta)
    return -1 if more < 0 else replaced + more


@inner
def factor_task(ldl: Factors, task: int, member: int) -> None:
    """The subtrees of one task."""
    sharing = ldl.sharing
    t = sharing.order[task]
    ldl.waiting[2 * t] = -1
    data = floats_at_address(ldl.data_address, ldl.data_size)
    ldl.replaced[t] = factor_supernodes(ldl, data, ldl.eps, ldl.delta, sharing.begin[t], sharing.end[t], t, member)


@inner
def factor_top(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """What is above the subtrees; returns the number of replaced pivots, -1 where one is not finite."""
    sharing, following, position, size = ldl.sharing, ldl.following, ldl.position, ldl.head.size
    replaced, t = 0, 0
    k = 0
    while k < size:
        if t < sharing.count and k == sharing.begin[t]:
            c = ldl.waiting[2 * t]
            while c != -1:  # in the order in which one thread alone would have put them into the lists of the top
                after = following[c]
                wait(ldl, c, position[c], size, WHOLE)
                c = after
            k = sharing.end[t]
            t += 1
            continue
        if work_on(ldl, k) < SHARED:
            wrong = factor_supernodes(ldl, data, eps, delta, k, k + 1, WHOLE, 0)
        else:
            wrong = factor_together(ldl, k, eps, delta)
        if wrong < 0:
            return -1
        replaced += wrong
        k += 1
    return replaced


@inner
def work_on(ldl: Factors, k: int) -> float:
    """The operations on a panel, those of its updates included."""
    tree = ldl.tree
    first, row_start, rows = tree.first, tree.row_start, tree.rows
    width, height = float(first[k + 1] - first[k]), float(row_start[k + 1] - row_start[k])
    total = width * width * (width / 3.0 + height)
    c = ldl.head[k]
    while c != -1:
        start = ldl.position[c]
        stop = rows_before(rows, start, row_start[c + 1], first[k + 1])
        total += 2.0 * (first[c + 1] - first[c]) * (stop - start) * (row_start[c + 1] - start)
        c = ldl.following[c]
    return total


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


@inner
def factor_together(ldl: Factors, k: int, eps: float, delta: float) -> int:
    """One supernode by all members: the number of replaced pivots, -1 where one is not finite."""
    tree, d = ldl.tree, ldl.d
    first, row_start, begin = tree.first, tree.row_start, tree.panel_start[k]
    column, width = first[k], first[k + 1] - first[k]
    length, replaced = width + row_start[k + 1] - row_start[k], 0
    ldl.panel = k
    note_places(ldl, k, ldl.place[: ldl.n])
    ldl.chunk = CHUNK if width < MANY_COLUMNS else WIDE_CHUNK
    share(ldl, ldl.tasks_of_panels, (width + ldl.chunk - 1) // ldl.chunk)
    let_go(ldl, k)
    block = BLOCK if length < LONG else WIDE_BLOCK
    for a in range(0, width, block):
        b = min(a + block, width)
        wrong = factor_block(ldl.values, begin, length, a, b, b, ldl.signs, column, eps, delta, d, ldl.scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        ldl.from_column, ldl.to_column = a, b
        share(ldl, ldl.rows_of_panels, (length - b + ROWS - 1) // ROWS)
        ldl.chunk = COLUMNS if length - b < LONG else WIDE_COLUMNS
        share(ldl, ldl.columns_of_panels, (width - b + ldl.chunk - 1) // ldl.chunk)
    if length > width:
        wait(ldl, k, row_start[k], 0, WHOLE)
    return replaced


@inner
def let_go(ldl: Factors, k: int) -> None:
    """What has updated panel k waits for the next one."""
    tree, c = ldl.tree, ldl.head[k]
    while c != -1:
        after = ldl.following[c]
        start = rows_before(tree.rows, ldl.position[c], tree.row_start[c + 1], tree.first[k + 1])
        wait(ldl, c, start, 0, WHOLE)
        c = after


@inner
def assemble_columns(ldl: Factors, task: int, member: int) -> None:
    """Some columns of the shared panel: the entries of K, and what its descendants take from them."""
    tree, k = ldl.tree, ldl.panel
    row_start, rows, target = tree.row_start, tree.rows, tree.target
    first, end = tree.first[k] + task * ldl.chunk, min(tree.first[k] + (task + 1) * ldl.chunk, tree.first[k + 1])
    length = (tree.panel_start[k + 1] - tree.panel_start[k]) // (tree.first[k + 1] - tree.first[k])
    origin = tree.panel_start[k] + (first - tree.first[k]) * length
    limit = origin + (end - first) * length
    low = rows_before(target, tree.entry_start[k], tree.entry_start[k + 1], origin)
    high = rows_before(target, low, tree.entry_start[k + 1], limit)
    put_entries(ldl, floats_at_address(ldl.data_address, ldl.data_size), k, low, high, origin, limit)
    c = ldl.head[k]
    while c != -1:
        start = rows_before(rows, ldl.position[c], row_start[c + 1], first)
        stop = rows_before(rows, start, row_start[c + 1], end)
        if start < stop:
            update_by(ldl, k, c, start, stop, ldl.place[: ldl.n], member)
        c = ldl.following[c]


@inner
def finish_rows(ldl: Factors, task: int, member: int) -> None:
    """Some of the rows of the shared panel below the block of columns that has been factorized."""
    tree, k, a, b = ldl.tree, ldl.panel, ldl.from_column, ldl.to_column
    length = tree.first[k + 1] - tree.first[k] + tree.row_start[k + 1] - tree.row_start[k]
    top = b + task * ROWS
    solve_rows(
        ldl.values, tree.panel_start[k], length, a, b, top, min(top + ROWS, length), tree.first[k], ldl.d, ldl.scaled
    )  # fmt: skip


@inner
def update_behind(ldl: Factors, task: int, member: int) -> None:
    """Some of the columns of the shared panel behind that block."""
    tree, k, b = ldl.tree, ldl.panel, ldl.to_column
    width = tree.first[k + 1] - tree.first[k]
    length, j = width + tree.row_start[k + 1] - tree.row_start[k], b + task * ldl.chunk
    update_columns(
        ldl.values, tree.panel_start[k], length, ldl.from_column, b, j, min(j + ldl.chunk, width), length, ldl.scaled
    )


@inner
def solve_side_by_side(ldl: Factors, count: int) -> None:
    """work := L'^-1 D^-1 L^-1 work for `count` right-hand sides."""
    ldl.right_hand_sides = count
    share(ldl, ldl.lower_tasks, ldl.sharing.count)
    solve_top(ldl, count)
    share(ldl, ldl.upper_tasks, ldl.sharing.count)


@inner
def solve_lower_task(ldl: Factors, task: int, member: int) -> None:
    """L^-1 by the subtrees of a task; what they take from the rows below them is kept apart."""
    sharing, first, n, count, t = ldl.sharing, ldl.tree.first, ldl.n, ldl.right_hand_sides, ldl.sharing.order[task]
    begin, end, rows, work = sharing.begin[t], sharing.end[t], sharing.rows, ldl.work
    x = ldl.private[2 * member * n : 2 * (member + 1) * n]
    for r in range(count):
        for j in range(first[begin], first[end]):
            x[r * n + j] = work[r * n + j]
        for q in range(sharing.row_start[t], sharing.row_start[t + 1]):
            x[r * n + rows[q]] = 0.0
    solve_lower_part(ldl, count, begin, end, x, member)
    for r in range(count):
        for j in range(first[begin], first[end]):
            work[r * n + j] = x[r * n + j]
        for q in range(sharing.row_start[t], sharing.row_start[t + 1]):
            ldl.sums[r * rows.size + q] = x[r * n + rows[q]]


@inner
def solve_top(ldl: Factors, count: int) -> None:
    """L'^-1 D^-1 L^-1 by what is above the subtrees."""
    sharing, n, work, size = ldl.sharing, ldl.n, ldl.work, ldl.head.size
    rows = sharing.rows
    for r in range(count):
        for q in range(rows.size):
            work[r * n + rows[q]] += ldl.sums[r * rows.size + q]
    end = 0
    for t in range(sharing.count + 1):
        begin, end = end, sharing.begin[t] if t < sharing.count else size
        solve_lower_part(ldl, count, begin, end, work, 0)
        end = sharing.end[t] if t < sharing.count else size
    begin = size
    for t in range(sharing.count - 1, -2, -1):
        end, begin = begin, sharing.end[t] if t >= 0 else 0
        solve_upper_part(ldl, count, begin, end, work, 0)
        begin = sharing.begin[t] if t >= 0 else 0


@inner
def solve_upper_task(ldl: Factors, task: int, member: int) -> None:
    """L'^-1 D^-1 by the subtrees of a task."""
    t = ldl.sharing.order[task]
    solve_upper_part(ldl, ldl.right_hand_sides, ldl.sharing.begin[t], ldl.sharing.end[t], ldl.work, member)
