"""Separators separate, orders that follow them fill no more than theory says, and LDL takes them where they pay."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph
from hypothesis import given, settings
from hypothesis import strategies as st

from socp.linalg.ldl import factorization
from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.order import dissection as module
from socp.linalg.ldl.order.dissection import (
    COARSEST,
    LEFT,
    RIGHT,
    Graph,
    dissection,
    grow,
    match,
    refine,
)
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.symbolic.analysis import analyze
from tests.support.sparse_matrices import arrow, dense_factor_pattern, follow_a_neighbour, grid_laplacian, kkt, upper


def solid_laplacian(k):
    """The seven-point Laplacian of k by k by k points."""
    return sp.csc_array(
        sp.kron(grid_laplacian(k, k), sp.eye_array(k)) + sp.kron(sp.eye_array(k * k), grid_laplacian(1, k))
    )


GRAPHS = {
    "grid": grid_laplacian(40, 40),
    "long grid": grid_laplacian(400, 5),
    "solid": solid_laplacian(12),
    "path": grid_laplacian(1, 2000),
    "kkt": kkt(900, 500, 0.003, 1)[0],
    "dense rows": sp.csc_array(grid_laplacian(40, 40) + 0.01 * arrow(1600, 2)),
    "pieces": sp.csc_array(sp.block_diag([grid_laplacian(25, 25)] * 4 + [sp.eye_array(50)])),
}


def stages(K):
    indptr, indices, _ = upper(K)
    return dissection(K.shape[0], indptr, indices)


def graph_of(K):
    """The structure, all sizes and weights 1."""
    full = sp.csr_array(K - sp.diags_array(K.diagonal()))
    full.eliminate_zeros()
    ones = np.ones(full.nnz, np.int64)
    return Graph(full.indptr.astype(np.int64), full.indices.astype(np.int64), ones, np.ones(K.shape[0], np.int64))


def crosses(graph, part):
    """Whether an edge joins the two sides."""
    rows = np.repeat(np.arange(part.size), np.diff(graph.indptr))
    return bool(((part[rows] == LEFT) & (part[graph.indices] == RIGHT)).any())


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_left_of_a_graph_without_separators_is_small(name):
    K = GRAPHS[name]
    stage = stages(K)
    dense = np.diff(K.indptr) > 10 * np.sqrt(K.shape[0]) + 1
    inside = np.flatnonzero((stage == 0) & ~dense)
    _, label = scipy.sparse.csgraph.connected_components(K[inside][:, inside], directed=False)
    assert np.bincount(label).max() <= COARSEST
    np.testing.assert_array_equal(stages(K), stage)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_step_of_refinement_never_loses(name):
    graph = graph_of(GRAPHS[name])
    part = np.empty_like(graph.size)
    for seed in (0, part.size // 2):
        grow(graph.indptr, graph.indices, graph.size, seed, part)
        assert not crosses(graph, part)
        before = (part == module.BETWEEN).sum()
        after = refine(graph.indptr, graph.indices, graph.size, part)
        assert not crosses(graph, part)
        assert after == (part == module.BETWEEN).sum() <= before
        assert max((part == LEFT).sum(), (part == RIGHT).sum()) <= module.SIDE * part.size


@pytest.mark.parametrize("name", GRAPHS)
def test_coarse_graphs_keep_sizes_and_weights(name):
    graph = graph_of(GRAPHS[name])
    number = np.empty_like(graph.size)
    count = match(*graph, np.argsort(np.diff(graph.indptr), kind="stable"), 10, number)
    coarse = module._contracted(graph, number, count)
    np.testing.assert_array_equal(coarse.size, np.bincount(number, minlength=count))
    assert coarse.size.max() <= 2
    into = sp.csr_array((np.ones(number.size), (number, np.arange(number.size))), shape=(count, number.size))
    edges = sp.csr_array((graph.weight, graph.indices, graph.indptr), shape=(number.size, number.size))
    expected = (into @ edges @ into.T).toarray()
    np.fill_diagonal(expected, 0.0)
    found = sp.csr_array((coarse.weight, coarse.indices, coarse.indptr), shape=(count, count)).toarray()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_of_some_vertices(name):
    K = GRAPHS[name]
    graph, vertices = graph_of(K), np.flatnonzero(np.arange(K.shape[0]) % 3 > 0)
    part = module._part(graph, vertices)
    expected = graph_of(sp.csc_array(K[vertices][:, vertices]))
    for found, wanted in ((part.indptr, expected.indptr), (part.size, expected.size), (part.weight, expected.weight)):
        np.testing.assert_array_equal(found, wanted)
    for i in range(vertices.size):
        mine = slice(part.indptr[i], part.indptr[i + 1])
        np.testing.assert_array_equal(np.sort(part.indices[mine]), np.sort(expected.indices[mine]))


@pytest.mark.parametrize("name", GRAPHS)
def test_weak_variables_wait_for_a_neighbour(name):
    K = GRAPHS[name]
    indptr, indices, _ = upper(K)
    zero_diagonal = (np.arange(K.shape[0]) % 3 != 0) | (np.diff(K.indptr) > 10 * np.sqrt(K.shape[0]))  # these come last
    for stage in (None, stages(K), np.minimum(stages(K), 1)):
        perm = amd(K.shape[0], indptr, indices, zero_diagonal, stage)
        np.testing.assert_array_equal(np.sort(perm), np.arange(K.shape[0]))
        assert follow_a_neighbour(K, zero_diagonal, perm)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_small_pattern(data):
    """Separators at all sizes: stages are stages, and with any stages at all the order is one."""
    n = data.draw(st.integers(1, 16))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
    zero_diagonal = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    rows, columns = np.array([*pairs, *((i, i) for i in range(n))]).T
    K = sp.csc_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)))
    K = sp.csc_array(K + K.T)
    indptr, indices, _ = upper(K)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COARSEST", 2)
        stage = dissection(n, indptr, indices)
    assert set(stage) <= set(range(stage.max() + 1))
    other = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int64)
    for each in (stage, other):
        perm = amd(n, indptr, indices, zero_diagonal, each)
        np.testing.assert_array_equal(np.sort(perm), np.arange(n))
        assert analyze(n, indptr, indices, perm).nnz == dense_factor_pattern(K, perm).sum() - n


def test_ldl_takes_the_order_with_less_work(monkeypatch):
    K = solid_laplacian(18)
    indptr, indices, data = upper(K + sp.eye_array(K.shape[0]))
    n, signs = K.shape[0], np.ones(K.shape[0], np.int64)
    plain = LDL(indptr, indices, signs, ordering="amd")
    monkeypatch.setattr(factorization, "DISSECTED", 0.0)
    least = LDL(indptr, indices, signs, ordering="auto")
    assert least.flops < plain.flops
    rhs, x = np.random.default_rng(0).normal(size=n), np.empty(n)
    least.factor(data, 1e-13, 1e-7)
    least.solve(rhs, x)
    np.testing.assert_allclose((K + sp.eye_array(n)) @ x, rhs, atol=1e-10)
    path = grid_laplacian(1, 3000)  # nothing is less than no fill
    indptr, indices, _ = upper(path)
    assert LDL(indptr, indices, np.ones(3000, np.int64), ordering="auto").nnz == 2999
