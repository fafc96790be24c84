"""Several threads: the factors of one thread up to rounding, the same bits from run to run and for any number."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp.compiled.teams import available
from socp.linalg.ldl import factorization
from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.parallel import factor
from socp.linalg.ldl.parallel.subtrees import find_subtrees
from tests.support.sparse_matrices import grid_laplacian, kkt, random_sparse, random_spd, upper

EPS, DELTA = 1e-13, 1e-7
FRONT = 700  # of a dense block: its panel has 1e8 operations


def with_front(K, seed):
    """K with a dense block at the end of its diagonal, and links between the two."""
    n = K.shape[0]
    rng = np.random.default_rng(seed)
    full = np.zeros((n + FRONT, n + FRONT))
    full[:n, :n] = K.toarray()
    B = rng.normal(size=(FRONT, FRONT))
    full[n:, n:] = B @ B.T + 50.0 * FRONT * np.eye(FRONT)
    full[rng.integers(n, size=300), n + rng.integers(FRONT, size=300)] = 0.5
    full[n:, :n] = full[:n, n:].T
    return sp.csc_array(full), np.ones(n + FRONT, np.int64)


CASES = {
    "grid": (grid_laplacian(60, 55), np.ones(3300, np.int64)),
    "full": (random_spd(500, 1.0, 2), np.ones(500, np.int64)),
    "grid and front": with_front(grid_laplacian(40, 30), 3),
    "kkt": kkt(600, 300, 0.02, 6),
    "diagonal": (grid_laplacian(1, 1), np.ones(1, np.int64)),
}


@pytest.fixture(autouse=True)
def at_any_size(monkeypatch):
    """Programs of tests are small."""
    monkeypatch.setattr(factorization, "PANELS", 0.0)
    monkeypatch.setattr(factor, "SHARED_SOLVES", 0)


def factors(name, threads):
    K, signs = CASES[name]
    indptr, indices, data = upper(K)
    return LDL(K.shape[0], indptr, indices, signs, method="supernodal", threads=threads), data


@pytest.mark.parametrize("name", CASES)
def test_the_same_factors_and_solutions(name):
    one, data = factors(name, 1)
    assert one.factors.team.members == 1 and one.factor(data, EPS, DELTA) == 0
    rng = np.random.default_rng(0)
    rhs = rng.normal(size=(2, one.factors.n))
    expected, single = np.empty_like(rhs), np.empty(one.factors.n)
    one.solve(rhs, expected)
    condition = np.linalg.cond(CASES[name][0].toarray())
    bits = {}  # those of one number of threads: BLAS may round a part of a product in another way than the whole
    for threads in (2, 2, 5):
        several, _ = factors(name, threads)
        assert several.factors.team.members == (threads if available() else 1)
        for _ in range(3):
            assert several.factor(data, EPS, DELTA) == 0
            np.testing.assert_allclose(several.d, one.d, rtol=1e-13 * condition)
            found = np.full_like(rhs, np.nan)
            several.solve(rhs, found)
            several.solve(rhs[0], single)
            for each, wanted in ((found, expected), (single, expected[0])):
                assert np.abs(each - wanted).max() <= 1e-13 * condition * np.abs(wanted).max()
            now = several.factors.values.tobytes() + several.d.tobytes() + found.tobytes() + single.tobytes()
            assert bits.setdefault(threads, now) == now


@pytest.mark.parametrize("where", ["in a subtree", "at the top"])
def test_wrong_pivots_and_numbers_that_are_not_finite(where):
    several, data = factors("grid and front", 2)
    one, _ = factors("grid and front", 1)
    assert several.factor(data, EPS, DELTA) == 0
    K = CASES["grid and front"][0]
    indptr = upper(K)[0]
    place = 5 if where == "in a subtree" else K.shape[0] - 1
    wrong = data.copy()
    wrong[indptr[place + 1] - 1] = -1e9
    assert several.factor(wrong, EPS, 1e3) == one.factor(wrong, EPS, 1e3) > 0
    wrong[indptr[place + 1] - 1] = np.nan
    assert several.factor(wrong, EPS, DELTA) == -1 == one.factor(wrong, EPS, DELTA)
    assert several.factor(data, EPS, DELTA) == 0  # and nothing of that is left
    several_again, _ = factors("grid and front", 2)
    assert several_again.factor(data, EPS, DELTA) == 0
    np.testing.assert_array_equal(several.factors.values, several_again.factors.values)


@pytest.mark.parametrize("name", ["grid", "grid and front", "kkt"])
def test_tasks_are_whole_subtrees(name):
    ldl, _ = factors(name, 2)
    tree, subtrees = ldl.factors.tree, find_subtrees(ldl.factors.tree)
    assert subtrees.count > 1 or name == "kkt"
    np.testing.assert_array_equal(np.sort(subtrees.order), np.arange(subtrees.count))
    assert (subtrees.begin < subtrees.end).all() and (subtrees.end[:-1] <= subtrees.begin[1:]).all()
    for t in range(subtrees.count):
        inside = np.arange(subtrees.begin[t], subtrees.end[t])
        assert np.isin(np.flatnonzero(np.isin(tree.parent, inside)), inside).all()  # and with each all its children
        rows = np.concatenate([tree.rows[tree.row_start[k] : tree.row_start[k + 1]] for k in inside])
        wanted = np.unique(rows[rows >= tree.first[subtrees.end[t]]])
        np.testing.assert_array_equal(subtrees.rows[subtrees.row_start[t] : subtrees.row_start[t + 1]], wanted)


def test_threads_of_a_solver_reach_the_factorization():
    rng = np.random.default_rng(0)
    n = 400
    P = sp.csc_array(grid_laplacian(20, 20) + 0.1 * sp.eye_array(n))
    A = sp.csc_array(random_sparse((150, n), density=0.02, rng=rng))
    program = dict(c=rng.normal(size=n), P=P, A=A, b=A @ np.ones(n), G=-sp.eye_array(n), h=np.zeros(n),
                   cones=[socp.NonNeg(n)], kkt="ldl")  # fmt: skip
    one, two, again = (socp.Solver(**program, threads=threads) for threads in (1, 2, 2))
    answers = [solver.solve() for solver in (one, two, again)]
    assert {answer.status for answer in answers} == {"optimal"}
    np.testing.assert_array_equal(answers[1].x, answers[2].x)
    np.testing.assert_allclose(answers[0].x, answers[1].x, atol=1e-6)
    if two.kkt.ldl.method == "supernodal":
        assert two.kkt.factors.team.members == (2 if available() else 1)
