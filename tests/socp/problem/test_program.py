"""Cone programs: accepted arguments, their storage, and every wrong argument refused by name."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp import ConeProgram, LowRank, NonNeg, ProgramError, SecondOrder

GOOD = {
    "c": [1.0, 2.0, 3.0], "G": np.arange(12.0).reshape(4, 3), "h": [1.0, 2.0, 3.0, 4.0],
    "cones": [NonNeg(1), SecondOrder(3)], "A": [[1.0, 0.0, 1.0]], "b": [2.0], "P": np.diag([1.0, 0.0, 2.0]),
    "offset": 5.0,
}  # fmt: skip


def test_good():
    program = ConeProgram(**GOOD)
    assert (program.n, program.p, program.m, program.offset) == (3, 1, 4, 5.0)
    assert program.cones == (NonNeg(1), SecondOrder(3))
    np.testing.assert_array_equal(program.G.toarray(), GOOD["G"])
    np.testing.assert_array_equal(program.P.toarray(), GOOD["P"])
    assert repr(program) == "ConeProgram(n=3, p=1, m=4, cones: 1 NonNeg, 1 SecondOrder)"
    assert repr(ConeProgram([1.0])) == "ConeProgram(n=1, p=0, m=0, cones: none)"


@pytest.mark.parametrize("change, message", [
    ({"c": None}, "c must be"),
    ({"G": np.ones((4, 2))}, "G must have shape (any, 3) (3 variables in c), but (4, 2) came"),
    ({"G": None}, "G and h go together, but only h came: G is missing"),
    ({"h": None}, "G and h go together, but only G came: h is missing"),
    ({"h": [1, 2, 3]}, "h must have 4 entries (the rows of G), but 3 came"),
    ({"h": [1, 2, np.nan, 4]}, "h must not be NaN, but h[2] is"),
    ({"h": [-np.inf, 2, 3, 4]}, "h[0] is -inf: that row of the nonnegative orthant can never hold"),
    ({"h": [1, 2, np.inf, 4]}, "h must be finite in a second-order cone, but h[2] (cones[1]) is inf"),
    ({"cones": None}, "cones must add up to the 4 rows of G, but their dimensions sum to 0"),
    ({"cones": [NonNeg(5)]}, "cones must add up to the 4 rows of G, but their dimensions sum to 5"),
    ({"cones": 4}, "cones must be a sequence of NonNeg and SecondOrder, but 4 came"),
    ({"cones": {"l": 4}}, "cones[0] must be NonNeg or SecondOrder, but 'l' came"),
    ({"cones": [NonNeg(1), ("q", 3)]}, "cones[1] must be NonNeg or SecondOrder, but ('q', 3) came"),
    ({"cones": [NonNeg]}, "cones[0] must be NonNeg or SecondOrder, but "),
    ({"A": [[1, 2]]}, "A must have shape (any, 3) (3 variables in c), but (1, 2) came"),
    ({"A": None}, "A and b go together, but only b came: A is missing"),
    ({"b": None}, "A and b go together, but only A came: b is missing"),
    ({"b": [1, 2]}, "b must have 1 entries (the rows of A), but 2 came"),
    ({"P": np.eye(2)}, "P must have shape (3, 3) (3 variables in c), but (2, 2) came"),
    ({"P": LowRank(np.ones((4, 1)))}, "P must have shape (3, 3) (3 variables in c), but (4, 4) came"),
    ({"P": [[1, 2, 0], [1, 1, 0], [0, 0, 1]]}, "P must be symmetric, but P[0, 1] and P[1, 0] differ by 1 (largest"),
    ({"offset": np.nan}, "offset must be a finite number, but nan came"),
    ({"offset": None}, "offset must be a finite number, but None came"),
])  # fmt: skip
def test_one_wrong_argument(change, message):
    with pytest.raises(ProgramError, match="^" + re.escape(message)):
        ConeProgram(**(GOOD | change))
    # `solve` refuses it too, before any work
    if change == {"c": None}:
        message = "c, the linear objective, is missing"
    if change != {"offset": None}:  # `solve` takes None as no offset
        with pytest.raises(ProgramError, match="^" + re.escape(message)):
            socp.solve(**(GOOD | change))
    if "offset" not in change and "c" not in change:
        batch = GOOD | {"c": np.ones((2, 3))} | change
        del batch["offset"]
        with pytest.raises(ProgramError, match="^" + re.escape(message)):
            socp.solve_many(**batch)


@pytest.mark.parametrize("kind", [NonNeg, SecondOrder])
@pytest.mark.parametrize("dim", [-1, 1.0, "3", None, True])
def test_wrong_dimensions(kind, dim):
    message = f"the dimension of {kind.__name__} must be a nonnegative integer, but {dim!r} came"
    with pytest.raises(ProgramError, match="^" + re.escape(message)):
        kind(dim)


def test_cones_are_values():
    assert NonNeg(np.int32(3)) == NonNeg(3) != SecondOrder(3)
    assert len({NonNeg(3), NonNeg(np.int64(3)), SecondOrder(3)}) == 2
    assert ConeProgram([1.0], [[1.0]], [1.0], NonNeg(1)).cones == (NonNeg(1),)
    assert ConeProgram([1.0], [[1.0]], [1.0], iter([NonNeg(1)])).cones == (NonNeg(1),)


def test_read_only_arrays_are_taken():
    data = {name: np.array(value, dtype=float) for name, value in GOOD.items() if name not in ("cones", "offset")}
    for array in data.values():
        array.flags.writeable = False
    assert ConeProgram(**data, cones=GOOD["cones"]).m == 4


def test_the_form_of_the_hessian():
    full, dense = np.diag(np.ones(4)), np.ones((4, 4))
    assert ConeProgram(np.ones(4)).P is None
    assert isinstance(ConeProgram(np.ones(4), P=full).P, sp.csc_array)
    assert isinstance(ConeProgram(np.ones(4), P=dense).P, np.ndarray)
    # the storage format does not decide
    for container in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        assert isinstance(ConeProgram(np.ones(4), P=container(full)).P, sp.csc_array)
        kept = ConeProgram(np.ones(4), P=container(dense)).P
        assert isinstance(kept, np.ndarray)
        np.testing.assert_array_equal(kept, dense)
    # more than half of the entries, without stored zeros
    corner = np.pad(np.ones((3, 3)), (0, 1))
    corner[3, 3] = 1.0
    assert isinstance(ConeProgram(np.ones(4), P=sp.csc_array(corner)).P, np.ndarray)
    corner[2, :2] = corner[:2, 2] = 0.0
    stored = sp.csc_array((corner.T.ravel().copy(), np.tile(np.arange(4), 4), 4 * np.arange(5)), shape=(4, 4))
    assert stored.nnz == 16 and isinstance(ConeProgram(np.ones(4), P=stored).P, sp.csc_array)
    low_rank = LowRank(np.ones((4, 1)))
    assert ConeProgram(np.ones(4), P=low_rank).P is low_rank


def test_low_rank():
    rng = np.random.default_rng(0)
    F, d, x, X = rng.normal(size=(5, 2)), rng.uniform(size=5), rng.normal(size=5), rng.normal(size=(5, 3))
    P = LowRank(F, d)
    full = F @ F.T + np.diag(d)
    assert P.shape == (5, 5) and repr(P) == "LowRank(n=5, rank=2)"
    np.testing.assert_allclose(P.toarray(), full)
    np.testing.assert_allclose(P.diagonal(), full.diagonal())
    np.testing.assert_allclose(P @ x, full @ x)
    np.testing.assert_allclose(P @ X, full @ X)
    np.testing.assert_array_equal(LowRank(F).d, np.zeros(5))


def test_solve_takes_a_program_or_its_data_and_not_both():
    program = ConeProgram(**GOOD)
    with pytest.raises(ProgramError, match="a program came, and c, offset beside it: give one or the other"):
        socp.solve(program, c=[1], P=None, offset=0.0)
    with pytest.raises(
        ProgramError, match=r"program must be a ConeProgram, but \[1.0, 2.0\] came; data are given by name"
    ):
        socp.solve([1.0, 2.0])
    with pytest.raises(ProgramError, match="c, the linear objective, is missing"):
        socp.solve(G=[[1.0]], h=[1.0])
    with pytest.raises(TypeError, match="'q'"):
        socp.solve(c=[1.0], q=[1.0])
    with pytest.raises(TypeError, match="'tolerance'"):
        socp.iterates(program, tolerance=1.0)
    with pytest.raises(ProgramError, match="tol must be a positive number, but -1 came"):
        socp.Solver(program, tol=-1)


@pytest.mark.parametrize("equilibrate", [True, False])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e12])
def test_semidefinite_to_rounding(scale, equilibrate):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(30, 7))
    F[rng.random(F.shape) < 0.7] = 0.0
    c = scale * F @ F.T @ np.ones(30)
    value = -0.5 * scale * np.sum((F.T @ np.ones(30)) ** 2)
    for P in (F @ F.T, sp.csc_array(F @ F.T), F[:, :1] @ F[:, :1].T):
        solver = socp.Solver(ConeProgram(c, P=scale * P), equilibrate=equilibrate)  # raises unless P is semidefinite
        if scale > 1.0 and not equilibrate:  # accepted, but too large to be solved unscaled
            continue
        solution = solver.solve()
        if np.linalg.matrix_rank(P.toarray() if sp.issparse(P) else P) == 1:  # c is outside the range of P
            assert solution.status == "dual_infeasible"
        else:
            assert solution.status == "optimal" and solution.objective == pytest.approx(value, rel=1e-7)


def test_stored_zeros_are_no_indefinite_matrix():
    stored = sp.csc_array((np.zeros(2), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    assert socp.solve(c=[0.0, 0.0], P=stored).status == "optimal"
    mixed = sp.csc_array((np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    assert socp.solve(c=[1.0, 1.0], P=mixed).objective == pytest.approx(-1.0)
    everywhere = sp.csc_array((np.zeros(4), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    assert socp.solve(c=[1.0, 0.0], P=everywhere).status == "dual_infeasible"
