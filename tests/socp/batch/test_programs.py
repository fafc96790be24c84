"""Many cone programs at once: as each by itself, in any number of threads; input that is refused."""

import numpy as np
import pytest

import socp
from socp.problem.stopping import residuals


def disks(k=6, n=5, own=False, seed=0):
    """The points of a ball, or ellipsoid, above lower bounds with the least 1/2 |x|^2 + c'x."""
    rng = np.random.default_rng(seed)
    one, shape = np.eye(n), (k,) if own else ()
    F = one + 0.1 * rng.normal(size=(*shape, n, n))
    bounds = np.broadcast_to(-one, (*shape, n, n))
    G = np.concatenate([bounds, np.zeros((*shape, 1, n)), -F], axis=-2)
    h = np.concatenate([np.full(n, 0.3), [1.0], np.zeros(n)])
    return {"c": rng.normal(size=(k, n)), "P": one, "G": G, "h": h, "cones": [socp.NonNeg(n), socp.SecondOrder(n + 1)]}


@pytest.mark.parametrize(("own", "threads"), [(False, 1), (False, 2), (True, 2)])
def test_every_answer_is_that_of_the_program_alone(own, threads):
    given = disks(own=own)
    many = socp.solve_many(**given, threads=threads)
    assert len(many) == 6 and (many.status == "optimal").all()
    for i, found in enumerate(many):
        alone = {**given, "c": given["c"][i], "G": given["G"][i] if own else given["G"]}
        assert found.objective == pytest.approx(socp.solve(**alone).objective, rel=1e-7, abs=1e-8)
        assert residuals(socp.ConeProgram(**alone), found.x, found.y, found.z, found.s).meets(1e-8)
        assert np.array_equal(many.z[i], found.z)


def test_infeasible_and_unbounded_programs_are_certified():
    given = {"c": [[1.0], [1.0], [-1.0]], "G": [[-1.0], [1.0]], "cones": [socp.NonNeg(2)]}
    many = socp.solve_many(**given, h=[[0.0, 1.0], [-2.0, 1.0], [0.0, np.inf]])
    assert list(many.status) == ["optimal", "primal_infeasible", "dual_infeasible"]
    assert np.isnan(many.x[1]).all() and many[1].z @ [-2.0, 1.0] == pytest.approx(-1.0)


def test_a_solver_that_is_set_up_solves_many():
    given = disks()
    solver = socp.Solver(**{**given, "c": given["c"][0]})
    many, whole = solver.solve_many(c=given["c"], threads=2), socp.solve_many(**given)
    assert np.array_equal(many.x, whole.x)
    assert (solver.solve_many(h=np.tile(given["h"], (2, 1))).x[0] == many.x[0]).all()


def test_a_time_limit_leaves_the_rest():
    many = socp.solve_many(**disks(), time_limit=0.0)
    assert (many.status == "time_limit").all() and "time limit" in many[0].message


BAD = [
    ({"c": [[1.0, np.nan], [1.0, 1.0]]}, r"c must be finite, but c\[0, 1\] is nan"),
    ({"h": [[1.0], [np.nan]]}, r"h\[1, 0\] is nan"),
    ({"h": [-np.inf]}, r"h\[0\] is -inf"),
    ({"A": [[1.0, 1.0]], "b": [[1.0], [np.inf]]}, r"b must be finite, but b\[1, 0\] is inf"),
    ({"h": np.ones((3, 1))}, "leading axes must agree, but they are 2 of c, 3 of h"),
    ({"A": [[1.0, 1.0]]}, "A and b go together"),
    ({"c": [1.0, 1.0]}, "no argument has a leading axis"),
    ({"cones": [socp.NonNeg(2)]}, "program 0: cones must add up"),
    ({"G": np.ones((2, 1, 3))}, "G must have matrices with 2 columns"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_by_name(given, message):
    good = {"c": np.ones((2, 2)), "G": np.ones((1, 2)), "h": [1.0], "cones": [socp.NonNeg(1)]}
    with pytest.raises(socp.ProgramError, match=message):
        socp.solve_many(**{**good, **given})
