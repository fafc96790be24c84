"""Derivatives of a batch: equal to those of each program alone, and adjoint to one another."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp.derivatives import batch
from tests.support.differences import both_modes

NAMES = ("P", "c", "A", "b", "G", "h")


def drawn(own, seed=5, k=4, n=5):
    """Return programs with an equality, a ball, and bounds with entries other than 1; `own` matrices or shared ones."""
    rng, shape = np.random.default_rng(seed), (k,) if own else ()
    F = np.eye(n) + 0.1 * rng.normal(size=(*shape, n, n))
    G = np.concatenate([np.broadcast_to(-2.5 * np.eye(n), F.shape), np.zeros((*shape, 1, n)), -F], axis=-2)
    h = np.concatenate([[np.inf], np.full(n - 1, 0.3), [1.0], np.zeros(n)])
    A = rng.normal(size=(*shape, 1, n))
    data = {
        "P": F @ np.swapaxes(F, -1, -2), "c": 2.0 * rng.normal(size=(k, n)), "A": A, "b": np.zeros(1), "G": G,
        "h": h,
    }  # fmt: skip
    return data, [socp.NonNeg(n), socp.SecondOrder(n + 1)], rng


def own_part(data, name, part, i):
    axes = {"P": 2, "c": 1, "A": 2, "b": 1, "G": 2, "h": 1}[name]
    return part[i] if np.ndim(data[name]) > axes else part


@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("small", [batch.SMALL, 0])
def test_a_batch_is_as_its_programs_one_by_one(own, smoothing, small, monkeypatch):
    monkeypatch.setattr(batch, "SMALL", small)
    data, cones, rng = drawn(own)
    many = socp.solve_many(**data, cones=cones, tol=1e-9)
    weights = {f"d{name}": rng.normal(size=getattr(many, name).shape) for name in "xyzs"}
    change = {name: rng.normal(size=np.shape(value)) for name, value in data.items()}
    change["P"] = change["P"] + np.swapaxes(change["P"], -1, -2)
    gradient, *_ = both_modes(many, "xyzs", change, weights.values(), 1e-7, smoothing=smoothing)
    tangent = many.jvp(**{f"d{name}": value for name, value in change.items()}, smoothing=smoothing)
    total = dict.fromkeys(NAMES, 0.0)
    for i, found in enumerate(many):
        one = found.vjp(**{name: part[i] for name, part in weights.items()}, smoothing=smoothing)
        assert one.differentiable and gradient.differentiable[i]
        for name in NAMES:
            part = getattr(one, name)
            part = part.toarray() if sp.issparse(part) else part
            whole = getattr(gradient, name)
            if own_part(data, name, whole, i) is not whole:
                stored = own_part(data, name, data[name], i) != 0.0 if name in "AG" else np.True_
                np.testing.assert_allclose(np.where(stored, whole[i], 0.0), part, rtol=1e-7, atol=1e-7)
            total[name] = total[name] + part
        changes = {f"d{name}": own_part(data, name, value, i) for name, value in change.items()}
        along = found.jvp(**changes, smoothing=smoothing)
        for name in "xyzs":
            np.testing.assert_allclose(getattr(tangent, name)[i], getattr(along, name), rtol=1e-6, atol=1e-6)
    for name in ("b", "h"):
        np.testing.assert_allclose(getattr(gradient, name), total[name], rtol=1e-7, atol=1e-7)
    assert gradient.h[0] == 0.0 and not tangent.z[:, 0].any() and not tangent.s[:, 0].any()


def test_what_does_not_fit_a_batch_is_refused():
    data, cones, _ = drawn(False)
    many = socp.solve_many(**data, cones=cones)
    for call, change, message in (
        (many.vjp, {"dx": np.full((4, 5), np.nan)}, "dx must be finite"),
        (many.vjp, {"dx": np.ones((3, 5))}, "dx must have a row for each of 4 programs, but 3 came"),
        (many.jvp, {"dG": np.ones((3, 11, 5))}, "dG must have a matrix for each of 4 programs, but 3 came"),
    ):
        with pytest.raises(socp.ProgramError, match=message):
            call(**change)
    given = {"P": [[1.0]], "G": [[1.0], [-1.0]], "h": [[3.0, 1.0], [-3.0, 1.0]], "cones": [socp.NonNeg(2)]}
    with pytest.raises(socp.ProgramError, match="the status of program 1 is 'primal_infeasible'"):
        socp.solve_many(c=[[1.0], [2.0]], **given).vjp()


def test_a_change_of_one_matrix_is_taken_at_the_exact_point():
    data, cones, rng = drawn(True)
    change = rng.normal(size=data["G"].shape)
    one, other = (
        socp.solve_many(**data, cones=cones, tol=1e-3).jvp(dG=change, **rest) for rest in ({}, {"dP": 0.0 * data["P"]})
    )
    np.testing.assert_allclose(one.x, other.x, rtol=1e-8, atol=1e-10)


def test_a_point_of_the_path_that_is_not_found_is_refused():
    given = {"P": [[1.0]], "G": [[1.0], [-1.0]], "h": [3.0, 1.0], "cones": [socp.NonNeg(2)]}
    many = socp.solve_many(c=[[1.0], [2.0]], **given)
    for answer in (many, many[0]):
        with pytest.raises(socp.ProgramError, match=r"smoothing=1e\+20 was not found"):
            answer.vjp(smoothing=1e20)
