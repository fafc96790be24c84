"""Derivatives of solutions of quadratic programs compared with central differences, in both modes."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from socp.derivatives import linearization
from tests.support.differences import both_modes, difference

STEP = 1e-6
NAMES, VECTORS = ("P", "q", "A", "l", "u", "lb", "ub"), ("x", "y", "z_bounds")


def drawn(seed):
    """Return a program with two-sided rows, an equality and a fixed variable, a change of all data, and weights."""
    rng = np.random.default_rng((43, seed))
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    F, A, x = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=n)
    width, room = rng.random(m), rng.random(n)
    data = {"P": F @ F.T + 0.1 * np.eye(n), "q": rng.normal(size=n), "A": A, "l": A @ x - width, "u": A @ x + width}
    data |= {"lb": x - room, "ub": x + room}
    data["l"][0] = data["u"][0] = A[0] @ x
    data["lb"][0] = data["ub"][0] = x[0]
    change = {name: rng.normal(size=value.shape) for name, value in data.items()}
    change["P"] += change["P"].T
    change["l"][0], change["lb"][0] = change["u"][0], change["ub"][0]
    return data, change, [rng.normal(size=size) for size in (n, m, n)]


def parts_of(data):
    at = qp.solve(**data, tol=1e-11)._linearized(0.0).at  # this point has smaller residuals
    return at.x, *np.split(at.w, [data["l"].size])


@pytest.mark.parametrize("seed", range(40))
def test_beside_central_differences(seed):
    data, change, weights = drawn(seed)
    sol = qp.solve(**data, tol=1e-10)
    gradient, found, size = both_modes(sol, VECTORS, change, weights)
    expected = difference(parts_of, data, change, weights, min(STEP, 1e-4 / size))
    assert gradient.differentiable and found == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)


def dense_of(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


@pytest.mark.parametrize("mu", [0.0, 1e-2])
@pytest.mark.parametrize("kind", ["dense", "sparse", "low rank", "none"])
def test_the_sparse_way_is_the_compiled_one(kind, mu, monkeypatch):
    """Compare both ways on fixed variables, equalities, free rows, one-entry rows, bounds and each form of P."""
    rng, n, m = np.random.default_rng(46), 12, 7
    F, A = rng.normal(size=(n, 3)), np.where(rng.random((m, n)) < 0.5, rng.normal(size=(m, n)), 0.0)
    x = rng.normal(size=n)
    A[2:4], A[2, 5], A[3, 6] = 0.0, -2.5, 3.0
    P = {
        "dense": F @ F.T + np.eye(n), "sparse": sp.diags_array(1.0 + rng.random(n)).tocsc(),
        "low rank": qp.LowRank(F, rng.random(n)), "none": None,
    }[kind]  # fmt: skip
    data = {"P": P, "q": 3.0 * rng.normal(size=n), "A": sp.csc_array(A)}
    data |= {"l": A @ x - rng.random(m), "u": A @ x + rng.random(m)}
    data |= {"lb": x - rng.random(n), "ub": x + rng.random(n)}
    data["l"][0], data["lb"][0] = data["u"][0], data["ub"][0]
    data["l"][1], data["u"][1] = -np.inf, np.inf
    data["u"][4], data["ub"][1], data["lb"][2] = np.inf, np.inf, -np.inf
    data["q"][1], data["q"][2] = 3.0, -3.0
    sol, weights = qp.solve(**data, tol=1e-10), [rng.normal(size=size) for size in (n, m, n)]
    change = {"dq": rng.normal(size=n), "dA": A, "du": rng.normal(size=m), "dlb": rng.normal(size=n)}
    compiled = sol._linearized(mu)
    one, along_one = compiled.gradient(*weights), compiled.tangent(**change)
    monkeypatch.setattr(linearization, "SMALL", 0)
    monkeypatch.setattr(linearization, "FULL", np.inf)
    general = sol._linearized(mu)
    other, along_other = general.gradient(*weights), general.tangent(**change)
    assert compiled.at._conditions is not None and general.at._conditions is None
    assert one.differentiable and other.differentiable
    for first, second in zip((*one[:-1], *along_one[:-1]), (*other[:-1], *along_other[:-1]), strict=True):
        if first is not None:
            first, second = dense_of(first), dense_of(second)
            np.testing.assert_allclose(first, second, atol=1e-8 * (1.0 + np.abs(second).max(initial=0.0)))
    absent = np.isinf([*data["l"], *data["lb"]]), np.isinf([*data["u"], *data["ub"]])
    assert not np.concatenate([one.l, one.lb])[absent[0]].any() and not np.concatenate([one.u, one.ub])[absent[1]].any()
    assert one.l[0] == one.u[0] and one.lb[0] == one.ub[0] != 0.0


def batch(seed, count):
    """Return programs with their own q, u and P and otherwise shared data, a change of all data, and weights."""
    rng, (data, change, _) = np.random.default_rng((45, seed)), drawn(seed)
    n, m = data["q"].size, data["l"].size
    data["q"] = 2.0 * rng.normal(size=(count, n))
    data["u"] = data["u"] + np.where(data["l"] < data["u"], rng.random((count, m)), 0.0)
    data["P"] = np.array([data["P"] + share * np.eye(n) for share in rng.random(count)])
    change["q"], change["P"] = rng.normal(size=(count, n)), np.tile(change["P"], (count, 1, 1))
    change["u"] = np.tile(change["u"], (count, 1))
    return data, change, [rng.normal(size=(count, size)) for size in (n, m, n)]


@pytest.mark.parametrize("mu", [0.0, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_a_batch_is_as_its_programs_one_by_one(seed, mu):
    count = 6
    data, change, weights = batch(seed, count)
    many = qp.solve_many(**data, tol=1e-10)
    gradient, *_ = both_modes(many, VECTORS, change, weights, 1e-6, smoothing=mu)
    alone = [many[i].vjp(*(weight[i] for weight in weights), smoothing=mu) for i in range(count)]
    for name in NAMES:
        parts = [getattr(one, name) for one in alone]
        dense = np.array([part.toarray() if sp.issparse(part) else part for part in parts])
        expected = dense if name in ("q", "u", "P") else dense.sum(axis=0)
        np.testing.assert_allclose(getattr(gradient, name), expected, atol=1e-7 * (1.0 + np.abs(dense).max()))
    assert gradient.differentiable.tolist() == [one.differentiable for one in alone]


def test_degenerate_programs_of_a_batch_are_named():
    # x = max(-q, 0), constrained twice; at q = 0 there is a kink
    many = qp.solve_many([[1.0]], [[1.0], [-1.0], [0.0]], A=[[1.0], [2.0]], l=[0.0, 0.0])
    gradient = many.vjp(dx=np.ones((3, 1)))
    assert gradient.differentiable.tolist() == [False, True, False]
    np.testing.assert_allclose(gradient.q[1], [-1.0], atol=1e-7)
