"""A sparse part around a dense block: its order fills no more than counts allow, and other graphs are left alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from socp.linalg.ldl.order import dense_block
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.order.quotient_graph import QuotientGraph, adjacency
from socp.linalg.ldl.symbolic.analysis import analyze
from tests.support.sparse_matrices import (
    arrow,
    dense_factor_pattern,
    follow_a_neighbour,
    grid_laplacian,
    random_sparse,
    upper,
)


def regression(columns, rows, density, seed, slacks=1, split=False):
    """The KKT pattern of  D w - (slacks) = t  and who has no diagonal; first w, or (u, v) for w = u - v."""
    rng = np.random.default_rng(seed)
    D = random_sparse((rows, columns), density=density, rng=rng)
    D = sp.hstack([D, -D]) if split else D
    A = sp.hstack([D] + slacks * [sp.eye_array(rows)])
    n = A.shape[1]
    K = sp.csc_array(sp.block_array([[sp.eye_array(n), A.T], [A, sp.eye_array(rows)]]))
    zero_diagonal = np.zeros(n + rows, np.bool_)
    zero_diagonal[:columns] = not split  # u and v have bounds
    zero_diagonal[n:] = True
    return K, zero_diagonal


def bounded(columns, rows, seed):
    """`regression` with |w| <= a and free a: two rows and one variable more for each w."""
    K, zero_diagonal = regression(columns, rows, 0.5, seed)
    n = K.shape[0]
    one, none = sp.eye_array(columns), sp.csc_array((columns, n - columns))
    G = sp.block_array([[one, none, -one], [-one, none, -one]])
    square = sp.block_diag([K, sp.eye_array(columns)])
    K = sp.csc_array(sp.block_array([[square, G.T], [G, sp.eye_array(2 * columns)]]))
    return K, np.concatenate([zero_diagonal, np.ones(columns, np.bool_), np.zeros(2 * columns, np.bool_)])


FRINGES = {
    "slacks": (*regression(40, 200, 0.5, 1), 40),
    "three slacks": (*regression(40, 200, 0.5, 2, slacks=3), 40),
    "full rows": (*regression(30, 100, 1.0, 3), 30),
    "absolute values": (*bounded(40, 120, 4), 40),
    "split variables": (*regression(25, 150, 0.6, 5, split=True), 50),
}
OTHERS = {
    "grid": grid_laplacian(30, 30),
    "long grid": grid_laplacian(200, 6),
    "two programs": sp.csc_array(sp.block_diag([FRINGES["slacks"][0], FRINGES["full rows"][0]])),
}


def sparse_first(K, zero_diagonal=None, dense=None):
    """The order, or None where the graph is of another kind."""
    n = K.shape[0]
    indptr, indices, _ = upper(K)
    graph = QuotientGraph(n=n, room=3 * len(indices) + n)
    graph.n = n
    adjacency(graph, indptr, indices)
    zero_diagonal = np.zeros(n, np.bool_) if zero_diagonal is None else zero_diagonal
    perm = np.empty(n, np.int64)
    return perm if dense_block.dense_block_order(graph, dense or n, zero_diagonal, perm) else None


def counts(K, perm):
    """Entries of each column of L, in the order of elimination, the diagonal included."""
    return dense_factor_pattern(K, perm).sum(axis=0)


@pytest.mark.parametrize("name", FRINGES)
def test_the_dense_block_goes_last(name):
    K, zero_diagonal, columns = FRINGES[name]
    perm = sparse_first(K, zero_diagonal)
    np.testing.assert_array_equal(np.sort(perm), np.arange(K.shape[0]))
    assert set(perm[-columns:]) == set(range(columns))
    indptr, indices, _ = upper(K)
    np.testing.assert_array_equal(amd(K.shape[0], indptr, indices, zero_diagonal), perm)


@pytest.mark.parametrize("name", OTHERS)
def test_other_graphs_are_left_to_minimum_degree(name):
    assert sparse_first(OTHERS[name]) is None


def test_few_dense_rows_are_a_block_of_their_own():
    perm = sparse_first(arrow(400, 20), dense=100)
    assert set(perm[-20:]) == set(range(20))


def test_a_weak_variable_that_only_the_block_has_is_the_last():
    K = sp.lil_array(arrow(400, 20))
    K[0, 20:], K[20:, 0] = 0.0, 0.0
    K[0, :20], K[:20, 0] = 1.0, 1.0
    perm = sparse_first(sp.csc_array(K), np.arange(400) == 0, dense=100)
    assert set(perm[-20:]) == set(range(20)) and perm[-1] == 0


@pytest.mark.parametrize("name", FRINGES)
def test_weak_variables_wait_for_a_neighbour(name):
    K, zero_diagonal, _ = FRINGES[name]
    assert follow_a_neighbour(K, zero_diagonal, sparse_first(K, zero_diagonal))


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_small_pattern(data):
    """What is taken is a permutation with the fill that was promised, zero diagonals behind a neighbour of theirs."""
    n = data.draw(st.integers(1, 14))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=50))
    zero_diagonal = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    rows, columns = np.array([*pairs, *((i, i) for i in range(n))]).T
    K = sp.csc_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)))
    K = sp.csc_array(K + K.T)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_block, "NEIGHBOURS", 0)
        perm = sparse_first(K, zero_diagonal)
    if perm is None:
        return
    np.testing.assert_array_equal(np.sort(perm), np.arange(n))
    assert follow_a_neighbour(K, zero_diagonal, perm)
    indptr, indices, _ = upper(K)
    assert analyze(n, indptr, indices, perm).nnz == dense_factor_pattern(K, perm).sum() - n
