"""Merged copies of samples: equal results for dense and sparse samples, weights and repetitions, in any order."""

import numpy as np
import scipy.sparse as sp

from models.base.copies import merge_copies


def test_weights_repetitions_and_orders_are_one():
    rng = np.random.default_rng(0)
    X, codes, weight = rng.integers(0, 2, size=(40, 3)).astype(float), rng.integers(0, 2, 40), rng.integers(1, 4, 40)
    X[3] = -0.0  # equal to zero
    first, weights, owner = merge_copies(X, codes, weight.astype(float))
    np.testing.assert_array_equal(X[first][owner], X)
    np.testing.assert_array_equal(codes[first][owner], codes)
    assert weights.sum() == weight.sum()
    assert len(np.unique(np.column_stack([X, codes])[first], axis=0)) == first.size
    rows = rng.permutation(np.repeat(np.arange(40), weight))
    for samples in (X[rows], sp.csr_array(X[rows]), sp.coo_array(X[rows])):
        again, sums, _ = merge_copies(samples, codes[rows], np.ones(rows.size))
        np.testing.assert_array_equal(X[rows][again], X[first])
        np.testing.assert_array_equal(codes[rows][again], codes[first])
        np.testing.assert_array_equal(sums, weights)


def test_rows_whose_sums_round_to_the_same_are_no_copies():
    X = np.array([[1e17, 1.0], [1e17, 2.0], [1e17, 1.0], [1e17, 2.0], [1e17, 3.0]])
    for samples in (X, sp.csr_array(X)):
        first, weights, owner = merge_copies(samples, np.zeros(5, dtype=np.int64), np.ones(5))
        np.testing.assert_array_equal(X[first][owner], X)
        assert weights.sum() == 5.0
