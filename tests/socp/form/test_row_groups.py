"""Bounds and parallel rows of the orthant: found, and found again after new values."""

import numpy as np
import pytest

from socp import ConeProgram, NonNeg
from socp.form.row_groups import recover_orthant, reduce_orthant, weigh_rows
from socp.form.standard import StandardForm


def groups_of(G, equilibrate=False, equations=0):
    G = np.asarray(G, dtype=float)
    (m, n), A = G.shape, np.eye(equations, G.shape[1])
    form = StandardForm(ConeProgram(np.ones(n), G, np.ones(m), [NonNeg(m)], A, np.ones(equations)), equilibrate)
    return form, form.groups


@pytest.mark.parametrize("equations", [0, 2])
def test_bounds_and_pairs(equations):
    G = [[1, 2, 0], [0, -4, 0], [-1, -2, 0], [0, 1, 1], [3, 0, 0], [1, 2, 0], [0, -3, -3]]
    _, groups = groups_of(G, equations=equations)
    np.testing.assert_array_equal(groups.variable, [-1, 1, -1, -1, 0, -1, -1])
    np.testing.assert_array_equal(groups.group, [0, -1, 0, 1, -1, 0, 1])
    np.testing.assert_array_equal(groups.representative[: groups.count], [0, 3])
    np.testing.assert_array_equal(groups.lead[[0, 2, 3, 5, 6]], [0, 0, 3, 0, 3])
    np.testing.assert_array_equal(groups.ratio[[0, 2, 5, 3, 6]], [1, -1, 1, 1, -3])
    np.testing.assert_array_equal(groups.coefficient, [1, -4, -1, 1, 3, 1, -3])


@pytest.mark.parametrize("seed", range(5))
def test_factors_under_equilibration(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-3, 4, size=(6, 1))
    G[3], G[4], G[5] = -G[0], [0, 7, 0, 0], 2.0 * G[1]
    form, groups = groups_of(G, equilibrate=True)
    # scaled row i is coefficient times the scaled row of its representative
    M = form.E[:, None] * G * form.D
    coefficient = groups.coefficient
    assert groups.count == 3
    for i in range(6):
        if groups.group[i] >= 0:
            np.testing.assert_allclose(M[i], coefficient[i] * M[groups.representative[groups.group[i]]], rtol=1e-14)
        else:
            np.testing.assert_allclose(coefficient[i], M[i, groups.variable[i]], rtol=1e-14)


def test_new_values_may_break_a_group():
    form, groups = groups_of([[1, 2], [-1, -2], [3, 0]])
    data, rows = form.raw_M.copy(), (form.Mt_indptr, form.Mt_indices, form.Mt_source)
    for factor in (1.0, 2.0, -1.0):
        form.raw_M = factor * data
        assert form.groups_hold()
    kept = groups.lead.copy(), groups.ratio.copy(), groups.group.copy()
    broken = data.copy()
    broken[rows[2][rows[0][1]]] = 5.0  # the first entry of row 1
    form.raw_M = broken
    assert not form.groups_hold()
    for before, after in zip(kept, (groups.lead, groups.ratio, groups.group)):
        np.testing.assert_array_equal(after, before)  # the groups still belong to the old values


def test_new_factors_in_a_group():
    form, groups = groups_of([[1, 2], [-1, -2]])
    rows = form.Mt_indptr, form.Mt_indices, form.Mt_source
    form.raw_M = form.M_data = form.raw_M.copy()
    form.raw_M[rows[2][rows[0][1] : rows[0][2]]] *= 3.0
    assert form.groups_hold()
    np.testing.assert_array_equal(groups.coefficient, [1.0, -3.0])


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_a_scaling(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(7, 3))
    G[3], G[4], G[5], G[6] = -2.0 * G[0], [0, 7, 0], [0, -0.5, 0], 0.5 * G[0]
    form, groups = groups_of(G, equilibrate=True)
    w, diagonal = rng.uniform(0.1, 2.0, 7), np.ones(3)
    weigh_rows(groups, w, diagonal)
    # G'W^-2 G is the sum over bounds and weighted representatives
    M = form.E[:, None] * G * form.D
    lead = M[groups.representative[: groups.count]]
    found = np.diag(diagonal - 1.0) + lead.T * groups.theta[: groups.count] @ lead
    np.testing.assert_allclose(found, M.T * w**-2.0 @ M, rtol=1e-12, atol=1e-14)
    parts = [0, 3, 6]
    assert groups.heaviest[0] == parts[int(np.argmax((groups.coefficient[parts] / w[parts]) ** 2))]


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_merged_rows_are_those_of_each(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(8, 3))
    G[3], G[4], G[5], G[6], G[7] = -2.0 * G[0], [0, 7, 0], [0, -0.5, 0], 0.5 * G[0], 3.0 * G[2]
    form, groups = groups_of(G, equilibrate=True)
    w, dx, rz, r1 = rng.uniform(0.1, 2.0, 8), rng.normal(size=3), rng.normal(size=8), rng.normal(size=3)
    weigh_rows(groups, w, np.ones(3))
    M = form.E[:, None] * G * form.D / w[:, None]
    count, bounds, rhs = groups.count, groups.variable >= 0, np.concatenate([r1, rz])
    t, out, lead = np.empty(count), np.empty(3 + count), groups.representative[:count]
    reduce_orthant(groups, 3, rhs, t, out)
    np.testing.assert_allclose(out[:3], r1 + M[bounds].T @ rz[bounds])
    totals = [groups.scaled[groups.group == r] @ rz[groups.group == r] for r in range(count)]
    np.testing.assert_allclose(out[3:], totals / groups.theta[:count])
    v = groups.theta[:count] * ((M[lead] @ dx) / groups.scaled[lead]) - totals
    found = np.ones(11)
    recover_orthant(groups, 3, rhs, t, np.concatenate([dx, v]), found)
    np.testing.assert_allclose(found - 1.0, np.concatenate([dx, M @ dx - rz]), atol=1e-12)
