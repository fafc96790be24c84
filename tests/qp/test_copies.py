"""Copies of solutions of every method have equal derivatives; pickled ones explain why they have none."""

import copy
import pickle

import numpy as np
import pytest

import models
import qp
import socp
from socp import ProgramError
from socp.verify.stopping import residuals

EYE, MINUS = np.eye(3), -np.ones(3)
RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(60, 60))
PRESOLVED = {"A": [[1.0, 0, 0], [1, 1, 1]], "l": [0.5, -9], "u": [0.5, 1.0]}
DISK = {"G": [[0, 0], [-1, 0], [0, -1]], "h": [1, 0, 0], "cones": [socp.SecondOrder(3)], "P": np.eye(2)}


def boxed(by_rows=False):
    X, y = RNG.normal(size=(300, 4)), np.where(RNG.random(300) < 0.5, 1.0, -1.0)
    kernel = models.KernelMatrix(X, "rbf", gamma=0.2, signs=y)
    data = {"q": -np.ones(300), "A": y[None], "l": 0.0, "u": 0.0, "lb": 0.0, "ub": 1.0}
    return models.KernelSolver(models.KernelProgram(kernel, **data)).solve() if by_rows else qp.solve(kernel, **data)


def updated():
    solver = qp.Solver(EYE, MINUS, A=np.ones((1, 3)), u=[1.0], lb=0.0)
    first = solver.solve()
    solver.update(q=3.0 * MINUS)
    solver.solve()
    return first


def machine():
    kernel, which, q = models.KernelMatrix(np.eye(2), "linear"), np.arange(2), np.array([-1.0, 1.0])
    found = models.solve_series(
        kernel, which, np.array([0, 2]), q, -9.0 * (q > 0), 9.0 * (q < 0), sides=np.zeros((1, 1)), tol=1e-10
    )
    signed = models.KernelMatrix(np.eye(2), "linear", signs=-q)
    return found.solution(0, slice(0, 2), models.KernelProgram(signed, [-1.0, -1.0], [-q], 0.0, 0.0, 0.0, 9.0))


# name: (what finds an answer, its method; None in a batch)
QUADRATIC = {
    "without curvature": (
        lambda: qp.solve(None, -MINUS, A=np.ones((1, 3)), l=[0.2], lb=[0.0, 0.1, 0.2]),
        "dual active set",
    ),
    "dual": (lambda: qp.solve(EYE, MINUS, A=np.ones((1, 3)), l=[0.2], u=[1.0], lb=0.0), "dual active set"),
    "dual with rows that presolve leaves out": (lambda: qp.solve(EYE, MINUS, **PRESOLVED), "dual active set"),
    "dual with fixed variables": (lambda: qp.solve(EYE, MINUS, lb=[0.5, 0, 0], ub=[0.5, 0.7, 2]), "dual active set"),
    "an answer before an update": (updated, "dual active set"),
    "engine": (lambda: qp.solve(WIDE @ WIDE.T, WIDE[0], lb=-1.0, active_set=False), "interior point"),
    "presolved": (lambda: qp.solve(EYE, MINUS, **PRESOLVED, kkt="dense"), "interior point"),
    "fixed": (lambda: qp.solve(EYE, MINUS, lb=[0.5, 0, 0], ub=[0.5, 1, 1], active_set=False), "interior point"),
    "active set": (boxed, "active set"),
    "of a batch": (lambda: qp.solve_many(EYE, [MINUS, 2.0 * MINUS], A=np.ones((1, 3)), u=[1.0])[1], None),
    "alone in a batch": (lambda: qp.solve_many(EYE, [MINUS, MINUS], A=np.ones((1, 3)), u=1.0, max_iter=300)[0], None),
    "large of a batch": (lambda: qp.solve_many(np.eye(200), -np.ones((2, 200)), ub=0.5)[1], "interior point"),
}
CONIC = {
    "engine": lambda: socp.solve(c=[1.0, 0.5], **DISK),
    "of a batch": lambda: socp.solve_many(c=[[1.0, 0.5], [0.3, 2.0]], **DISK)[1],
    "of a solver": lambda: socp.Solver(c=[1.0, 0.5], **DISK).solve(),
}
COPIES = [copy.copy, copy.deepcopy, lambda found: copy.deepcopy(copy.copy(found))]


def derivatives(found):
    dx = np.linspace(1.0, 2.0, found.x.size)
    gradient = found.vjp(dx=dx)
    vector = gradient.q if hasattr(gradient, "q") else gradient.c
    return [vector, *(found.jvp(dq=dx) if hasattr(gradient, "q") else found.jvp(dc=dx))]


def check_copies(found):
    expected = derivatives(found)
    for copied in COPIES:
        for one, other in zip(derivatives(copied(found)), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    for again in (pickle.loads(pickle.dumps(found)), pickle.loads(pickle.dumps(copy.deepcopy(found)))):
        for take in (lambda again=again: again.vjp(dx=again.x), lambda again=again: again.jvp()):
            with pytest.raises(ProgramError, match="without its program, as out of a pickle"):
                take()


@pytest.mark.parametrize("name", QUADRATIC)
def test_of_quadratic_programs(name):
    find, method = QUADRATIC[name]
    found = find()
    assert found.status == "optimal" and (None if found.plan is None else found.plan.method) == method
    check_copies(found)
    if method in ("dual active set", "interior point"):
        check_copies(cone := found.cone_solution)
        told = residuals(cone._linearize.args[0], cone.x, cone.y, cone.z, cone.s).relative
        assert told == pytest.approx((cone.primal_residual, cone.dual_residual, cone.gap), rel=1e-9, abs=1e-25)
        for copied in COPIES:
            check_copies(copied(find()).cone_solution)
        again = pickle.loads(pickle.dumps(find()))
        np.testing.assert_array_equal(again.cone_solution.x, found.cone_solution.x)
    else:
        assert found.cone_solution is None


@pytest.mark.parametrize("find", [lambda: boxed(by_rows=True), machine])
def test_kernel_programs_have_the_derivatives_of_their_matrix_and_copies_have_them_too(find):
    found = find()
    program = found._linearize.args[0]
    wanted = qp.solve(program, tol=1e-10).vjp(np.ones(program.n))
    for one in (found, *(copied(found) for copied in COPIES)):
        assert one.cone_solution is None
        gradient = one.vjp(np.ones(program.n))
        for name in ("P", "q", "A", "ub"):
            other = getattr(gradient, name), getattr(wanted, name)
            np.testing.assert_allclose(
                *(part.toarray() if hasattr(part, "toarray") else part for part in other), atol=1e-6
            )


@pytest.mark.parametrize("name", CONIC)
def test_of_cone_programs(name):
    check_copies(CONIC[name]())


@pytest.mark.parametrize("name", [
    "dual", "dual with rows that presolve leaves out", "dual with fixed variables",
    "engine", "presolved", "fixed",
])  # fmt: skip
def test_the_cone_solution_has_the_derivatives_of_its_own_program(name):
    cone = QUADRATIC[name][0]().cone_solution
    alone = socp.solve(cone._linearize.args[0])
    np.testing.assert_allclose(cone.x, alone.x, atol=1e-6)
    for one, other in zip(derivatives(cone), derivatives(alone), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_deep_copy_shares_no_numbers():
    found = qp.solve(EYE, MINUS, A=np.ones((1, 3)), u=[1.0])
    other, cone = copy.deepcopy(found), found.cone_solution.x.copy()
    other.x[:] = other.cone_solution.x[:] = other.trace["gap"] = 7.0
    assert (found.x < 1.0).all() and (found.cone_solution.x == cone).all() and (found.trace["gap"] != 7.0).all()


@pytest.mark.parametrize("copied", COPIES)
def test_batches(copied):
    many = qp.solve_many(EYE, [MINUS, 2.0 * MINUS], A=np.ones((1, 3)), u=[1.0])
    cones = socp.solve_many(c=[[1.0, 0.5], [0.3, 2.0]], **DISK)
    dx = np.ones(many.x.shape)
    np.testing.assert_array_equal(copied(many).vjp(dx=dx).q, many.vjp(dx=dx).q)
    np.testing.assert_array_equal(copied(many)[1].vjp(dx=dx[1]).q, many[1].vjp(dx=dx[1]).q)
    dx = np.ones(cones.x.shape)
    np.testing.assert_array_equal(copied(cones).vjp(dx=dx).c, cones.vjp(dx=dx).c)
    np.testing.assert_array_equal(copied(cones)[1].vjp(dx=dx[1]).c, cones[1].vjp(dx=dx[1]).c)
    for batch in (many, cones):
        again = pickle.loads(pickle.dumps(copied(batch)))
        with pytest.raises(ProgramError, match="without their programs, as out of a pickle"):
            again.vjp()
        with pytest.raises(ProgramError, match="without its program, as out of a pickle"):
            again[0].vjp()
