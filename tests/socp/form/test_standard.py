"""The standard form: rows in order, equilibration and its inverse, refreshed values."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.form.standard import COST_LIMIT, LIMIT, PASSES, WIDE, StandardForm, hessian_scales
from socp.linalg.csc import append_upper
from socp.method.newton import Point, unscale
from socp.problem.hessian import SparseHessian
from tests.support.programs import planted_optimum, random_hessian
from tests.support.standard_forms import dense_M, operator_matrix


def full(P, n):
    return np.zeros((n, n)) if P is None else P if isinstance(P, np.ndarray) else P.toarray()


@pytest.fixture(params=range(8))
def program(request):
    return planted_optimum(np.random.default_rng(request.param), density=0.6)[0]


@pytest.mark.parametrize("equilibrate", [True, False])
def test_scaling_undone_is_the_program(program, equilibrate):
    form = StandardForm(program, equilibrate)
    n, p = form.n, form.p
    D, E, f = form.D, form.E, form.cost_scale
    M = dense_M(form) / E[:, None] / D
    np.testing.assert_allclose(M[:p], program.A.toarray(), rtol=1e-14)
    np.testing.assert_allclose(M[p:], program.G.toarray()[form.rows], rtol=1e-14)
    moved = ConeProgram(2.0 * program.c, program.G, program.h + 1.0, program.cones, program.A, -program.b, program.P)
    for each in (program, moved):
        form.refresh_vectors(each)
        np.testing.assert_allclose(form.g[:p] / E[:p], each.b, rtol=1e-14)
        np.testing.assert_allclose(form.g[p:] / E[p:], each.h[form.rows], rtol=1e-14)
        np.testing.assert_allclose(form.c / D / f, each.c, rtol=1e-14)
        norms = [np.abs(part).max(initial=0.0) for part in (each.c, each.b, each.h[form.rows])]
        assert [form.norm_c, form.norm_b, form.norm_h] == norms
    P = full(program.P, n)
    size = np.abs(P).max(initial=1.0)
    np.testing.assert_allclose(operator_matrix(form.P, n) / D / D[:, None] / f, P, rtol=1e-12, atol=1e-13 * size)
    if not equilibrate:
        assert f == 1.0 and (D == 1.0).all() and (E == 1.0).all()


@pytest.mark.parametrize("seed", range(8))
def test_residuals_of_an_unscaled_point_are_the_unscaled_residuals(seed):
    """Compare rx / (f D tau), rv / (E tau) and s'z / (f tau^2) with the residuals in the caller's order of rows."""
    rng = np.random.default_rng(seed)
    program, _ = planted_optimum(rng)
    far = 10.0 ** rng.uniform(-2, 2, program.p + program.n)
    program = ConeProgram(
        1e3 * far[program.p :] * program.c, program.G * far[program.p :], program.h, program.cones,
        far[: program.p, None] * program.A.toarray(), far[: program.p] * program.b, program.P,
    )  # fmt: skip
    form, tau = StandardForm(program), 0.3
    n, p, m, D, E, f = form.n, form.p, form.m, form.D, form.E, form.cost_scale
    point = Point(form)
    point.tau = tau
    u, slack = point.u, point.s
    u[:], slack[:] = rng.normal(size=n + p + m), rng.normal(size=m)
    x, y, z, s = (np.full(size, np.nan) for size in (n, p, m, m))
    unscale(form, point, x, y, z, s)
    M, P = dense_M(form), full(program.P, n)
    rx = operator_matrix(form.P, n) @ u[:n] + M.T @ u[n:] + form.c * tau
    rv = M @ u[:n] + np.r_[np.zeros(p), slack] - form.g * tau
    found = P @ x + program.c + program.A.T @ y + program.G.T @ z
    np.testing.assert_allclose(found, rx / (f * D * tau), rtol=1e-9, atol=1e-9 * np.abs(found).max())
    found = np.r_[program.A @ x - program.b, (program.G @ x + s - program.h)[form.rows]]
    np.testing.assert_allclose(found, rv / (E * tau), rtol=1e-9, atol=1e-9 * np.abs(found).max(initial=0.0))
    assert s @ z == pytest.approx(slack @ u[n + p :] / (f * tau**2), rel=1e-9, abs=1e-9 * np.abs(s) @ np.abs(z))


def scales_of(form, M, sizes, limit, E):
    """Return D and E by Ruiz's passes, which start at E."""
    p, D = form.p, np.ones(form.n)
    for _ in range(PASSES):
        scaled, columns = E[:, None] * M * D, (D[:, None] * sizes * D).max(axis=0, initial=0.0)
        columns, rows = np.maximum(columns, scaled.max(axis=0, initial=0.0)), scaled.max(axis=1, initial=0.0)
        for a, e in itertools.pairwise(p + form.ptr):
            rows[a:e] = rows[a:e].mean()
        columns, rows = np.where(columns == 0.0, 1.0, columns), np.where(rows == 0.0, 1.0, rows)
        if np.abs(np.append(columns, rows) - 1.0).max() < 0.05:
            break
        E = np.where(E == 0.0, 0.0, np.clip(E / np.sqrt(rows), 1.0 / limit, limit))
        D = np.clip(D / np.sqrt(columns), 1.0 / limit, limit)
    return D, E


def equilibrated(form, program):
    """Return D, E and f by Ruiz's passes in NumPy: one norm per cone, only the diagonal of a P that is not sparse.

    Where a scale reaches LIMIT, bounds are left out of the passes up to WIDE.
    """
    p, P = form.p, np.abs(full(program.P, form.n))
    sizes = P if sp.issparse(program.P) else np.diag(np.diag(P))
    M = np.abs(np.vstack([program.A.toarray(), program.G.toarray()[form.rows]]))
    D, E = scales_of(form, M, sizes, LIMIT, np.ones(len(M)))
    both = np.append(D, E)
    assert (form.limit > LIMIT) == ((both >= LIMIT) | (both <= 1.0 / LIMIT)).any()
    if form.limit > LIMIT:
        bound = np.isin(np.arange(len(M)) - p, np.arange(form.l)) & ((M != 0.0).sum(axis=1) == 1)
        D, E = scales_of(form, M, sizes, WIDE, np.where(bound, 0.0, 1.0))
        E[bound] = np.clip(1.0 / (M * D)[bound].max(axis=1), 1.0 / WIDE, WIDE)
    g = np.append(program.b, program.h[form.rows])
    cost = np.abs(D * program.c).max()
    if form.P.is_zero:
        return D, E, np.clip(1.0 / cost, 1.0 / form.limit, form.limit) if cost > 0.0 else 1.0
    cost, side = max(cost, (D[:, None] * sizes * D).max(axis=0).mean()), np.abs(E * g).max(initial=0.0)
    f = 1.0 if cost == 0.0 else np.sqrt(side / cost) if side > 0.0 else 1.0 / cost
    return D, E, 2.0 ** np.round(np.log2(np.clip(f, 1.0 / COST_LIMIT, COST_LIMIT))) if cost > 0.0 else 1.0


@pytest.mark.parametrize("decades", [0.0, 1.0, 6.0])
@pytest.mark.parametrize("seed", range(14))
def test_the_equilibration_in_numpy(seed, decades):
    """Compare on badly scaled columns and rows, some zero, with infinite sides; then change the vectors."""
    rng = np.random.default_rng(seed)
    like, _ = planted_optimum(rng, density=0.7)
    n, p, m = like.n, like.p, like.m
    by_columns, by_rows = (10.0 ** (decades * rng.uniform(-1.0, 1.0, size)) for size in (n, p + m))
    by_columns[rng.random(n) < 0.1] = by_rows[rng.random(p + m) < 0.1] = 0.0
    A, G = (by_rows[k, None] * M.toarray() * by_columns for k, M in ((slice(p), like.A), (slice(p, None), like.G)))
    P = like.P
    if P is not None:
        P = LowRank(by_columns[:, None] * P.F, by_columns**2 * P.d) if isinstance(P, LowRank) else P
        P = by_columns[:, None] * P * by_columns if isinstance(P, np.ndarray) else P
    h, size = like.h.copy(), 10.0 ** (decades * rng.uniform(-1.0, 1.0, 3))
    for start, cone in zip(np.cumsum([0, *(cone.dim for cone in like.cones)]), like.cones):
        h[start : start + (cone.dim if isinstance(cone, NonNeg) and seed % 3 == 0 else 0) // 2] = np.inf
    for c, b, h_now in (
        (like.c, like.b, h),
        (like.c, 0.0 * like.b, np.where(np.isinf(h), h, 0.0)),
        (0.0 * like.c, like.b, h),
    ):
        program = ConeProgram(size[0] * c, G, size[1] * h_now, like.cones, A, size[2] * b, P)
        form = StandardForm(program)
        for found, expected in zip((form.D, form.E, form.cost_scale), equilibrated(form, program)):
            np.testing.assert_allclose(found, expected, rtol=1e-11)
        P = form.cost_scale * form.D[:, None] * full(program.P, n) * form.D
        np.testing.assert_allclose(operator_matrix(form.P, n), P, rtol=1e-12, atol=1e-12 * np.abs(P).max())
        norms = [np.abs(v).max(initial=0.0) for v in (program.c, program.b, program.h[form.rows])]
        np.testing.assert_array_equal([form.norm_c, form.norm_b, form.norm_h], norms)


def test_order_of_the_rows():
    cones = [SecondOrder(3), NonNeg(2), SecondOrder(1), SecondOrder(0), NonNeg(0), SecondOrder(2), NonNeg(3)]
    h = np.arange(11.0)
    h[[4, 9]] = np.inf
    form = StandardForm(ConeProgram([1.0], np.arange(1.0, 12.0)[:, None], h, cones), equilibrate=False)
    # the orthant: rows 3, (4 dropped), 5 (a cone of dimension 1), 8, (9 dropped), 10; then the two cones
    np.testing.assert_array_equal(form.rows, [3, 5, 8, 10, 0, 1, 2, 6, 7])
    assert (form.l, form.m, form.ptr.tolist()) == (4, 9, [4, 7, 9])
    np.testing.assert_array_equal(form.g, form.rows)
    np.testing.assert_array_equal(dense_M(form).ravel(), form.rows + 1.0)


def test_rows_of_M(program):
    form = StandardForm(program)
    indptr, indices, source = form.Mt_indptr, form.Mt_indices, form.Mt_source
    M = sp.csr_array((form.M_data[source], indices, indptr), shape=(form.p + form.m, form.n))
    np.testing.assert_array_equal(M.toarray(), dense_M(form))
    assert M.has_sorted_indices


@pytest.mark.parametrize("seed", range(6))
def test_refreshed_values_are_those_of_a_new_form_with_the_same_scales(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_optimum(rng, density=0.6)
    form = StandardForm(program)
    other = ConeProgram(
        rng.normal(size=program.n), program.G * 2.0, rng.normal(size=program.m), program.cones, program.A * -3.0,
        rng.normal(size=program.p), None if program.P is None else scaled_hessian(program.P, 4.0),
    )  # fmt: skip
    for name, scale in ((None, 1.0), ("cost_scale", 3.0), ("D", 3.0), ("E", 3.0)):  # change each scale alone
        form.D[:] = form.E[:] = form.cost_scale = 1.0
        if name == "cost_scale":
            form.cost_scale = scale
        elif name:
            getattr(form, name)[-1] = scale
        check_refreshed(form, program)
    form = StandardForm(program)
    check_refreshed(form, other)


def check_refreshed(form, other):
    """Check that `form.refresh` takes the data of `other` and keeps its own scaling."""
    D, E, f = form.D.copy(), form.E.copy(), form.cost_scale
    form.refresh(other)
    np.testing.assert_array_equal(form.D, D)
    np.testing.assert_array_equal(form.E, E)
    np.testing.assert_allclose(form.c, f * D * other.c, rtol=1e-15)
    np.testing.assert_allclose(form.g, E * np.concatenate([other.b, other.h[form.rows]]), rtol=1e-15)
    M = np.vstack([other.A.toarray(), other.G.toarray()[form.rows]])
    np.testing.assert_allclose(dense_M(form), E[:, None] * M * D, rtol=1e-14)
    P = f * D[:, None] * full(other.P, form.n) * D
    np.testing.assert_allclose(operator_matrix(form.P, form.n), P, rtol=1e-12, atol=1e-12)


def scaled_hessian(P, factor):
    return LowRank(np.sqrt(factor) * P.F, factor * P.d) if isinstance(P, LowRank) else P * factor


def raised(P):
    """Return the upper triangle in which every diagonal entry is stored; nothing is added to the diagonal."""
    n, most = len(P.indptr) - 1, P.entries + len(P.indptr)
    indptr, indices, data = np.empty(n + 1, np.int64), np.empty(most, np.int64), np.empty(most)
    append_upper(P.indptr, P.indices, P.values, np.zeros(n), 0, indptr, indices, data)
    return indptr, indices[: indptr[n]], data[: indptr[n]]


@pytest.mark.parametrize("seed", range(10))
def test_hessians_agree_with_their_matrices(seed):
    rng = np.random.default_rng(seed)
    P = random_hessian(rng, 7)
    form = StandardForm(ConeProgram(np.ones(7), P=P), equilibrate=False)
    expected = full(ConeProgram(np.ones(7), P=P).P, 7)
    np.testing.assert_allclose(operator_matrix(form.P, 7), expected, rtol=1e-13, atol=1e-13)
    indptr, indices, data = raised(form.P) if isinstance(form.P, SparseHessian) else form.P.upper()
    upper = sp.csc_array((data, indices, indptr), shape=(7, 7))
    assert upper.has_sorted_indices
    np.testing.assert_allclose(upper.toarray(), np.triu(expected), rtol=1e-13, atol=1e-13)
    form.D[:], norms = rng.uniform(0.5, 2.0, 7), np.full(7, 1e3)
    hessian_scales(form, form.P.values, norms)
    scaled = np.abs(form.D[:, None] * expected * form.D)
    # at least the diagonal, at most the largest entry of the column
    assert (norms >= scaled.diagonal() * (1 - 1e-12)).all()
    assert (norms <= scaled.max(axis=0) * (1 + 1e-12)).all()
    assert form.P.is_zero == (P is None)
