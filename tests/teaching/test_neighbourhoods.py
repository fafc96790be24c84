"""Mizuno, Todd and Ye's method: its points are where the theorem has them, and it ends at the solution."""

from functools import partial

import numpy as np
import pytest

import socp
from docs.teaching import neighbourhoods
from docs.teaching.neighbourhoods import advance, direction, distance, longest_step, predictor_corrector
from socp import ConeProgram, NonNeg, SecondOrder
from socp.textbook import Cone, dense


def program(rng, n=4, m=12, p=1, curved=True):
    """Return a program that is strictly feasible at x = 0 and has a strictly feasible dual."""
    F, G, A = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=(p, n))
    P = F @ F.T if curved else None
    c = -(A.T @ rng.normal(size=p) + G.T @ rng.uniform(0.5, 1.5, m))
    return ConeProgram(c, G, rng.uniform(0.5, 1.5, m), [NonNeg(m)], A, np.zeros(p), P)


def of_cones(rng):
    """Return a program with second-order cones that has points near the central path."""
    cones = [NonNeg(2), SecondOrder(3), SecondOrder(4)]
    G, e = rng.normal(size=(9, 4)), Cone(cones).e
    inside = e + 0.1 * rng.normal(size=9)
    return ConeProgram(-G.T @ inside, G, e + 0.1 * rng.normal(size=9), cones)


@pytest.mark.parametrize("make, share", [  # the share of mu / sqrt(degree) by which the theorem lets mu fall
    (program, 0.29), (partial(program, curved=False), 0.29), (of_cones, 0.2 / np.sqrt(2.0)),
])  # fmt: skip
def test_predictors_end_in_the_wide_and_correctors_in_the_narrow_neighbourhood(make, share):
    one = make(np.random.default_rng(0))
    cone = Cone(one.cones)
    start, *points = predictor_corrector(one, 1.0, 1e-7)
    assert distance(start.s, start.z, cone) < 1e-3 and len(points) % 2 == 0
    mu = start.s @ start.z / cone.degree
    for k, it in enumerate(points):
        # s and z have errors of a few ulps of their largest entry, which are relevant for a small mu
        after = it.s @ it.z / cone.degree
        lost = 8.0 * np.finfo(float).eps * (it.s.max() + it.z.max()) / after
        assert distance(it.s, it.z, cone) <= (neighbourhoods.INNER if k % 2 else neighbourhoods.OUTER) + 1e-7 + lost
        assert min(cone.depth(it.s), cone.depth(it.z)) > 0.0
        if k % 2:
            assert after <= (1.0 - share / np.sqrt(cone.degree)) * mu  # the theorem
            mu = after
    found, last = socp.solve(one, tol=1e-9), points[-1].x
    value = 0.5 * last @ dense(one)[0] @ last + one.c @ last
    assert np.allclose(last, found.x, atol=1e-4)
    assert np.isclose(value, found.objective, atol=2e-7 * cone.degree)  # the gap is mu times the degree


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


def test_the_distance_is_that_of_eigenvalues():
    cone, rng = Cone([NonNeg(2), SecondOrder(3), SecondOrder(1)]), np.random.default_rng(3)
    for _ in range(20):
        s, z = (v - min(0.0, 1.1 * cone.depth(v)) * cone.e for v in rng.normal(size=(2, cone.dim)))
        lam = cone.scaling(s, z)[0] @ z
        w, tail = cone.arrow(lam) @ lam, np.linalg.norm((cone.arrow(lam) @ lam)[3:5])
        eigenvalues = np.array([w[0], w[1], w[2] + tail, w[2] - tail, w[5]])
        mu = s @ z / cone.degree
        assert np.isclose(distance(s, z, cone), np.linalg.norm(eigenvalues - mu) / mu)
