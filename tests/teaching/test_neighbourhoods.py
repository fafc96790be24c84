"""Mizuno, Todd and Ye's method: its points are where the theorem has them, and it ends at the solution."""

import numpy as np
import pytest

import socp
from docs.teaching import neighbourhoods
from docs.teaching.neighbourhoods import advance, direction, distance, longest_step, predictor_corrector
from socp import ConeProgram, NonNeg, SecondOrder
from socp.textbook import Cone


def program(rng, n=4, m=12, p=1, curved=True):
    """Return a program that is strictly feasible at x = 0 and has a strictly feasible dual."""
    F, G, A = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=(p, n))
    P = F @ F.T if curved else None
    c = -(A.T @ rng.normal(size=p) + G.T @ rng.uniform(0.5, 1.5, m))
    return ConeProgram(c, G, rng.uniform(0.5, 1.5, m), [NonNeg(m)], A, np.zeros(p), P)


@pytest.mark.parametrize("curved", [True, False])
def test_predictors_end_in_the_wide_and_correctors_in_the_narrow_neighbourhood(curved):
    rng = np.random.default_rng(0)
    one = program(rng, curved=curved)
    start, *points = predictor_corrector(one, 1.0, 1e-7)
    assert distance(start.s, start.z) < 1e-3 and len(points) % 2 == 0
    mu = start.s @ start.z / one.m
    for k, it in enumerate(points):
        # s and z have errors of a few ulps of their largest entry, which are relevant for a small mu
        lost = 8.0 * np.finfo(float).eps * (it.s.max() + it.z.max()) / (it.s @ it.z / one.m)
        assert distance(it.s, it.z) <= (neighbourhoods.INNER if k % 2 else neighbourhoods.OUTER) + 1e-7 + lost
        assert min(it.s.min(), it.z.min()) > 0.0
        if k % 2:
            after = it.s @ it.z / one.m
            assert after <= (1.0 - 0.29 / np.sqrt(one.m)) * mu  # the theorem
            mu = after
    assert np.allclose(points[-1].x, socp.solve(one, tol=1e-9).x, atol=1e-4)


def test_the_longest_step_ends_on_the_boundary_of_the_neighbourhood():
    one = program(np.random.default_rng(1))
    it = next(predictor_corrector(one, 1.0, 1e-7))
    step = direction(one, it, 0.0)
    for beta in (0.1, 0.5):
        alpha = longest_step(it, step, beta)
        there, before = advance(it, step, alpha), advance(it, step, 0.999 * alpha)
        assert 0.0 < alpha < 1.0 and np.isclose(distance(there.s, there.z), beta)
        assert distance(before.s, before.z) < beta
    assert longest_step(it, direction(one, it, 1.0), 0.5) == 1.0


def test_second_order_cones_stay_in_the_neighbourhoods_too():
    rng = np.random.default_rng(2)
    cones, cone = [NonNeg(2), SecondOrder(3), SecondOrder(4)], Cone([NonNeg(2), SecondOrder(3), SecondOrder(4)])
    G, inside = rng.normal(size=(9, 4)), cone.e + 0.1 * rng.normal(size=9)
    one = ConeProgram(-G.T @ inside, G, cone.e + 0.1 * rng.normal(size=9), cones)
    start, *points = predictor_corrector(one, 1.0, 1e-7)
    mu = start.s @ start.z / cone.degree
    for k, it in enumerate(points):
        assert min(cone.depth(it.s), cone.depth(it.z)) > 0.0
        assert distance(it.s, it.z, cone) <= (neighbourhoods.INNER if k % 2 else neighbourhoods.OUTER) + 1e-6
        if k % 2:
            after = it.s @ it.z / cone.degree
            assert after <= (1.0 - 0.2 / np.sqrt(2 * cone.degree)) * mu
            mu = after
    assert np.isclose(one.c @ points[-1].x, socp.solve(one, tol=1e-9).objective, atol=1e-6)


def test_the_distance_is_that_of_eigenvalues():
    cone, rng = Cone([NonNeg(2), SecondOrder(3), SecondOrder(1)]), np.random.default_rng(3)
    for _ in range(20):
        s, z = (v - min(0.0, 1.1 * cone.depth(v)) * cone.e for v in rng.normal(size=(2, cone.dim)))
        lam = cone.scaling(s, z)[0] @ z
        w, tail = cone.arrow(lam) @ lam, np.linalg.norm((cone.arrow(lam) @ lam)[3:5])
        eigenvalues = np.array([w[0], w[1], w[2] + tail, w[2] - tail, w[5]])
        mu = s @ z / cone.degree
        assert np.isclose(distance(s, z, cone), np.linalg.norm(eigenvalues - mu) / mu)
