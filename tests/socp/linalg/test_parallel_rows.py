"""Rows that are multiples of each other: found exactly, and no others."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.parallel_rows import may_be_parallel, parallel_rows, row_ratio


def leads(M, wanted=None, first=0, count=None):
    """Return (lead, ratio) of the rows of M, which is an array or sparse."""
    rows = sp.csr_array(M)
    count = rows.shape[0] - first if count is None else count
    wanted = np.ones(count, dtype=np.bool_) if wanted is None else np.array(wanted)
    lead, ratio = np.full(count, -7, dtype=np.int64), np.full(count, np.nan)
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    # the entries are stored in another order
    source = np.random.default_rng(0).permutation(rows.nnz)
    data = np.empty(rows.nnz)
    data[source] = rows.data
    found = parallel_rows(first, indptr, indices, source, data, wanted, lead, ratio)
    assert found == (lead != np.arange(count)).sum()
    return lead, ratio


def test_multiples_to_within_rounding():
    rng = np.random.default_rng(0)
    row, factors = rng.normal(size=40), rng.normal(size=300)
    lead, ratio = leads(np.outer(factors, row))
    assert (lead == 0).all()
    # ratios to the first entry near the edge of two steps
    row[1:] = row[0] * rng.integers(-9, 9, 39)
    assert (leads(np.outer(factors, row))[0] == 0).all()
    # two products and two quotients, each rounded by eps / 2 at most: 2 eps in all
    np.testing.assert_allclose(ratio, factors / factors[0], rtol=10 * np.finfo(float).eps)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_entries_of_extreme_size(scale):
    lead, ratio = leads(scale * np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 2.0], [-2.0, -6.0]]))
    np.testing.assert_array_equal(lead, [0, 1, 0, 1])
    np.testing.assert_array_equal(ratio, [1, 1, 2, -2])


def test_a_ratio_that_is_no_number():
    np.testing.assert_array_equal(leads([[1e300, 1e300], [1e-300, 1e-300]])[0], [0, 1])


def drawn(rng, m=60, n=4):
    """Return small integers times powers of two, their mask of stored entries (some are zeros), and a CSR array."""
    M = rng.integers(-1, 2, size=(m, n)) * 2.0 ** rng.integers(-2, 3, size=(m, 1))
    M[:, -1] *= 1.0 + 1e-12 * (rng.random(m) < 0.2) * rng.integers(1, 3, m) + 1e-14 * (rng.random(m) < 0.1)
    is_stored = (M != 0.0) | (rng.random(M.shape) < 0.2)
    rows = sp.csr_array((M[is_stored], np.nonzero(is_stored)[1], np.append(0, is_stored.sum(axis=1).cumsum())), (m, n))
    return M, is_stored, rows


def are_parallel(M, is_stored, i, r):
    """Return True if rows i and r have equal patterns, nonzero first entries and are exact multiples of each other."""
    k = int(is_stored[i].argmax())
    same = (is_stored[i] == is_stored[r]).all() and (M[i] * M[r, k] == M[r] * M[i, k]).all()
    return same and M[i, k] != 0.0 != M[r, k]


@pytest.mark.parametrize("seed", range(20))
def test_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    M, is_stored, rows = drawn(rng)
    first, count = int(rng.integers(0, 30)), int(rng.integers(0, 31))
    wanted = rng.random(count) < 0.9
    lead, ratio = leads(rows, wanted, first, count)
    for i in range(count):
        same = [r for r in range(i + 1) if wanted[r] and are_parallel(M, is_stored, first + i, first + r)]
        assert lead[i] == (same[0] if wanted[i] and same else i)
        np.testing.assert_array_equal(ratio[i] * M[first + lead[i]], M[first + i])
    stored = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), np.arange(rows.nnz), rows.data
    for i in range(1, 60):  # of rows with equal keys, and of others
        found = [row_ratio(i, r, *stored) if is_stored[[i, r]].any(axis=1).all() else 0.0 for r in range(i)]
        assert [s != 0.0 for s in found] == [are_parallel(M, is_stored, i, r) for r in range(i)]


@pytest.mark.parametrize("seed", range(20))
def test_keys_by_columns_miss_no_parallel_rows(seed):
    rng = np.random.default_rng([seed, 3])
    m, n = int(rng.integers(2, 30)), int(rng.integers(2, 12))
    M = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    M[:, 0] = rng.normal(size=m)
    M[1:, 1] = rng.normal(size=m - 1)
    wanted = rng.random(m) < 0.9
    assert not any_parallel(M, wanted)
    i, j = rng.permutation(m)[:2]
    M[i] = rng.choice([1.0, -1.0, 3.0, rng.normal()]) * M[j]
    assert any_parallel(M, wanted) == (wanted[i] and wanted[j])


def any_parallel(M, wanted):
    """Return `may_be_parallel` of an array."""
    columns = sp.csc_array(M)
    places = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    return may_be_parallel(*places, columns.data, wanted)


def test_keys_by_columns_pass_over_stored_zeros():
    rows = sp.csc_array((np.array([0.0, 0, 0, 1, -2, 0, 2, -4, 0]), np.tile(np.arange(3), 3), 3 * np.arange(4)))
    places = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    assert may_be_parallel(*places, rows.data, np.array([True, True, False]))
    assert not may_be_parallel(*places, rows.data, np.array([True, False, True]))
