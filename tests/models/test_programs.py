"""The papers' programs are stated in one place, without estimators and solvers, and are those that are solved."""

import ast
import functools
import importlib
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import models
import qp
import socp
from models.base.estimator import Estimator
from models.programs import bilevel, explanations
from models.programs.separation import separation_program
from tests.support.bilevel_problems import random_problem
from tests.support.kkt import dense, kkt, same
from tests.support.program_records import METHODS, RECORDS, WITHOUT, is_found, methods, row
from tests.support.solved_programs import CASES
from tests.support.svm_data import two_classes

FOLDER = Path(models.__file__).parent / "programs"
ROOT = FOLDER.parents[1]
FILES = sorted(FOLDER.glob("*.py"))
ALLOWED = {"__future__", "collections", "dataclasses", "math", "typing", "numpy", "scipy", "qp", "socp"}
STATED = {"Blocks", "ConeProgram", "LowRank", "QuadraticProgram"}
MOST_LINES = 200  # a file of programs is read at one sitting


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


def test_numerics_know_no_estimator():
    for path in (FOLDER.parent / "numerics").glob("*.py"):
        imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert {node.module for node in imported if node.level > 1} <= {"base.rows", "base.blocks"}, path.name


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

    for name in models.__all__:  # their modules are imported on first use
        getattr(models, name)
    for module, name in statements():
        function = getattr(module, name)
        wrapper = recorded(function)
        for user in [one for key, one in list(sys.modules.items()) if key.startswith("models.")]:
            if vars(user).get(name) is function:
                monkeypatch.setattr(user, name, wrapper)
    return found


def fits():
    """Return {estimator: a function that fits it and returns it}, of the estimators that state their program in fit."""
    X, y = two_classes(40, 3, noise=1.0)
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 3, size=6) for _ in range(8)]
    counts = rng.poisson(2.0, size=(12, 6)) + 1
    classes = np.arange(12) % 2
    of_table = {
        "OneClassSVM": {}, "MinimaxProbabilityClassifier": {}, "MEDClassifier": {}, "BilevelClassifier": {},
        "ExplanationAugmentedSVC": {}, "MultiTaskSVC": {}, "KnowledgeSVC": {},
    }  # fmt: skip
    found = {name: functools.partial(getattr(models, name)(**given).fit, X, y) for name, given in of_table.items()}
    found["SVC"] = functools.partial(models.SVC(shrinking=False).fit, X, y)
    found["LargeMarginHMM"] = functools.partial(models.LargeMarginHMM(2).fit, words, np.arange(8) % 2)
    found["MedLDA"] = functools.partial(models.MedLDA(2, random_state=0).fit, counts, classes)
    return found | {
        "MaxMarginScoreSpace": functools.partial(
            models.MaxMarginScoreSpace(models.LatentDirichletAllocation(2, random_state=0)).fit, counts, classes
        )
    }


LOOSE = {
    "LargeMarginHMM": 1e-8,
    "BilevelClassifier": 1e-7,
}  # their own tolerance of the engine where it is no parameter


@pytest.mark.parametrize("name", fits())
def test_the_program_that_is_kept_was_stated_during_fit_and_is_solved(name, stated):
    model = fits()[name]()
    known, names = [one.program() if isinstance(one, (qp.Blocks, socp.Blocks)) else one for one in stated], len(stated)
    assert names > 0
    if name != "BilevelClassifier":  # whose rows are updated from round to round
        assert any(same(model.program_, one) for one in known)
    assert len(stated) == names, "reading program_ must not state it again"
    assert kkt(model.program_, model.solution_).worst <= LOOSE.get(name, 1e-8)
    if name in ("LargeMarginHMM", "MedLDA"):  # C of the estimator
        sides = model.program_.u if model.program_.m else model.program_.ub
        assert (sides == model.C).all()


def test_the_cone_of_a_gain_bounds_the_product_and_is_tight_where_it_is_linearized():
    rng = np.random.default_rng(0)
    g, w, a = rng.normal(size=4), rng.normal(size=4), 0.7
    nu0, u0 = 0.8, float(g @ w)
    terms = bilevel.gain_cone(g, a, a * nu0 + u0 / a, 1, 2)

    def slack(w, nu, gain):
        nu, gain = np.array([0.0, nu]), np.array([0.0, gain])
        head = terms["head"]["w"] @ w + terms["head"]["nu"] @ nu + terms["head"]["gain"] @ gain + terms["radius"]
        return head - np.linalg.norm(terms["w"] @ w + terms["nu"] @ nu + terms["gain"] @ gain + terms["shift"])

    tight = nu0 * u0 - 0.25 * ((a * nu0 - u0 / a) ** 2) + 0.25 * (a * nu0 - u0 / a) ** 2
    assert slack(w, nu0, tight) == pytest.approx(0.0, abs=1e-12) and slack(w, nu0, tight + 0.1) < 0.0
    for _ in range(50):
        v, nu = w + rng.normal(size=4), rng.random()
        assert slack(v, nu, nu * float(g @ v) + 1e-9) < 1e-9


def test_the_curved_program_has_the_minimizer_of_step_1():
    samples, prior, constants = random_problem(
        3, sigma="full", omega="diagonal", constants=bilevel.Constants(0.5, 0.3, 1.0, 2.0, np.inf)
    )
    roots = [Sigma.root_matrix() for Sigma in prior.Sigma]
    p, _ = bilevel.hyperplane_program(samples, prior.t, roots, constants)
    program = p.program()
    one = socp.solve(program, tol=1e-10)
    curved = socp.solve(bilevel.curved_program(program, p, float(np.linalg.norm(one.x[p.w]))), tol=1e-10)
    np.testing.assert_allclose(curved.x[p.w], one.x[p.w], atol=1e-4)
    at = lambda x: program.c @ x + np.linalg.norm(x[p.w]) - x[p.rho][0]  # noqa: E731
    assert at(curved.x) == pytest.approx(one.objective, rel=1e-7)


def estimators():
    found = [getattr(models, name) for name in models.__all__]
    return [one for one in found if inspect.isclass(one) and issubclass(one, Estimator)]


def test_every_estimator_has_a_record_and_its_row():
    """Hold the records against `models`, and docs/programs.md against the records; new estimators need a record."""
    page, choices = ((ROOT / "docs" / name).read_text("utf-8") for name in ("programs.md", "choices.md"))
    ways = [name for rows in (METHODS, WITHOUT) for names in rows.values() for name in names]
    assert sorted(ways) == sorted(one.__name__ for one in estimators())
    for one in estimators():
        name, solves = one.__name__, "program_" in (one.__doc__ or "") or hasattr(one, "program_")
        assert (name in RECORDS, name in CASES) == (solves, solves), name
        assert not solves or row(name, RECORDS[name].residual) in page, name
        assert one._kind not in ("classifier", "regressor", "outlier_detector") or f"`{name}`" in choices, name
    assert all(line in page for line in methods())


def test_every_function_has_an_estimator():
    told = re.findall(r"`(\w+)`", " ".join(record.functions for record in RECORDS.values()))
    assert {*told, "mean_program", "radius_program"} == {name for _, name in statements()}


@pytest.mark.parametrize("name", RECORDS)
def test_the_fault_of_a_record_is_one_of_the_code(name):
    fault = RECORDS[name].fault
    assert (FOLDER.parent / fault.file).read_text("utf-8").count(fault.before) == 1
    assert fault.before != fault.after


@pytest.mark.full
@pytest.mark.parametrize("name", RECORDS)
def test_the_fault_of_a_record_is_found(name):
    assert is_found(name)


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
