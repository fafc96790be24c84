"""Derivatives of solutions of cone programs compared with central differences, in both modes."""

import pickle
from functools import partial

import numpy as np
import pytest

import socp
from socp import NonNeg, SecondOrder
from socp.derivatives import linearization
from tests.support.differences import along, both_modes, difference

STEP = 1e-5
NEARLY_DEGENERATE = 1e4  # derivatives so large, for data of size one, are not resolved by differences


def projected(v, cones):
    """Project v onto the cones."""
    s, start = np.maximum(v, 0.0), 0
    for cone in cones:
        part = v[start : start + cone.dim]
        if isinstance(cone, SecondOrder) and cone.dim > 1:
            t, r = part[0], np.linalg.norm(part[1:])
            share = np.clip(0.5 * (1.0 + t / r), 0.0, 1.0)
            s[start : start + cone.dim] = part if t >= r else share * np.concatenate([[r], part[1:]])
        start += cone.dim
    return s


def planted(seed):
    """Return a program with a strictly complementary, almost surely nondegenerate solution, a change and weights."""
    rng = np.random.default_rng((41, seed))
    cones = [
        NonNeg(int(rng.integers(1, 5))),
        SecondOrder(int(rng.integers(2, 5))),
        SecondOrder(int(rng.integers(1, 4))),
    ]
    m, n, p = sum(cone.dim for cone in cones), int(rng.integers(4, 8)), int(rng.integers(0, 3))
    v = rng.normal(size=m)
    v += np.sign(v)  # s and z are strictly complementary
    s = projected(v, cones)
    z, F = s - v, rng.normal(size=(n, n))
    P, A, G = F @ F.T + np.eye(n), rng.normal(size=(p, n)), rng.normal(size=(m, n))
    x, y = rng.normal(size=n), rng.normal(size=p)
    data = {"P": P, "c": -(P @ x + A.T @ y + G.T @ z), "A": A, "b": A @ x, "G": G, "h": G @ x + s}
    change = {name: rng.normal(size=value.shape) for name, value in data.items()}
    change["P"] += change["P"].T
    weights = [rng.normal(size=size) for size in (n, p, m, m)]
    return data, cones, change, weights


def parts_of(data, cones, mu=0.0):
    at = socp.solve(cones=cones, tol=1e-10, **data)._linearized(mu).at  # this point has smaller residuals
    return at.x, *np.split(at.w, [data["b"].size]), data["h"] - data["G"] @ at.x


@pytest.mark.parametrize("seed", range(40))
def test_beside_central_differences(seed):
    """Compare vjp, jvp and differences, with fewer active rows than variables by a little or by much."""
    data, cones, change, weights = planted(seed)
    sol = socp.solve(cones=cones, tol=1e-9, **data)
    gradient, found, size = both_modes(sol, "xyzs", change, weights)
    if gradient.differentiable and size <= NEARLY_DEGENERATE:
        expected = difference(partial(parts_of, cones=cones), data, change, weights, min(STEP, 1e-2 / size))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_point_of_the_path_is_smooth(seed, mu):
    """s o z = mu e holds at the smoothed point, and its derivative is that of the central path."""
    data, cones, change, weights = planted(seed)
    sol = socp.solve(cones=cones, tol=1e-10, **data)
    at = sol._linearized(mu).at
    s, z = data["h"] - data["G"] @ at.x, at.w[data["b"].size :]
    start = 0
    for cone in cones:
        one, two = s[start : start + cone.dim], z[start : start + cone.dim]
        start += cone.dim
        if isinstance(cone, SecondOrder) and cone.dim:
            product = np.concatenate([[one @ two], one[0] * two[1:] + two[0] * one[1:]])
            np.testing.assert_allclose(product, mu * np.eye(cone.dim)[0], atol=1e-8)
        else:
            np.testing.assert_allclose(one * two, mu, atol=1e-8)
    gradient = sol.vjp(*weights, smoothing=mu)
    assert gradient.differentiable
    expected = difference(partial(parts_of, cones=cones, mu=mu), data, change, weights, STEP)
    assert along(gradient, change) == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("small", [linearization.SMALL, 0])
def test_what_has_no_derivative_is_said(small, monkeypatch):
    monkeypatch.setattr(linearization, "SMALL", small)
    monkeypatch.setattr(linearization, "FULL", np.inf)
    # x = max(c, 0) at c = 0, and a constraint that is given twice
    kink = socp.solve(P=[[1.0]], c=[0.0], G=[[-1.0]], h=[0.0], cones=[NonNeg(1)])
    assert not kink.vjp(dx=[1.0]).differentiable
    twice = socp.solve(P=[[1.0]], c=[2.0], G=[[-1.0], [-1.0]], h=[0.0, 0.0], cones=[NonNeg(2)])
    gradient = twice.vjp(dx=[1.0])
    assert not gradient.differentiable
    np.testing.assert_allclose(gradient.h, [-0.5, -0.5], atol=1e-6)  # the shortest of all that add up to -1
    assert kink.vjp(dx=[1.0], smoothing=0.01).differentiable


@pytest.mark.parametrize("mu", [0.0, 1e-2])
@pytest.mark.parametrize("seed", range(4))
def test_small_programs_have_the_derivatives_of_the_general_way(seed, mu, monkeypatch):
    data, cones, change, weights = planted(seed)
    sol = socp.solve(cones=cones, **data)
    small = sol._linearized(mu)
    monkeypatch.setattr(linearization, "SMALL", 0)
    monkeypatch.setattr(linearization, "FULL", np.inf)
    general = sol._linearized(mu)
    assert small.at._conditions is not None and general.at._conditions is None
    assert small.at.differentiable == general.at.differentiable
    np.testing.assert_allclose(small.at.x, general.at.x, atol=1e-9)
    np.testing.assert_allclose(small.at.w, general.at.w, atol=1e-9)
    one, other = small.gradient(*weights), general.gradient(*weights)
    size = np.abs(other.h).max(initial=1.0)
    for name in ("c", "b", "h"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-7, atol=1e-7 * size)
    changes = {f"d{name}": value for name, value in change.items()}
    one, other = small.tangent(**changes), general.tangent(**changes)
    size = np.abs(other.z).max(initial=1.0)
    for name in ("x", "y", "z", "s"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-7, atol=1e-7 * size)


def test_what_cannot_be_differentiated_is_refused():
    infeasible = socp.solve(c=[1.0], G=[[1.0], [-1.0]], h=[-1.0, 0.0], cones=[NonNeg(2)])
    with pytest.raises(
        socp.ProgramError, match="only an optimal answer has a derivative, but the status is 'primal_inf"
    ):
        infeasible.vjp()
    sol = socp.solve(P=[[1.0]], c=[2.0], G=[[-1.0]], h=[0.0], cones=[NonNeg(1)])
    with pytest.raises(socp.ProgramError, match="dx must"):
        sol.vjp(dx=[1.0, 2.0])
    with pytest.raises(socp.ProgramError, match="dG must have shape"):
        sol.jvp(dG=np.ones((2, 2)))
    with pytest.raises(socp.ProgramError, match="smoothing must be at least 0"):
        sol.vjp(smoothing=-1.0)
    with pytest.raises(socp.ProgramError, match="without its program"):
        pickle.loads(pickle.dumps(sol)).vjp()
