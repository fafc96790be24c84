"""The papers' programs are stated in one place, without estimators and solvers, and are those that are solved."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import models
import qp
import socp
from models.programs import explanations, margins, moments
from models.programs.logistic import separation_program
from tests.support.svm_data import two_classes

FOLDER = Path(models.__file__).parent / "programs"
FILES = sorted(FOLDER.glob("*.py"))
ALLOWED = {"__future__", "collections", "dataclasses", "math", "typing", "numpy", "scipy", "qp", "socp"}
STATED = {"Blocks", "ConeProgram", "LowRank", "QuadraticProgram"}
MOST_LINES, MOST_IN_ALL = 122, 800


def statements():
    """Yield the module and name of each public function that states a program."""
    for path in FILES[1:]:
        module = importlib.import_module(f"models.programs.{path.stem}")
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
                if not isinstance(value, type) and name != "of_tasks":
                    yield module, name


def test_programs_know_no_estimator_and_no_solver():
    for path in FILES:
        text = path.read_text()
        tree = ast.parse(text)
        modules = {
            node.module if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        } - {"kernel_machines.program"}  # blocks of programs with a kernel matrix
        assert {module.split(".")[0] for module in modules} <= ALLOWED, path.name
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("qp", "socp")
        }
        assert used <= STATED, path.name
        assert text.count("\n") <= MOST_LINES, path.name
    assert sum(path.read_text().count("\n") for path in FILES) <= MOST_IN_ALL


def test_numerics_know_no_estimator():
    for path in (FOLDER.parent / "numerics").glob("*.py"):
        imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert {node.module for node in imported if node.level > 1} <= {"base.rows"}, path.name


@pytest.fixture
def stated(monkeypatch):
    """Record all programs that the functions state, wherever they were imported to."""
    found = []

    def recorded(function):
        def call(*arguments, **named):
            value = function(*arguments, **named)
            found.append(value[0] if isinstance(value, tuple) else value)
            return value

        return call

    for name in ESTIMATORS:  # their modules are imported on first use
        getattr(models, name)
    for module, name in statements():
        function = getattr(module, name)
        wrapper = recorded(function)
        for user in [one for key, one in list(sys.modules.items()) if key.startswith("models.")]:
            if vars(user).get(name) is function:
                monkeypatch.setattr(user, name, wrapper)
    return found


ESTIMATORS = {
    "SVC": {}, "NuSVC": {"nu": 0.2}, "LinearSVC": {"loss": "hinge"}, "SVR": {}, "NuSVR": {}, "LinearSVR": {},
    "OneClassSVM": {}, "MinimaxProbabilityClassifier": {}, "MEDClassifier": {}, "BilevelClassifier": {},
    "ExplanationAugmentedSVC": {},
}  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_solve_what_is_stated(name, stated):
    X, y = two_classes(40, 3, noise=1.0)
    model = getattr(models, name)(**ESTIMATORS[name]).fit(X, y)
    program = model.program_
    known = [one.program() if isinstance(one, (qp.Blocks, socp.Blocks)) else one for one in stated]
    assert any(same(program, one) for one in known), name


def same(program, other):
    """Return True if two programs have equal data; P may be a kernel matrix."""
    if type(program) is not type(other):
        return False
    names = ("c", "G", "h", "A", "b") if isinstance(program, socp.ConeProgram) else ("q", "A", "l", "u", "lb", "ub")
    return all(np.array_equal(dense(getattr(program, part)), dense(getattr(other, part))) for part in names) and (
        program.P is other.P or np.array_equal(dense(program.P), dense(other.P))
    )


def dense(value):
    if isinstance(value, qp.LowRank):
        return value.F @ value.F.T + np.diag(value.d)
    return value.toarray() if hasattr(value, "toarray") else value


def test_programs_that_no_estimator_solves_are_those_of_their_lines():
    rng = np.random.default_rng(0)
    X, y, C, owner = rng.normal(size=(4, 3)), np.array([1.0, -1.0, -1.0, 1.0]), rng.random(4) + 1.0, np.array([2, 0])
    V, Q, w, b, xi, zeta = (
        rng.normal(size=(2, 3)),
        rng.random(2) + 1.0,
        rng.normal(size=3),
        0.7,
        rng.random(4),
        [0.2, 0.3],
    )
    p, x = explanations.rationale_program(X, y, C, V, owner, Q, 0.6).program(), np.r_[w, b, xi, zeta]
    assert 0.5 * x @ (p.P @ x) + p.q @ x == pytest.approx(0.5 * w @ w + C @ xi + Q @ zeta)
    rows = np.r_[y * (X @ w + b) - 1.0 + xi, y[owner] * ((X[owner] - V) @ w) - 0.6 * (1.0 - np.array(zeta))]
    np.testing.assert_allclose(p.A @ x - p.l, rows, atol=1e-12)
    assert (p.u == np.inf).all() and p.lb.tolist() == [-np.inf] * 4 + [0.0] * 6 and (p.ub == np.inf).all()
    P = X @ X.T
    p = margins.adaptive_dual(P, y, C, w := rng.normal(size=4))
    assert np.array_equal(p.P, P) and np.array_equal(p.q, y * w - 1.0) and p.m == 0
    assert not p.lb.any() and np.array_equal(p.ub, C)
    roots, d, x = rng.normal(size=(2, 3, 3)), rng.normal(size=3), rng.normal(size=4)
    p = moments.biased_minimax_program(d, roots, 0.4).program()
    assert p.c @ x == pytest.approx(0.4 * x[3] - d @ x[:3]) and [cone.dim for cone in p.cones] == [4, 4]
    np.testing.assert_allclose(p.h - p.G @ x, np.r_[1.0, roots[0] @ x[:3], x[3], roots[1] @ x[:3]], atol=1e-12)


def test_a_price_of_nothing_or_of_everything_is_not_squared():
    Q, P, one = np.array([0.0, 2.0, np.inf]), np.ones((4, 4)), np.ones(1)
    for form in (P, qp.LowRank(np.ones((4, 1)), 0.0)):
        p = explanations.explained_dual(form, one, one, Q, "l2", False)
        assert np.array_equal(dense(p.P), P + np.diag([0.0, 0.0, 0.25, 0.0]))
        assert p.ub.tolist() == [1.0, 0.0, np.inf, np.inf] and p.lb.tolist() == [0.0, 0.0, -np.inf, -np.inf]


def test_the_separation_of_classes_knows_no_units():
    M = np.random.default_rng(0).normal(size=(5, 3)) * [1.0, 1.0, 0.0]
    p, other = (separation_program(M * units) for units in ([1.0, 1.0, 1.0], [1e-9, 1e9, 1.0]))
    np.testing.assert_allclose(p.A.toarray(), other.A.toarray(), rtol=1e-12)
    assert np.abs(p.A.toarray()[:, :3]).max(axis=0).tolist() == [1.0, 1.0, 0.0]
