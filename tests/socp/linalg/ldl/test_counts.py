"""Counts as results: fill, operations, separators, supernodes and panels of graphs made without random numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.ldl.order.dissection import dissection
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.rows.four_wide import supernodes_of
from socp.linalg.ldl.symbolic.amalgamation import ENTRY, FLOP, FRONT, UPDATE
from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.ldl.symbolic.assembly_tree import merged_supernodes
from socp.linalg.ldl.symbolic.siblings import siblings_together
from tests.support.sparse_matrices import arrow, grid_laplacian, upper


def scattered(n, count):
    """Edges from i to `count` others that a polynomial names."""
    i = np.arange(n)
    to = np.concatenate([(i * (i + 2 * j + 1) + 7 * j) % n for j in range(count)])
    K = sp.csc_array(sp.coo_array((np.ones(to.size), (np.tile(i, count), to)), shape=(n, n)))
    return sp.csc_array(K + K.T + sp.eye_array(n))


def bipartite(n, m, count):
    """n variables beside m rows with so many entries each, whose own diagonal is zero."""
    i = np.repeat(np.arange(m), count)
    to = (i * i + 7 * i // 3 + np.tile(np.arange(count), m) ** 2) % n
    A = sp.csc_array(sp.coo_array((np.ones(to.size), (i, to)), shape=(m, n)))
    return sp.csc_array(sp.block_array([[sp.eye_array(n), A.T], [A, 1e-9 * sp.eye_array(m)]]))


def hubs(n):
    """A path, and two vertices with nearly all others for neighbours."""
    K = sp.lil_array(grid_laplacian(1, n))
    K[n // 3, : n - 4] = K[: n - 4, n // 3] = K[2 * n // 3, 5:] = K[5:, 2 * n // 3] = 1.0
    return sp.csc_array(K)


cliques = sp.block_diag([np.ones((k, k)) for k in (3, 9, 1, 20, 6)])
# name: (matrix, the number of variables before those with a zero diagonal, the counts)
GRAPHS = {
    "grid": (grid_laplacian(25, 31), 775,
        [7794, 157272.0, [642, 36, 45, 21, 31], 8821, (622, 4579, 8146), (132, 1402, 233056.0)]),
    "large grid": (grid_laplacian(60, 60), 3600,
        [56165, 2327035.0, [173, 159, 122, 92, 59, 60], 57786, (2853, 27330, 58428), (623, 7929, 2810887.0)]),
    "scattered": (scattered(300, 2), 300,
        [1432, 19828.0, [263, 5, 10, 22], 1544, (273, 1002, 1458), (121, 447, 40824.0)]),
    "trees": (scattered(900, 1), 900,
        [864, 2592.0, [894, 3, 2, 1], 864, (900, 864, 864), (173, 137, 52694.0)]),
    "rows": (bipartite(300, 200, 3), 300,
        [814, 3436.0, [496, 3, 0, 1], 814, (449, 677, 836), (102, 82, 17059.0)]),
    "dense rows": (bipartite(120, 30, 25), 120,
        [849, 8971.0, [140, 10], 849, (129, 584, 863), (106, 417, 17637.0)]),
    "dense columns": (bipartite(30, 200, 8), 230,
        [2017, 24481.0, [204, 3, 23], 2015, (209, 1725, 2052), (185, 1500, 37672.0)]),
    "wide rows": (bipartite(900, 60, 40), 900,
        [3634, 52444.0, [903, 3, 0, 34, 20], 3658, (915, 2600, 3650), (902, 2300, 53632.0)]),
    "arrow": (arrow(60, 2), 60,
        [117, 467.0, [60], 117, (60, 117, 117), (43, 84, 2427.0)]),
    "hubs": (hubs(900), 900,
        [2687, 13417.0, [883, 8, 4, 2, 1, 2], 2695, (897, 2681, 2687), (54, 157, 146865.0)]),
    "cliques": (sp.csc_array(cliques + arrow(39, 1)), 39,
        [280, 3812.0, [39], 280, (15, 64, 280), (5, 4, 3812.0)]),
}  # fmt: skip


def counts(K, before):
    """Fill and operations of minimum degree; the variables of each stage of separators, and the fill by stages;
    supernodes, their rows and entries; panels, their rows and operations.
    """
    n, (indptr, indices, _) = K.shape[0], upper(K)
    zero = np.arange(n) >= before
    plain, stage = analyze(n, indptr, indices, amd(n, indptr, indices, zero)), dissection(n, indptr, indices)
    nested = analyze(n, indptr, indices, amd(n, indptr, indices, zero, stage)) if stage.any() else plain
    four = supernodes_of(siblings_together(plain))
    panels = merged_supernodes(plain)
    widths, heights = np.diff(panels.first[: panels.left + 1]), panels.new_height[: panels.left].astype(float)
    entries = widths * (widths / 2 + heights)
    time = FRONT * panels.left + ENTRY * entries.sum() + UPDATE * (heights * (heights + 1) / 2).sum()
    assert panels.time == pytest.approx(time + FLOP * panels.flops)
    return [
        plain.nnz, plain.flops, np.bincount(stage).tolist()[-6:], nested.nnz,
        (four.count, four.rows, four.entries), (panels.left, panels.rows, panels.flops),
    ]  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_of_a_graph(name):
    K, before, expected = GRAPHS[name]
    assert counts(K, before) == expected
