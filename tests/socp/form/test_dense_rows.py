"""Rows of M as dense arrays: without bounds, the two sides of a row merged, rows of cones scaled."""

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder
from socp.form.dense_rows import DenseRows, multiply_M, multiply_M_both, multiply_M_transposed, scale_rows, spread_rows
from socp.form.row_groups import weigh_rows
from socp.form.standard import StandardForm
from tests.support.cone_points import matrices
from tests.support.standard_forms import DIMENSIONS, dense_M, mixture, scaling_point


def test_sides_of_rows_are_one_row():
    A = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
    G = np.vstack([A, -A, np.eye(3), [[0.0, 5.0, 0.0]], 2.0 * A[:1]])
    form = StandardForm(ConeProgram(np.zeros(3), G, np.ones(9), [NonNeg(9)]), False)
    rows = DenseRows(form)
    np.testing.assert_array_equal(form.groups.group, [0, 1, 0, 1, -1, -1, -1, -1, 0])
    np.testing.assert_array_equal(form.groups.variable, [-1, -1, -1, -1, 0, 1, 2, 1, -1])
    np.testing.assert_array_equal(form.groups.coefficient, [1, 1, -1, -1, 1, 1, 1, 5, 2])
    np.testing.assert_array_equal(rows.M.reshape(2, 3), A)
    assert rows.count == 2 and rows.bounded


def test_equalities_and_missing_bounds():
    A = np.array([[1.0, -7.0, 0.0], [0.0, 0.0, 2.0]])
    G = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    rows = DenseRows(StandardForm(ConeProgram(np.zeros(3), G, np.ones(2), [NonNeg(2)], A, np.ones(2)), False))
    np.testing.assert_array_equal(rows.M.reshape(2, 3), A)
    assert rows.largest == 7.0 and not rows.bounded and rows.count == 0


@pytest.mark.parametrize("dims", DIMENSIONS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_scaled_rows(seed, dims):
    form = mixture(seed, dims)
    w, eta = scaling_point(form, seed)
    rows, diagonal = DenseRows(form), np.zeros(form.n)
    weigh_rows(form.groups, w, diagonal)
    scale_rows(form, rows, w, eta, rows.scaled)
    scaled = rows.scaled.reshape(rows.count, form.n)
    # G'W^-2 G, also with merged rows and bounds on the diagonal
    M = matrices(form.l, form.ptr, w, eta)[1] @ dense_M(form)[form.p :]
    np.testing.assert_allclose(
        np.diag(diagonal) + scaled.T @ scaled, M.T @ M, rtol=1e-9, atol=1e-10 * np.abs(M.T @ M).max()
    )
    np.testing.assert_allclose(scaled[form.groups.count :], M[form.l :], rtol=1e-9, atol=1e-11 * np.abs(M).max())
    np.testing.assert_array_equal(rows.M.reshape(-1, form.n)[: form.p], dense_M(form)[: form.p])


def test_new_values():
    cones = [NonNeg(4), SecondOrder(3)]
    G = np.vstack([[[1.0, 2.0], [-1.0, -2.0], [0.0, 3.0], [1.0, 1.0]], np.random.default_rng(0).normal(size=(3, 2))])
    form = StandardForm(ConeProgram(np.zeros(2), G, np.ones(7), cones, [[1.0, 1.0]], [1.0]))
    rows = DenseRows(form)
    form.M_data *= 1.5
    spread_rows(form, rows)
    np.testing.assert_array_equal(rows.M.reshape(6, 2), dense_M(form)[[0, 1, 4, 5, 6, 7]])
    assert rows.largest == dense_M(form)[0].max()


@pytest.mark.parametrize("cones", [(NonNeg(25),), (NonNeg(25), SecondOrder(6), SecondOrder(3))], ids=str)
def test_products_by_spread_rows(cones):
    rng = np.random.default_rng(1)
    G = rng.normal(size=(8, 7))
    G = np.vstack([G, -G, np.eye(7), 3.0 * G[:1], np.zeros((1, 7))])
    G = np.vstack([G, rng.normal(size=(sum(cone.dim for cone in cones[1:]), 7))])
    program = ConeProgram(np.zeros(7), G, np.ones(len(G)), cones, rng.normal(size=(3, 7)), np.ones(3))
    form, x = StandardForm(program), rng.normal(size=9)
    M, v = dense_M(form), rng.normal(size=3 + len(G))
    DenseRows(form)
    assert form.is_spread
    for _ in range(2):  # by BLAS, then by the entries
        Mx, Mtv, both = np.empty(v.size), np.empty(7), (np.empty(v.size), np.empty(7))
        multiply_M(form, x, Mx)
        multiply_M_transposed(form, v, Mtv)
        multiply_M_both(form, x, v, *both)
        np.testing.assert_allclose(np.concatenate([Mx, both[0]]), np.tile(M @ x[:7], 2), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(np.concatenate([Mtv, both[1]]), np.tile(v @ M, 2), rtol=1e-12, atol=1e-13)
        form.refresh(program)
        assert not form.is_spread
