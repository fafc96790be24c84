"""Packed data compared with the program of the same arguments: contents, counts, and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from qp import QuadraticProgram
from qp.problem.packed import empty_block, fill, parts_of, put_matrix, unpack

INF = np.inf


def drawn(seed, of_P, of_A, density, n=5, m=3):
    """Return P, A and the vectors; `of_P` and `of_A` convert the matrices, or are None for no matrix."""
    rng = np.random.default_rng(seed)
    full = [rng.normal(size=shape) * (rng.random(shape) < density) for shape in ((n, n), (m, n))]
    full[0] += full[0].T
    P, A = (None if kind is None else kind(M) for kind, M in zip((of_P, of_A), full))
    m = 0 if A is None else m
    sides = [np.sort(rng.normal(size=(2, size)), axis=0) for size in (m, n)]
    for low, up in sides:
        low[::2], up[1::3] = -INF, INF
    return P, A, [rng.normal(size=n), *sides[0], *sides[1]]


def filled(P, A, vectors, is_checked=False):
    n, m = vectors[0].size, vectors[1].size
    of_P, of_A = parts_of(P, n, n), parts_of(A, m, n)
    block = empty_block(of_P, of_A, n, m)
    block[:] = np.nan
    return fill((of_P[0], of_A[0]), tuple(vectors), (*of_P[1:], *of_A[1:]), block, is_checked), block


@pytest.mark.parametrize("density", [0.3, 1.0])
@pytest.mark.parametrize("of_P", [np.array, sp.csc_array, None])
@pytest.mark.parametrize("of_A", [np.array, sp.csc_matrix, None])
def test_a_block_is_its_program(of_P, of_A, density):
    for seed in range(3):
        P, A, vectors = drawn(seed, of_P, of_A, density)
        found, block = filled(P, A, vectors)
        q, l, u, lb, ub = vectors
        program = QuadraticProgram(P, q, A, *(None, None) if A is None else (l, u), lb, ub, 7.0)
        entries = program.n**2 if program.hessian.is_full else program.hessian.entries
        stored = 0 if A is None else program.A.data.size
        assert found == (entries << 32) + stored and filled(P, A, vectors, True)[0] == 0
        back = unpack(block, 7.0)
        for name in ("q", "l", "u", "lb", "ub", "offset"):
            np.testing.assert_array_equal(getattr(back, name), getattr(program, name))
        np.testing.assert_array_equal(back.A.toarray(), program.A.toarray())
        np.testing.assert_array_equal(back.hessian.dense(), program.hessian.dense())
        n, m, of_P_, of_A_, *is_sparse = block[:6].view(np.int64).tolist()
        at, places = 6, 6 + of_P_ + of_A_ + 3 * n + 2 * m
        for M, rows, count, by_columns in ((P, n, of_P_, is_sparse[0]), (A, m, of_A_, is_sparse[1])):
            out = np.full(rows * n, np.nan)
            put_matrix(block, at, places, count, n, bool(by_columns), out)
            expected = np.zeros((rows, n)) if M is None else M.toarray() if sp.issparse(M) else M
            np.testing.assert_array_equal(out.reshape(rows, n), expected)
            assert by_columns == sp.issparse(M)
            at, places = at + count, places + by_columns * (n + 1 + count)


@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
def test_what_a_program_would_not_hold_is_refused(kind):
    """Spoil each entry of each part, one at a time."""
    P, A, vectors = drawn(0, kind, kind, 1.0)
    assert filled(P, A, vectors)[0] == (25 << 32) + 15
    for M in (P, A):
        data = M.data if sp.issparse(M) else M.reshape(-1)
        for k in range(data.size):
            for bad in (np.nan, INF, 9.0):
                before, data[k] = data[k], bad
                on_diagonal = M is P and k % 6 == 0
                assert (filled(P, A, vectors)[0] == -1) == (bad != 9.0 or (M is P and not on_diagonal))
                data[k] = before
    if sp.issparse(A):
        for M in (P, A):
            M.indices[[3, 4]] = M.indices[[4, 3]] if M is P else M.indices[[4, 4]]
            assert filled(P, A, vectors)[0] == -1
            M.indices[[3, 4]] = np.array([3, 4]) % M.shape[0]
    vectors[1][:], vectors[3][:], vectors[2][:], vectors[4][:] = -INF, -INF, INF, INF
    for number, part in enumerate(vectors):
        for k in range(part.size):
            for bad in (np.nan, -INF, INF, *(2e20, -2e20) * (number > 0)):
                before, part[k] = part[k], bad
                assert (filled(P, A, vectors)[0] == -1) == (bad != before)
                part[k] = before
    for low, up in ((1, 2), (3, 4)):
        for k in range(vectors[low].size):
            vectors[low][k], vectors[up][k] = 1.0, 0.9
            assert filled(P, A, vectors)[0] == -1
            vectors[up][k] = 1.0
            assert filled(P, A, vectors)[0] >= 0


@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
def test_half_of_the_entries_are_not_most_of_them(kind):
    for n in (1, 2, 3):
        P, vectors = kind(np.fliplr(np.diag(np.ones(n)))), [np.zeros(size) for size in (n, 0, 0, n, n)]
        is_full = QuadraticProgram(P, vectors[0]).hessian.is_full
        assert filled(P, None, vectors)[0] == n << 32 and is_full == (n == 1 and kind is np.array)


def test_what_a_kernel_cannot_read():
    full, thin = np.ones((2, 3)), sp.csc_array(np.ones((2, 3)))
    for matrix in (full.T, full[:, :2], full.astype(np.float32), np.asfortranarray(full), thin.tocsr(), thin.T,
                   thin.astype(np.float32), [[1.0, 2.0, 3.0]] * 2):  # fmt: skip
        assert parts_of(matrix, 2, 3) is None
    assert parts_of(full, 2, 3)[0].base is full and parts_of(thin, 2, 3)[0] is thin.data
    assert [part.size for part in parts_of(None, 2, 3)] == [0, 0, 0]
