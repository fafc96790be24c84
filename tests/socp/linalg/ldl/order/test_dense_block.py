"""A sparse part around a dense block: its order fills no more than counts allow, and other graphs are left alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.ldl.order import dense_block
from socp.linalg.ldl.order.dense_block import FILL
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.order.quotient_graph import QuotientGraph, adjacency
from tests.support.sparse_matrices import (
    follow_a_neighbour,
    grid_laplacian,
    random_sparse,
    upper,
)


def regression(columns, rows, density, seed, slacks=1, split=False):
    """Return the KKT pattern of D w - (slacks) = t and its zero diagonal; w, or (u, v) with w = u - v, comes first."""
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
    """Return the pattern of `regression` with |w| <= a and free a: two more rows and one more variable for each w."""
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


def graph_of(K):
    """Return the quotient graph of K before the first pivot."""
    n = K.shape[0]
    indptr, indices, _ = upper(K)
    graph = QuotientGraph(n=n, capacity=3 * len(indices) + n)
    graph.n = n
    adjacency(graph, indptr, indices)
    return graph


def order_by_twin(graph, dense, zero_diagonal):
    """Return variables by ascending degree if they cause little fill, by means of sets; None where this is refused."""
    n, fill, entries, watched, waiting, gone = graph.n, 0, 0, 0, set(), []
    lists = [graph.lists[begin : begin + count].tolist() for begin, count in zip(graph.start, graph.length)]
    degrees, filled = [len(each) for each in lists], [set(each) for each in lists]
    few = [degree for degree in degrees if degree <= dense]
    if sum(degree**2 for degree in few) < dense_block.NEIGHBOURS * sum(few):
        return None

    def has_pivot(i):
        return not set(gone).isdisjoint(lists[i])

    def eliminate(i):
        nonlocal fill, entries
        own, column = len(set(lists[i]) - set(gone)), filled[i]
        if degrees[i] > dense or len(column) - own > max(2, int(FILL * own)):
            return
        for j in column:
            filled[j] = (filled[j] | column) - {i, j}
        gone.append(i)
        fill, entries = fill + len(column) - own, entries + own

    for i in sorted(range(n), key=lambda i: (degrees[i], zero_diagonal[i])):
        if zero_diagonal[i] and not has_pivot(i):
            waiting.add(i)
            continue
        eliminate(i)
        while waiting and watched < len(gone):  # neighbours that wait for this variable
            for j in lists[gone[watched]]:
                if j in waiting:
                    waiting.remove(j)
                    eliminate(j)
            watched += 1
        watched = watched if waiting else len(gone)
    left = [i for i in range(n) if i not in gone]
    size = len(left)
    thin = sum(len(filled[i]) < size - 1 - int(FILL * size) for i in left)
    if fill > FILL * entries or (size * (size - 1) // 2 > FILL * entries and thin > int(FILL * size)):
        return None
    return gone + sorted(left, key=lambda i: zero_diagonal[i] and not has_pivot(i))


def check_order(K, zero_diagonal, dense):
    """Compare an order with its twin's; what is taken has the fill that was promised, and pivots before weak ones."""
    graph, n = graph_of(K), K.shape[0]
    expected, perm = order_by_twin(graph, dense, zero_diagonal), np.empty(n, np.int64)
    assert dense_block.dense_block_order(graph, dense, zero_diagonal, perm) == (expected is not None)
    if expected is None:
        return False
    assert perm.tolist() == expected
    assert follow_a_neighbour(K, zero_diagonal, perm)
    return True


@pytest.mark.parametrize("name", FRINGES)
def test_the_dense_block_goes_last(name):
    K, zero_diagonal, columns = FRINGES[name]
    assert check_order(K, zero_diagonal, K.shape[0])
    indptr, indices, _ = upper(K)
    assert set(amd(K.shape[0], indptr, indices, zero_diagonal)[-columns:]) == set(range(columns))


@pytest.mark.parametrize("name", OTHERS)
def test_other_graphs_are_left_to_minimum_degree(name):
    n = OTHERS[name].shape[0]
    assert not check_order(OTHERS[name], np.zeros(n, bool), n)


def test_any_graph_of_a_few_dense_columns():
    """Orders next to a tree, permuted, without diagonal entries, and with any limit of the degree."""
    taken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sizes = int(rng.integers(8, 30)), int(rng.integers(5, 90))
        K, zero_diagonal = regression(*sizes, rng.uniform(0.2, 1.0), seed, int(rng.integers(0, 3)))
        tree = sp.csc_array((np.ones(9), (np.arange(9) // 2, np.arange(1, 10))), shape=(10, 10))
        K = sp.csc_array(sp.block_diag([K, tree + tree.T + sp.eye_array(10)]))
        n, perm = K.shape[0], rng.permutation(K.shape[0])
        zero_diagonal = rng.random(n) < 0.5 if seed % 2 else np.append(zero_diagonal, rng.random(10) < 0.5)[perm]
        taken += check_order(sp.csc_array(K[perm][:, perm]), zero_diagonal, (n, n, 30)[seed % 3])
    assert 10 < taken < 50
