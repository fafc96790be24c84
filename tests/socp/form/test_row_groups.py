"""Bounds and parallel rows of the orthant: found, and found again after new values."""

import numpy as np
import pytest

from socp import ConeProgram, NonNeg
from socp.form.row_groups import RowGroups
from socp.form.standard import StandardForm


def groups_of(G, equilibrate=False):
    G = np.asarray(G, dtype=float)
    form = StandardForm(ConeProgram(np.ones(G.shape[1]), G, np.ones(G.shape[0]), [NonNeg(G.shape[0])]), equilibrate)
    rows = form.rows_of_M()
    return form, rows, RowGroups(0, form.l, rows, form.raw_M)


def test_bounds_and_pairs():
    _, _, groups = groups_of([[1, 2, 0], [0, -4, 0], [-1, -2, 0], [0, 1, 1], [3, 0, 0], [1, 2, 0]])
    np.testing.assert_array_equal(groups.variable, [-1, 1, -1, -1, 0, -1])
    np.testing.assert_array_equal(groups.group, [0, -1, 0, 1, -1, 0])
    np.testing.assert_array_equal(groups.representative, [0, 3])
    np.testing.assert_array_equal(groups.sign[[0, 2, 5, 3]], [1, -1, 1, 1])


def test_nearly_parallel_rows_stay_apart():
    _, _, groups = groups_of([[1, 2], [1, 2 + 1e-15], [2, 4], [1, -2], [-1, 2]])
    np.testing.assert_array_equal(groups.group, [0, 1, 2, 3, 3])


def test_empty_rows_stay_apart():
    _, _, groups = groups_of([[0, 0], [0, 0], [1, 1]])
    assert groups.count == 3 and (groups.variable == -1).all()


def test_many_copies_of_a_few_rows():
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(7, 5))
    which, sign = rng.integers(7, size=200), rng.choice([-1.0, 1.0], 200)
    form, _, groups = groups_of(sign[:, None] * distinct[which])
    assert groups.count == 7
    for i in range(200):
        lead = groups.representative[groups.group[i]]
        assert which[lead] == which[i]
        assert groups.sign[i] == sign[i] * sign[lead]
    assert form.l == 200


@pytest.mark.parametrize("seed", range(5))
def test_factors_under_equilibration(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-3, 4, size=(6, 1))
    G[3], G[4], G[5] = -G[0], [0, 7, 0, 0], G[1]
    form, _, groups = groups_of(G, equilibrate=True)
    # scaled row i is coefficient times the scaled row of its representative
    M = form.E[:, None] * G * form.D
    coefficient = groups.coefficients(form.E, form.M_data)
    assert groups.count == 3
    for i in range(6):
        if groups.group[i] >= 0:
            np.testing.assert_allclose(M[i], coefficient[i] * M[groups.representative[groups.group[i]]], rtol=1e-14)
        else:
            np.testing.assert_allclose(coefficient[i], M[i, groups.variable[i]], rtol=1e-14)


def test_new_values_may_break_a_group():
    form, rows, groups = groups_of([[1, 2], [-1, -2], [3, 0]])
    data = form.raw_M.copy()
    assert groups.still_hold(rows, data)
    assert groups.still_hold(rows, 2.0 * data)
    assert groups.still_hold(rows, -data)
    data[rows[2][rows[0][1]]] = 5.0  # the first entry of row 1
    assert not groups.still_hold(rows, data)
