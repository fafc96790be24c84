"""Supernodal factorization and solves by several threads: the subtrees that are tasks (see `subtrees`), and the top.

Tasks are subtrees.  A supernode of the top with much work is shared: its updates by blocks of its columns, then of each
block of columns that has been factorized the rows below, and what it takes from the columns behind it.  Who does what
changes no bits: each entry is the result of the same operations in the same order.
"""

from __future__ import annotations

from ....compiled.kernels import inner
from ....compiled.signatures import Floats
from ....compiled.structures import floats, integer, integers, structure
from ....compiled.teams import Team, begin_team, end_team, floats_at_address, restore_blas, share, silence_blas
from ..panels.dense import extent, factor_block, solve_rows, update_columns, update_panel
from ..panels.factors import BLOCK, COLUMNS, PanelFactors
from ..panels.left_looking import (
    WHOLE,
    factor_supernodes,
    note_places,
    permute,
    permute_back,
    put_entries,
    rows_before,
    solve_lower_part,
    solve_upper_part,
    wait,
)
from ..panels.supernodal import supernodal_solve
from ..symbolic.assembly_tree import AssemblyTree
from .subtrees import Subtrees, find_subtrees

SHARED = 4e6  # operations on a panel from which on they are shared
SHARED_SOLVES = 1_000_000  # entries of L from which on solves are


class Crew(Team):
    """The threads and what their tasks are told.

    Attributes
    ----------
    factors : PanelFactors
    subtrees : Subtrees
    data_address, data_size : int
        The values of K.
    panel, from_column, to_column : int
        The supernode that is shared, and the block of its columns that has been factorized.
    replaced : array
        The replaced pivots of each task.
    right_hand_sides : int
    private, sums : arrays
        Each member's own vectors, and what each task takes from the rows below its columns.
    """

    factors, subtrees = structure(PanelFactors), structure(Subtrees)
    factor_task, assemble_task, rows_task, columns_task = integer(), integer(), integer(), integer()
    lower_task, upper_task = integer(), integer()
    data_address, data_size, panel, from_column, to_column = integer(), integer(), integer(), integer(), integer()
    replaced, right_hand_sides = integers("tasks"), integer()
    private, sums = floats("2 * n * large * team"), floats("2 * below")


class ParallelFactors(PanelFactors):
    """Panels that several threads work on."""

    crew = structure(Crew)


def parallel_factors(tree: AssemblyTree, signs: Floats, threads: int) -> ParallelFactors:
    """The factors of several threads."""
    subtrees, large = find_subtrees(tree), tree.panel_start[-1] >= SHARED_SOLVES
    crew = Crew(
        team=threads, tasks=subtrees.count, below=subtrees.rows.size, n=tree.perm.size, large=int(large),
        subtrees=subtrees,
    )  # fmt: skip
    crew.gather(threads)
    crew.factor_task, crew.assemble_task = factor_task.address, assemble_task.address
    crew.rows_task, crew.columns_task = rows_task.address, columns_task.address
    crew.lower_task, crew.upper_task = lower_task.address, upper_task.address
    factors = ParallelFactors(tree, signs, crew, threads, subtrees.count)
    factors.crew, crew.factors = crew, factors
    factors.use(parallel_factor, parallel_solve if large else supernodal_solve)
    return factors


@inner
def parallel_factor(ldl: ParallelFactors, data: Floats) -> int:
    """The subtrees, then the top; returns the number of replaced pivots, -1 where one is not finite."""
    crew, replaced, failed = ldl.crew, 0, False
    for k in range(ldl.head.size):
        ldl.head[k] = -1
    silence_blas(crew)
    begin_team(crew)
    crew.data_address, crew.data_size = data.ctypes.data, data.size
    share(crew, crew.factor_task, crew.subtrees.count)
    for t in range(crew.subtrees.count):
        failed |= crew.replaced[t] < 0
        replaced += crew.replaced[t]
    more = -1 if failed else factor_top(ldl, data)
    end_team(crew)
    restore_blas(crew)
    return -1 if more < 0 else replaced + more


@inner
def factor_task(crew: Crew, task: int, member: int) -> None:
    """The subtrees of one task."""
    ldl, subtrees = crew.factors, crew.subtrees
    t = subtrees.order[task]
    ldl.waiting[2 * t] = -1
    data = floats_at_address(crew.data_address, crew.data_size)
    crew.replaced[t] = factor_supernodes(ldl, data, subtrees.begin[t], subtrees.end[t], t, member)


@inner
def factor_top(ldl: ParallelFactors, data: Floats) -> int:
    """What is above the subtrees; returns the number of replaced pivots, -1 where one is not finite."""
    subtrees, following, position, size = ldl.crew.subtrees, ldl.following, ldl.position, ldl.head.size
    replaced, t, k = 0, 0, 0
    while k < size:
        if t < subtrees.count and k == subtrees.begin[t]:
            c = ldl.waiting[2 * t]
            while c != -1:  # in the order in which one thread alone would have put them into the lists of the top
                after = following[c]
                wait(ldl, c, position[c], size, WHOLE)
                c = after
            k = subtrees.end[t]
            t += 1
            continue
        if work_on(ldl, k) < SHARED:
            wrong = factor_supernodes(ldl, data, k, k + 1, WHOLE, 0)
        else:
            wrong = factor_together(ldl, k)
        if wrong < 0:
            return -1
        replaced += wrong
        k += 1
    return replaced


@inner
def work_on(ldl: ParallelFactors, k: int) -> float:
    """The operations on a panel, those of its updates included."""
    tree, (columns, rows_below) = ldl.tree, extent(ldl, k)
    width, height = float(columns), float(rows_below)
    total = width * width * (width / 3.0 + height)
    c = ldl.head[k]
    while c != -1:
        start, end = ldl.position[c], tree.row_start[c + 1]
        stop = rows_before(tree.rows, start, end, tree.first[k + 1])
        total += 2.0 * (tree.first[c + 1] - tree.first[c]) * (stop - start) * (end - start)
        c = ldl.following[c]
    return total


@inner
def factor_together(ldl: ParallelFactors, k: int) -> int:
    """One supernode by all members: the number of replaced pivots, -1 where one is not finite."""
    crew, (width, height), replaced = ldl.crew, extent(ldl, k), 0
    length = width + height
    crew.panel = k
    note_places(ldl, k, ldl.place[: ldl.n])
    share(crew, crew.assemble_task, (width + BLOCK - 1) // BLOCK)
    tree, c = ldl.tree, ldl.head[k]
    while c != -1:  # what has updated panel k waits for the next one
        after = ldl.following[c]
        wait(ldl, c, rows_before(tree.rows, ldl.position[c], tree.row_start[c + 1], tree.first[k + 1]), 0, WHOLE)
        c = after
    for a in range(0, width, BLOCK):
        b = min(a + BLOCK, width)
        wrong = factor_block(ldl, k, a, b, ldl.scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        crew.from_column, crew.to_column = a, b
        share(crew, crew.rows_task, (length - b + COLUMNS - 1) // COLUMNS)
        share(crew, crew.columns_task, (width - b + COLUMNS - 1) // COLUMNS)
    wait(ldl, k, tree.row_start[k], 0, WHOLE)
    return replaced


@inner
def assemble_task(crew: Crew, task: int, member: int) -> None:
    """Some columns of the shared panel: the entries of K, and what its descendants take from them."""
    ldl, k = crew.factors, crew.panel
    tree, (width, height) = ldl.tree, extent(ldl, k)
    first, end, n = tree.first[k] + task * BLOCK, min(tree.first[k] + (task + 1) * BLOCK, tree.first[k + 1]), ldl.n
    origin = tree.panel_start[k] + task * BLOCK * (width + height)
    limit = origin + (end - first) * (width + height)
    low = rows_before(tree.target, tree.entry_start[k], tree.entry_start[k + 1], origin)
    high = rows_before(tree.target, low, tree.entry_start[k + 1], limit)
    put_entries(ldl, floats_at_address(crew.data_address, crew.data_size), low, high, origin, limit)
    if member > 0:
        note_places(ldl, k, ldl.place[member * n : (member + 1) * n])
    c = ldl.head[k]
    while c != -1:
        start = rows_before(tree.rows, ldl.position[c], tree.row_start[c + 1], first)
        stop = rows_before(tree.rows, start, tree.row_start[c + 1], end)
        if start < stop:
            update_panel(ldl, k, c, start, stop, member)
        c = ldl.following[c]


@inner
def rows_task(crew: Crew, task: int, member: int) -> None:
    """Some of the rows of the shared panel below the block of columns that has been factorized."""
    ldl, k, a, b = crew.factors, crew.panel, crew.from_column, crew.to_column
    width, height = extent(ldl, k)
    top = b + task * COLUMNS
    solve_rows(ldl, k, a, b, top, min(top + COLUMNS, width + height), ldl.scaled)


@inner
def columns_task(crew: Crew, task: int, member: int) -> None:
    """Some of the columns of the shared panel behind that block."""
    ldl, k, a, b = crew.factors, crew.panel, crew.from_column, crew.to_column
    width, height = extent(ldl, k)
    first = b + task * COLUMNS
    update_columns(ldl, k, a, b, first, min(first + COLUMNS, width), width + height, ldl.scaled)


@inner
def parallel_solve(ldl: ParallelFactors, count: int, rhs: Floats, out: Floats) -> None:
    """`supernodal_solve` by several threads."""
    crew = ldl.crew
    silence_blas(crew)
    permute(ldl, count, rhs, ldl.work)
    begin_team(crew)
    crew.right_hand_sides = count
    share(crew, crew.lower_task, crew.subtrees.count)
    solve_top(ldl, count)
    share(crew, crew.upper_task, crew.subtrees.count)
    end_team(crew)
    permute_back(ldl, count, ldl.work, out)
    restore_blas(crew)


@inner
def lower_task(crew: Crew, task: int, member: int) -> None:
    """L^-1 by the subtrees of a task; what they take from the rows below them is kept apart."""
    ldl, subtrees, count, t = crew.factors, crew.subtrees, crew.right_hand_sides, crew.subtrees.order[task]
    first, n, begin, end = ldl.tree.first, ldl.n, subtrees.begin[t], subtrees.end[t]
    rows, work = subtrees.rows, ldl.work
    x = crew.private[2 * member * n : 2 * (member + 1) * n]
    for r in range(count):
        for j in range(first[begin], first[end]):
            x[r * n + j] = work[r * n + j]
        for q in range(subtrees.row_start[t], subtrees.row_start[t + 1]):
            x[r * n + rows[q]] = 0.0
    solve_lower_part(ldl, count, begin, end, x, member)
    for r in range(count):
        for j in range(first[begin], first[end]):
            work[r * n + j] = x[r * n + j]
        for q in range(subtrees.row_start[t], subtrees.row_start[t + 1]):
            crew.sums[r * rows.size + q] = x[r * n + rows[q]]


@inner
def solve_top(ldl: ParallelFactors, count: int) -> None:
    """L'^-1 D^-1 L^-1 by what is above the subtrees."""
    crew, subtrees, n, work, size = ldl.crew, ldl.crew.subtrees, ldl.n, ldl.work, ldl.head.size
    rows = subtrees.rows
    for r in range(count):
        for q in range(rows.size):
            work[r * n + rows[q]] += crew.sums[r * rows.size + q]
    end = 0
    for t in range(subtrees.count + 1):
        begin, end = end, subtrees.begin[t] if t < subtrees.count else size
        solve_lower_part(ldl, count, begin, end, work, 0)
        end = subtrees.end[t] if t < subtrees.count else size
    begin = size
    for t in range(subtrees.count - 1, -2, -1):
        end, begin = begin, subtrees.end[t] if t >= 0 else 0
        solve_upper_part(ldl, count, begin, end, work, 0)
        begin = subtrees.begin[t] if t >= 0 else 0


@inner
def upper_task(crew: Crew, task: int, member: int) -> None:
    """L'^-1 D^-1 by the subtrees of a task."""
    ldl, subtrees, t = crew.factors, crew.subtrees, crew.subtrees.order[task]
    solve_upper_part(ldl, crew.right_hand_sides, subtrees.begin[t], subtrees.end[t], ldl.work, member)
