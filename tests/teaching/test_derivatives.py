"""Derivatives of a solution against differences, and their refusal where there are none."""

import numpy as np
import pytest

import socp
from docs.teaching.derivatives import Change, Sensitivity
from socp import ConeProgram, NonNeg, SecondOrder

P, q = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.5]]), np.array([-1.0, 0.4, -3.0])
A, b = np.array([[1.0, 1.0, 0.5]]), np.array([1.0])
G, h = np.vstack([np.eye(3), -np.eye(3)]), np.array([2.0, 2.0, 0.9, 3.0, 0.1, 3.0])


def solved(**data):
    given = {"P": P, "q": q, "A": A, "b": b, "G": G, "h": h} | data
    program = ConeProgram(given["q"], given["G"], given["h"], [NonNeg(6)], given["A"], given["b"], given["P"])
    return program, socp.solve(program, tol=1e-10)


@pytest.mark.parametrize("name", list("PqAbGh"))
def test_both_ways_agree_with_differences(name):
    program, found = solved()
    sensitivity = Sensitivity(program, found.x, found.y, found.z)
    assert 0 < sensitivity.active.sum() < 3
    data = {"P": P, "q": q, "A": A, "b": b, "G": G, "h": h}[name]
    way = np.random.default_rng(0).normal(size=data.shape)
    way = way + way.T if name == "P" else way
    change, step = Change(**{name: way}), 1e-4
    after, before = (solved(**{name: data + t * way})[1] for t in (step, -step))
    moves = sensitivity.forward(change)
    for move, now, then in zip(moves, (after.x, after.y, after.z), (before.x, before.y, before.z)):
        np.testing.assert_allclose(move, (now - then) / (2 * step), atol=1e-4)
    weights = np.array([1.0, -2.0, 0.5])
    backward = np.sum(getattr(sensitivity.backward(weights), name) * way)
    np.testing.assert_allclose(backward, weights @ moves[0], rtol=1e-9, atol=1e-9)


def test_a_solution_without_a_derivative_is_refused():
    flat = ConeProgram([0.0, -1.0], [[0.0, 1.0]], [1.0], [NonNeg(1)])  # x1 has no influence
    with pytest.raises(socp.ProgramError, match="no derivative"):
        Sensitivity(flat, np.array([0.0, 1.0]), np.zeros(0), np.array([1.0]))
    disk = ConeProgram([1.0, 0.0], [[0, 0], [-1, 0], [0, -1]], [1, 0, 0], [SecondOrder(3)])
    with pytest.raises(socp.ProgramError, match="NonNeg cones alone"):
        Sensitivity(disk, np.zeros(2), np.zeros(0), np.zeros(3))
