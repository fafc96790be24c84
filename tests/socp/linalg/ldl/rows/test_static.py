"""Columns of L that are kept between factorizations as long as the corresponding part of K is unchanged."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, NonNeg, SecondOrder
from socp.form.standard import StandardForm
from socp.kkt.assembly import KKTMatrix
from socp.kkt.sparse import SparseKKT
from socp.linalg.ldl.factorization import LDL
from tests.support.kkt_systems import factor_precisely
from tests.support.sparse_matrices import random_sparse, upper
from tests.support.standard_forms import scaling_point

from ..test_factorization import DELTA, EPS, dense_ldl


def normal_equations(samples, features, seed, density=0.3):
    """Return [I D; D' -S], its signs, and a mask of the columns of I, which are static if only S changes."""
    rng = np.random.default_rng(seed)
    D = random_sparse((samples, features), density=density, rng=rng) + sp.eye_array(samples, features)
    K = sp.csc_array(
        sp.block_array([[sp.eye_array(samples), D], [D.T, -sp.diags_array(rng.uniform(1.0, 2.0, features))]])
    )
    signs = np.repeat([1, -1], [samples, features])
    return K, signs, np.repeat([True, False], [samples, features])


def factors(K, signs, fixed):
    indptr, indices, data = upper(K)
    return LDL(indptr, indices, signs, static=fixed, method="four-wide"), data, indptr[1:] - 1


@pytest.mark.parametrize(("samples", "features"), [(40, 12), (90, 30), (70, 33), (60, 5)])
def test_later_factorizations_are_those_of_the_whole(samples, features):
    K, signs, fixed = normal_equations(samples, features, samples)
    ldl, data, diagonal = factors(K, signs, fixed)
    assert ldl.factors.static_columns == samples
    rng = np.random.default_rng(0)
    for step in range(4):
        data[diagonal[samples:]] = -rng.uniform(0.5, 3.0, features)
        K = sp.csc_array(K - sp.diags_array(K.diagonal()) + sp.diags_array(data[diagonal]))
        assert ldl.factor(data, EPS, DELTA) == 0
        _, d, _ = dense_ldl(K.toarray()[np.ix_(ldl.perm, ldl.perm)], signs[ldl.perm], EPS, DELTA)
        np.testing.assert_allclose(ldl.d, d, rtol=1e-11)
        x = np.empty(K.shape[0])
        ldl.solve(K @ np.arange(1.0, K.shape[0] + 1), x)
        np.testing.assert_allclose(x, np.arange(1.0, K.shape[0] + 1), rtol=1e-9)
        if step == 2:  # change the constant part
            data[diagonal[:samples]] = 2.0
    fresh, *_ = factors(K, signs, None)
    assert fresh.factors.static_columns == 0
    assert fresh.factor(data, EPS, DELTA) == 0
    np.testing.assert_allclose(np.sort(fresh.d), np.sort(ldl.d), rtol=1e-11)


def test_the_constant_part_is_computed_once():
    K, signs, fixed = normal_equations(50, 15, 1)
    ldl, data, diagonal = factors(K, signs, fixed)
    assert ldl.factor(data, EPS, DELTA) == 0
    ldl.d[: ldl.factors.static_columns] = 7.0  # it is not overwritten
    data[diagonal[50:]] *= 2.0
    assert ldl.factor(data, EPS, DELTA) == 0
    assert (ldl.d[: ldl.factors.static_columns] == 7.0).all()
    assert ldl.factor(data, EPS, 2.0 * DELTA) == 0  # another delta may replace other pivots
    assert (ldl.d[: ldl.factors.static_columns] == 1.0).all()
    data[diagonal[3]] = 1.5
    assert ldl.factor(data, EPS, DELTA) == 0
    assert sorted(ldl.d[: ldl.factors.static_columns]) == [1.0] * 49 + [1.5]


def test_what_counts_as_a_wrong_pivot_is_part_of_what_is_kept():
    K, signs, fixed = normal_equations(50, 15, 1)
    ldl, data, diagonal = factors(K, signs, fixed)
    data[diagonal[4]] = 1e-3
    for eps, wrong in ((EPS, 0), (1e-2, 1), (EPS, 0)):
        assert ldl.factor(data, eps, DELTA) == wrong


def test_wrong_pivots_and_bad_numbers_of_the_constant_part():
    K, signs, fixed = normal_equations(50, 15, 2)
    ldl, data, diagonal = factors(K, signs, fixed)
    good = data.copy()
    data[diagonal[[4, 9]]] = -1.0
    for _ in range(2):  # replaced pivots of kept columns are counted again
        assert ldl.factor(data, EPS, DELTA) == 2
    for place in (diagonal[4], diagonal[55]):  # a static column, and another one
        data = good.copy()
        data[place] = np.nan
        for _ in range(2):
            assert ldl.factor(data, EPS, DELTA) == -1
        assert ldl.factor(good, EPS, DELTA) == 0
        x = np.empty(K.shape[0])
        ldl.solve(K @ np.ones(K.shape[0]), x)
        np.testing.assert_allclose(x, 1.0, rtol=1e-10)


def test_what_stays_of_a_kkt_matrix():
    # x0, x1, x2 free with 1/2 x0^2, x3 >= 0, x4 in an orthant row, x5 in a cone, an equation in x0 and x3
    n = 6
    G = sp.lil_array((5, n))
    G[0, 3], G[1, 4], G[1, 0], G[2, 5], G[3, 5], G[4, 1] = -1.0, -1.0, 1.0, -1.0, -2.0, 1.0
    A = sp.lil_array((1, n))
    A[0, 0] = A[0, 3] = 1.0
    program = ConeProgram(np.ones(n), sp.csc_array(G), np.ones(5), [NonNeg(2), SecondOrder(3)], sp.csc_array(A), [1.0],
                          sp.diags_array([1.0, 0, 0, 0, 0, 0]))  # fmt: skip
    form = StandardForm(program)
    kkt = SparseKKT(form, 1e-8, 10)
    matrix, rhs = KKTMatrix(form), np.ones(form.n + form.p + form.m)
    held = []
    for seed in range(3):
        factor_precisely(kkt, *scaling_point(form, seed), rhs, np.empty_like(rhs))
        full = sp.csc_array((kkt.matrix.data, kkt.matrix.indices, kkt.matrix.indptr), shape=(matrix.size,) * 2)
        held.append((full + sp.triu(full, 1).T).toarray())
    changing = (held[0] != held[1]).any(axis=0) | (held[0] != held[2]).any(axis=0)
    assert not (matrix.static & changing).any()
    assert matrix.static[[0, 2, n]].all() and not matrix.static[[3, 1, 5]].any()
