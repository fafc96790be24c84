"""Rows of dense and of sparse samples are read alike; random orders are orders."""

import numpy as np
import pytest
import scipy.sparse as sp

from models.base.rows import Rows, add_row, draw, row_times, rows_of
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Ints


@kernel
def visit(rows: Rows, w: Floats, products: Floats, order: Ints) -> None:
    random = 5
    for k in range(order.size):
        random = draw(order, k, order.size, random)
        products[order[k]] = row_times(rows, order[k], w)
    for k in range(order.size):
        add_row(rows, k, products[k], w)


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csr_array, lambda X: X[:, ::1][::-1][::-1]])
def test_products_with_rows_and_sums_of_rows(form, bias):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.6), rng.normal(size=6)
    X[3] = 0.0
    whole = np.hstack([X, np.full((9, 1), bias)])
    found, products, order = w.copy(), np.zeros(9), np.arange(9)
    visit(rows_of(form(X), bias), found, products, order)
    np.testing.assert_allclose(products, whole @ w, atol=1e-14)
    np.testing.assert_allclose(found, w + whole.T @ products, atol=1e-13)
    assert sorted(order) == list(range(9)) and (order != np.arange(9)).any()
