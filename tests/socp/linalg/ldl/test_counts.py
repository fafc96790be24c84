"""Counts as results: fill, operations, supernodes and panels of graphs made without random numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.rows.four_wide import supernodes_of
from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.ldl.symbolic.assembly_tree import assembly_tree, panel_time
from socp.linalg.ldl.symbolic.siblings import by_strips
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
        [7794, 157272.0, (622, 4579, 8146), (378, 2406, 12391)]),
    "large grid": (grid_laplacian(60, 60), 3600,
        [56165, 2327035.0, (2853, 27330, 58428), (1775, 13007, 79080)]),
    "scattered": (scattered(300, 2), 300,
        [1432, 19828.0, (273, 1002, 1458), (217, 706, 2613)]),
    "trees": (scattered(900, 1), 900,
        [864, 2592.0, (900, 864, 864), (811, 775, 1921)]),
    "rows": (bipartite(300, 200, 3), 300,
        [814, 3436.0, (449, 677, 836), (186, 227, 2973)]),
    "dense rows": (bipartite(120, 30, 25), 120,
        [849, 8971.0, (129, 584, 863), (120, 508, 1316)]),
    "dense columns": (bipartite(30, 200, 8), 230,
        [2017, 24481.0, (209, 1725, 2052), (200, 1636, 2646)]),
    "wide rows": (bipartite(900, 60, 40), 900,
        [3634, 52444.0, (915, 2600, 3650), (902, 2300, 5580)]),
    "arrow": (arrow(60, 2), 60,
        [117, 467.0, (60, 117, 117), (58, 114, 180)]),
    "hubs": (hubs(900), 900,
        [2687, 13417.0, (897, 2681, 2687), (57, 166, 17656)]),
    "cliques": (sp.csc_array(cliques + arrow(39, 1)), 39,
        [280, 3812.0, (15, 64, 280), (5, 4, 581)]),
}  # fmt: skip


def joined(analysis):
    """The first columns of panels: each column joins the panel before it where that ends in its child, and gains."""
    first = []
    for j, (parent, height) in enumerate(zip([-1, *analysis.parent], analysis.counts)):
        begin = j
        if parent == j and first:
            apart = panel_time(j - first[-1], analysis.counts[j - 1]) + panel_time(1, height)
            if panel_time(j + 1 - first[-1], height) < apart:
                begin = first.pop()
        first.append(begin)
    return first


def counts(K, before):
    """Fill and operations of minimum degree; supernodes, their rows and entries; panels, their rows and entries."""
    n, (indptr, indices, _) = K.shape[0], upper(K)
    analysis = analyze(n, indptr, indices, amd(n, indptr, indices, np.arange(n) >= before))
    four, panels = supernodes_of(by_strips(analysis)[0]), assembly_tree(analysis)
    assert panels.first[:-1].tolist() == joined(analysis)
    return [
        analysis.nnz, analysis.flops, (four.count, four.rows, four.entries),
        (panels.parent.size, panels.rows.size, int(panels.panel_start[-1])),
    ]  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_of_a_graph(name):
    K, before, expected = GRAPHS[name]
    assert counts(K, before) == expected
