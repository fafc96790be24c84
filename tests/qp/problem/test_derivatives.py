"""Derivatives of answers to quadratic programs: beside central differences, in both directions."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import qp

STEP = 1e-6
NAMES = ("P", "q", "A", "l", "u", "lb", "ub")


def drawn(seed):
    """A program with two-sided rows, an equality and a fixed variable, and a change of all data."""
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


def number(data, weights):
    sol = qp.solve(**data, tol=1e-12)
    return sum(float(weight @ part) for weight, part in zip(weights, (sol.x, sol.y, sol.z_bounds), strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_beside_central_differences(seed):
    data, change, weights = drawn(seed)
    sol = qp.solve(**data, tol=1e-12)
    gradient = sol.vjp(*weights)
    assert gradient.differentiable
    parts = [getattr(gradient, name) for name in NAMES]
    dense = [part.toarray() if sp.issparse(part) else part for part in parts]
    found = sum(float((part * change[name]).sum()) for part, name in zip(dense, NAMES, strict=True))
    tangent = sol.jvp(**{f"d{name}": value for name, value in change.items()})
    moved = (tangent.x, tangent.y, tangent.z_bounds)
    forward = sum(float(weight @ part) for weight, part in zip(weights, moved, strict=True))
    assert forward == pytest.approx(found, rel=1e-8, abs=1e-8)
    near = [number({k: v + share * change[k] for k, v in data.items()}, weights) for share in (STEP, -STEP)]
    size = 1.0 + sum(np.abs(part).max(initial=0.0) for part in moved)
    assert found == pytest.approx((near[0] - near[1]) / (2.0 * STEP), rel=1e-3, abs=1e-3 * size)


def test_only_what_holds_the_answer_back_moves_it():
    # the point of the box nearest to (3, 0.5): at the upper bound of the first, free in the second
    sol = qp.solve(sp.eye_array(2).tocsc(), [-3.0, -0.5], A=[[1.0, 1.0]], u=9.0, lb=0.0, ub=1.0, tol=1e-12)
    gradient = sol.vjp(dx=[1.0, 1.0])
    np.testing.assert_allclose(gradient.ub, [1.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(gradient.q, [0.0, -1.0], atol=1e-8)
    np.testing.assert_allclose([*gradient.lb, *gradient.u, *gradient.l], 0.0, atol=1e-8)
    assert sp.issparse(gradient.P) and gradient.P.nnz == 2 and gradient.differentiable


def test_a_smoothed_answer_feels_every_bound():
    sol = qp.solve(np.eye(2), [-3.0, -0.5], lb=0.0, ub=1.0)
    gradient = sol.vjp(dx=[1.0, 1.0], smoothing=0.1)
    assert gradient.differentiable and (np.abs([*gradient.lb, *gradient.ub]) > 1e-3).all()


def test_what_cannot_be_differentiated_is_refused():
    sol = qp.solve(np.eye(2), [1.0, 1.0], lb=0.0)
    assert not qp.solve(np.eye(1), [0.0], lb=0.0).vjp(dx=[1.0]).differentiable
    with pytest.raises(qp.ProgramError, match="dy must have 0 entries"):
        sol.vjp(dy=[1.0])
    with pytest.raises(qp.ProgramError, match="dA must have shape"):
        sol.jvp(dA=np.ones((1, 2)))
    with pytest.raises(qp.ProgramError, match="without its program"):
        pickle.loads(pickle.dumps(sol)).vjp()
    with pytest.raises(qp.ProgramError, match="only an optimal answer"):
        qp.solve(None, [1.0], ub=0.0).vjp()
