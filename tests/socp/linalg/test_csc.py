"""CSC arrays and the kernels on their parts, compared with scipy."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.csc import (
    append_upper,
    csc,
    csc_of_dense,
    have_entries,
    multiply,
    multiply_both,
    multiply_transposed,
    same_places,
    scale,
    scaled_norms,
    transpose,
)


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_dense_to_csc(shape, density):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=shape) * (rng.uniform(size=shape) < density)
    mine, scipys = csc_of_dense(dense), sp.csc_array(dense)
    assert mine.shape == shape and mine.nnz == scipys.nnz
    assert mine.indices.dtype == mine.indptr.dtype == np.int64
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(scipys, name))


def test_parts_make_a_whole_array():
    parts = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 3])
    mine, scipys = csc(*parts, (3, 2)), sp.csc_array(parts, shape=(3, 2))
    mine.check_format(full_check=True)
    assert vars(mine).keys() == vars(scipys).keys()
    assert (str(mine), repr(mine)) == (str(scipys), repr(scipys))
    np.testing.assert_array_equal(mine @ np.array([1.0, 10.0]), [1, 30, 2])
    np.testing.assert_array_equal(mine.T.toarray(), [[1, 0, 2], [0, 3, 0]])
    np.testing.assert_array_equal(mine[:, [1]].toarray(), [[0], [3], [0]])
    assert mine.has_canonical_format and mine.copy().indices.dtype == np.int64
    mine.data[0] = 7.0
    assert parts[0][0] == 7.0  # the arrays are shared, not copied


@pytest.mark.parametrize("m, n", [(5, 7), (6, 3), (1, 4), (4, 0), (0, 4)])
def test_kernels_are_scipys(m, n):
    rng = np.random.default_rng(m)
    dense = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5)
    M = csc_of_dense(dense)
    parts, x, v = (M.indptr, M.indices, M.data), rng.normal(size=n), rng.normal(size=m)
    out = [np.full(size, np.nan) for size in (m, n, m, n, M.nnz)]
    multiply_both(*parts, x, v, out[0], out[1])
    multiply(*parts, x, out[2])
    multiply_transposed(*parts, v, out[3])
    for found, expected in zip(out, (dense @ x, dense.T @ v, dense @ x, dense.T @ v)):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    left, right, norms = rng.random(m) + 0.5, rng.random(n) + 0.5, (np.full(m, 0.4), np.full(n, 0.3))
    scaled_norms(*parts, left, right, *norms)
    scaled = left[:, None] * dense * right
    np.testing.assert_allclose(norms[0], np.abs(scaled).max(axis=1, initial=0.4), rtol=1e-14)
    np.testing.assert_allclose(norms[1], np.abs(scaled).max(axis=0, initial=0.3), rtol=1e-14)
    scale(*parts, left, right, 3.0, out[4])
    np.testing.assert_allclose(csc(out[4], M.indices, M.indptr, M.shape).toarray(), 3.0 * scaled, rtol=1e-14)
    rows = csc(*(np.full(size, -1) for size in (M.nnz, M.nnz, m + 1)), (n, m))
    transpose(m, M.indptr, M.indices, rows.indptr, rows.indices, rows.data)
    rows.data = M.data[rows.data]
    np.testing.assert_array_equal(rows.toarray(), dense.T)
    assert rows.has_sorted_indices and same_places(rows, csc_of_dense(dense.T.copy())) and same_places(M, M.copy())
    assert M.nnz == 0 or not same_places(M, csc_of_dense(np.ones((m, n))))
    M.data[::3], columns, marked = 0.0, rng.permutation(n)[: n // 2 + 1], rng.random(m) < 0.5
    for chosen in (marked, np.ones(0, bool)):
        has = np.zeros(columns.size, bool)
        have_entries(*parts, chosen, columns, has)
        np.testing.assert_array_equal(has, M.toarray()[chosen if chosen.size else slice(None)][:, columns].any(axis=0))


@pytest.mark.parametrize("second", [0, 3])
def test_upper_triangles_one_after_the_other(second):
    """Append the upper triangles of two diagonal blocks: the second's columns follow those of the first."""
    rng = np.random.default_rng(second)
    blocks, n = [np.triu(rng.normal(size=(k, k)) * (rng.random((k, k)) < 0.5)) for k in (4, second)], 4 + second
    raised, indptr = rng.normal(size=n), np.full(n + 1, -1)
    indices, data = np.full(n * n, -1), np.full(n * n, np.nan)
    # the first block has both triangles; the row indices of the second are local
    first, other = csc_of_dense(blocks[0] + np.triu(blocks[0], 1).T), csc_of_dense(np.zeros((n, second)))
    append_upper(first.indptr, first.indices, first.data, raised[:4], 0, indptr, indices, data)
    if second:
        other = csc_of_dense(np.vstack([np.ones((4, second)), blocks[1]]))
        append_upper(other.indptr, other.indices, other.data, raised[4:], 4, indptr, indices, data)
    found = sp.csc_array((data[: indptr[-1]], indices[: indptr[-1]], indptr), shape=(n, n))
    expected = np.diag(raised)
    expected[:4, :4] += blocks[0]
    expected[4:, 4:] += blocks[1] if second else 0.0
    expected[:4, 4:] = 1.0
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    assert found.has_sorted_indices and all(found.indices[found.indptr[1:] - 1] == np.arange(n))
