"""Rows that are multiples of each other: found exactly, and no others."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.parallel_rows import may_be_parallel, parallel_rows


def leads(M, wanted=None, first=0, count=None):
    """(lead, ratio) of the rows of M, an array or sparse."""
    rows = sp.csr_array(M)
    count = rows.shape[0] - first if count is None else count
    wanted = np.ones(count, dtype=np.bool_) if wanted is None else np.array(wanted)
    lead, ratio = np.full(count, -7, dtype=np.int64), np.full(count, np.nan)
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    # the entries lie in another order than the rows'
    source = np.random.default_rng(0).permutation(rows.nnz)
    data = np.empty(rows.nnz)
    data[source] = rows.data
    found = parallel_rows(first, indptr, indices, source, data, wanted, lead, ratio)
    assert found == (lead != np.arange(count)).sum()
    return lead, ratio


def stored(rows):
    """A sparse matrix of full rows, stored zeros included."""
    rows = np.array(rows, dtype=float)
    m, n = rows.shape
    return sp.csr_array((rows.ravel(), np.tile(np.arange(n), m), n * np.arange(m + 1)), shape=rows.shape)


def test_a_range_counts_from_its_first_row():
    lead, ratio = leads([[1, 1], [2, 2], [1, 3], [3, 3], [2, 6], [4, 4]], first=1, count=4)
    np.testing.assert_array_equal(lead, [0, 1, 0, 1])
    np.testing.assert_array_equal(ratio, [1, 1, 1.5, 2])


def test_unwanted_rows_neither_lead_nor_follow():
    lead, ratio = leads([[1, 1], [2, 2], [3, 3], [4, 4]], [False, True, False, True])
    np.testing.assert_array_equal(lead, [0, 1, 2, 1])
    np.testing.assert_array_equal(ratio, [1, 1, 1, 2])


def test_empty_rows_and_rows_that_begin_with_a_zero_stay_apart():
    np.testing.assert_array_equal(leads(np.zeros((3, 4)))[0], [0, 1, 2])
    np.testing.assert_array_equal(leads(stored([[0, 1], [0, 1], [1, 1], [1, 1]]))[0], [0, 1, 2, 2])


def test_stored_zeros_belong_to_the_pattern():
    full = stored([[1, 0, 2], [2, 0, 4]])
    np.testing.assert_array_equal(leads(full)[0], [0, 0])
    mixed = sp.csr_array((np.array([1.0, 0.0, 2.0, 2.0, 4.0]), [0, 1, 2, 0, 2], [0, 3, 5]), shape=(2, 3))
    np.testing.assert_array_equal(leads(mixed)[0], [0, 1])


def test_nearly_parallel_rows_stay_apart():
    lead, _ = leads([[1, 2], [1, 2 + 1e-14], [2, 4], [1, -2], [-1, 2]])
    np.testing.assert_array_equal(lead, [0, 1, 0, 3, 3])


def test_multiples_to_within_rounding():
    rng = np.random.default_rng(0)
    row, factors = rng.normal(size=40), rng.normal(size=300)
    lead, ratio = leads(np.outer(factors, row))
    assert (lead == 0).all()
    # shares of the first on the edge of two steps, but for rounding
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


def test_equal_keys_of_rows_that_are_not_parallel():
    # keys tell entries apart to 2^-20 of the first: all of these have one key, and the search walks on
    rows = [[1.0, 1.0 + k * 1e-12] for k in range(5)]
    lead, ratio = leads(rows + [[2.0, 2.0 + 2 * k * 1e-12] for k in range(5)])
    np.testing.assert_array_equal(lead, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(ratio, [1] * 5 + [2] * 5)


@pytest.mark.parametrize("seed", range(10))
def test_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    M = rng.integers(-1, 2, size=(60, 4)).astype(float)
    lead, ratio = leads(M)
    for i in range(60):
        parallel = [r for r in range(60) if M[r].any() and np.linalg.matrix_rank(M[[i, r]]) == 1]
        assert lead[i] == (min(parallel) if M[i].any() else i)
        np.testing.assert_array_equal(ratio[i] * M[lead[i]], M[i])


def test_no_rows():
    assert leads(np.zeros((0, 3)))[0].size == 0


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
    """`may_be_parallel` of an array."""
    columns = sp.csc_array(M)
    places = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    return may_be_parallel(*places, columns.data, wanted)


def test_keys_by_columns_pass_over_stored_zeros():
    rows = sp.csc_array(stored([[0, 1, 2], [0, -2, -4], [0, 0, 0]]))
    places = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    assert may_be_parallel(*places, rows.data, np.array([True, True, False]))
    assert not may_be_parallel(*places, rows.data, np.array([True, False, True]))
