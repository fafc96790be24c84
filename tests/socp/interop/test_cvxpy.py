"""The engine as a solver of cvxpy, judged by cvxpy's own standard tests."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers import defines
from cvxpy.tests import solver_test_helpers as helpers
from packaging.version import Version

import qp.interop.cvxpy
import socp
from socp.interop.cvxpy import CentralPath, register

CLASSES = ("StandardTestLPs", "StandardTestQPs", "StandardTestSOCPs", "StandardTestInfeasibleProblems")
NAME = "CENTRALPATH"
ROOT = Path(__file__).resolve().parents[3]
OPT_IN = "is for interfaces that take the bounds that cvxpy derives, which are wrong where 0 meets infinity"
ELSEWHERE = {
    "test_lp_7": "asks for the package of another solver before it looks at ours",
    "test_lp_bound_attr": OPT_IN,
    "test_qp_bound_attr": OPT_IN,
}
SINCE_1_9 = Version(cp.__version__) >= Version("1.9")


def standard_tests():
    for cls in (getattr(helpers, name) for name in CLASSES if hasattr(helpers, name)):  # the last is new in cvxpy 1.9
        for name, function in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("test_") and "mi_" not in name and name not in ELSEWHERE:  # no integers here
                yield pytest.param(function, id=f"{cls.__name__}-{name}")


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
@pytest.mark.parametrize("test", list(standard_tests()))
def test_standard(test, solver):
    test(solver)


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
@pytest.mark.parametrize("problem", [name.removeprefix("test_") for name in ELSEWHERE])
def test_the_problems_of_the_tests_that_ask_for_more(problem, solver):
    if not hasattr(helpers, problem):  # bounds are new in cvxpy 1.9
        return
    case = getattr(helpers, problem)()
    case.solve(solver)
    case.verify_objective(4)
    if problem != "lp_7":  # its solution is not unique
        case.verify_primal_values(4)
        case.verify_dual_values(4)


def test_the_name_is_known_once_the_module_is_imported():
    assert cp.installed_solvers().count(NAME) == 1
    assert {NAME} <= set(defines.INSTALLED_SOLVERS) & set(defines.CONIC_SOLVERS) & set(defines.QP_SOLVERS)
    register(CentralPath(), defines.SOLVER_MAP_CONIC, defines.CONIC_SOLVERS)
    assert defines.CONIC_SOLVERS.count(NAME) == 1
    x = cp.Variable(2)
    assert cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1]).solve(solver=NAME.lower()) == pytest.approx(-(2**0.5))


def test_by_name_a_quadratic_program_goes_to_qp_with_bounds_as_bounds_and_other_problems_to_the_cones():
    rng = np.random.default_rng(4)
    root, x = rng.normal(size=(200, 200)), cp.Variable(200, bounds=[0.0, 1.0])
    total = cp.sum(x) == 10
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(root @ root.T)) - cp.sum(root[0] @ x)), [total])
    value = problem.solve(solver=NAME)
    answer = problem.solver_stats.extra_stats
    kept = problem._solver_cache[NAME]
    assert isinstance(answer, qp.Solution) and isinstance(kept, qp.Solver)
    assert kept.active_set is not None  # recognized as a boxed program with a dense P
    left = kept.presolved.program
    assert (left.lb == 0.0).all() and (left.ub == 1.0).all() and left.m == 1
    ours = total.dual_value, x.value
    assert value == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6)
    np.testing.assert_allclose(ours[0], total.dual_value, rtol=1e-5)
    np.testing.assert_allclose(ours[1], x.value, atol=1e-5)
    problem = cp.Problem(cp.Minimize(cp.norm(x - 2.0)), [x[0] <= 0.5])
    assert problem.solve(solver=NAME) == pytest.approx((199 + 2.25) ** 0.5, rel=1e-6)
    assert isinstance(problem.solver_stats.extra_stats, socp.Solution)


FRESH = """
import importlib.metadata as metadata
own = metadata.EntryPoint("qp", "qp.interop.cvxpy", "centralpath.cvxpy")
metadata.entry_points = lambda group: [own][:{installed}] if group == own.group else []
import cvxpy as cp
import socp.interop.cvxpy
x = cp.Variable(2)
problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x >= 2])
print(type(problem.get_problem_data("CENTRALPATH")[1].solver).__name__)
"""


@pytest.mark.parametrize(
    "installed, interface", [(1, "CentralPathQP"), pytest.param(0, "CentralPath", marks=pytest.mark.full)]
)
def test_one_import_brings_every_interface_that_is_installed(installed, interface):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # nothing is solved
    command = [sys.executable, "-c", FRESH.format(installed=installed)]
    made = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout.split() == [interface]


@pytest.mark.parametrize("quadratic", [False, True])
def test_familiar_names_of_settings(quadratic):
    x = cp.Variable(2)
    size = cp.sum_squares(x - [1, 2]) if quadratic else cp.norm(x - [1, 2])
    problem = cp.Problem(cp.Minimize(size), [x >= 0, cp.sum(x) <= 1])
    problem.solve(solver=NAME, max_iters=70, abstol=1e-5, reltol=1e-4, feastol=1e-3, eps_abs=1e-2)
    assert problem._solver_cache[NAME].settings == socp.Settings(max_iter=70, tol=1e-5, tol_abs=1e-2)
    problem.solve(solver=NAME, eps=1e-6)
    assert problem._solver_cache[NAME].settings == socp.Settings(tol=1e-6)
    with pytest.raises(socp.ProgramError, match="max_iters must be a nonnegative integer, but 'many' came"):
        problem.solve(solver=NAME, max_iters="many")
    problem.solve(solver=NAME, tol_gap_abs=1e-6, tol_gap_rel=1e-5, tol_feas=1e-7, max_threads=2)
    assert problem._solver_cache[NAME].settings == socp.Settings(tol=1e-7, threads=2)
    problem.solve(solver=NAME, max_threads=0)  # Clarabel's default
    assert problem._solver_cache[NAME].settings == socp.Settings()
    with pytest.raises(socp.ProgramError, match="threads and max_threads are one setting"):
        problem.solve(solver=NAME, threads=1, max_threads=1)


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [
        ("tolerance", ": did you mean 'tol'? the"),
        ("num_threads", ": did you mean 'max_threads' or 'threads'? the"),
        ("tolfeas", ": did you mean 'tol_feas' or 'tol_abs'? the"),
        ("iteration_limit", "; the"),
        ("time_limit_sec", ": did you mean 'time_limit'? the"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_names_that_are_taken(unknown, meant):
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable(2))))
    with pytest.raises(socp.ProgramError) as refused:
        problem.solve(solver=NAME, **{unknown: 1})
    assert str(refused.value).startswith(f"unknown setting '{unknown}'{meant} settings are tol, tol_abs, ")
    others = str(refused.value).partition("also taken are ")[2].split(", ")
    assert {"eps", "abstol", "tol_gap_abs", "tol_feas", "max_threads"} <= set(others)
    assert not {"tol", "threads", "max_iter"} & set(others)


def test_a_problem_is_compiled_once_for_all_objects_of_a_class():
    interfaces = CentralPath(), defines.SOLVER_MAP_QP[NAME]
    assert CentralPath() == interfaces[0] != interfaces[1]
    assert len({CentralPath(), *interfaces}) == 2
    x, limit = cp.Variable(2), cp.Parameter(value=1.0)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= limit])
    problem.solve(solver=CentralPath())
    compiled, kept = problem._cache.param_prog, problem._solver_cache[NAME]
    limit.value = 2.0
    assert problem.solve(solver=CentralPath()) == pytest.approx(-(8**0.5))
    assert problem._cache.param_prog is compiled and problem._solver_cache[NAME] is kept


def test_statistics_and_the_whole_answer_are_kept():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= [1, 2]])
    problem.solve(solver=CentralPath())
    statistics = problem.solver_stats
    assert statistics.solver_name == "CENTRALPATH"
    assert statistics.num_iters == statistics.extra_stats.iterations > 0
    assert statistics.solve_time > 0
    assert statistics.setup_time > 0
    assert statistics.extra_stats.gap < 1e-8


def test_a_limit_gives_the_best_point_found():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x - [1, 2])), [x >= 0, cp.sum(x) <= 1])
    with pytest.warns(UserWarning, match="inaccurate"):
        problem.solve(solver=CentralPath(), max_iter=2)
    assert problem.status == "user_limit"
    assert np.isfinite(x.value).all()


@pytest.mark.parametrize("kind", ["cones", "quadratic", "bounds"])
def test_parameters_change_and_the_solver_is_kept(kind):
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(20, 4))

    def make():
        target, radius, x = cp.Parameter(20), cp.Parameter(nonneg=True), cp.Variable(4)
        if kind == "bounds":
            x = cp.Variable(4, bounds=[-1.0, radius if SINCE_1_9 else 1.0])
        constraints = {"cones": [cp.norm(x) <= radius], "quadratic": [x <= radius], "bounds": []}[kind]
        return target, radius, cp.Problem(cp.Minimize(cp.sum_squares(samples @ x - target)), constraints)

    problems, kept = (make(), make()), set()
    for size in (0.1, 0.12, 5.0):
        values = rng.normal(size=20)
        for target, radius, _ in problems:
            target.value, radius.value = values, size
        ours = problems[0][2].solve(solver=NAME)
        kept.add(id(problems[0][2]._solver_cache[NAME]))
        assert ours == pytest.approx(problems[1][2].solve(solver=cp.CLARABEL), rel=1e-6)
    assert len(kept) == 1


@pytest.mark.parametrize("quadratic", [False, True])
def test_an_infeasible_problem_has_its_certificate_as_dual_values(quadratic):
    x = cp.Variable(2)
    constraints = [x[0] + x[1] >= 3, x <= 1 if quadratic else cp.norm(x) <= 1]
    problem = cp.Problem(cp.Minimize(cp.square(x[0]) if quadratic else x[0]), constraints)
    assert problem.solve(solver=NAME) == np.inf
    assert problem.status == "infeasible"
    if SINCE_1_9:
        assert constraints[0].dual_value > 0
    answer = problem.solver_stats.extra_stats  # older versions of cvxpy have certificates only here
    assert answer.status == "primal_infeasible"
    assert (answer.y if quadratic else answer.z).max() > 0


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
def test_the_first_solve_starts_at_the_values_of_the_variables(solver):
    x = cp.Variable(40)
    rows = [x >= -1, x <= 1, cp.sum(x) == 2]

    def iterations(**options):
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.linspace(-3, 3, 40))), rows)
        problem.solve(solver=solver, active_set=False, **options)
        return problem.solver_stats.num_iters

    cold = iterations()
    assert iterations() <= 0.7 * cold and iterations(warm_start=False) == cold
    x.value = np.linspace(9.0, -9.0, 40)
    assert iterations() == cold


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
def test_bounds_that_cross_are_infeasible(solver):
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= [0.0, 0.1], x <= [1.0, -0.1]])
    problem.solve(solver=solver)
    assert problem.status == "infeasible"


def test_verbose_prints_the_iterations(capsys):
    x = cp.Variable(2)
    cp.Problem(cp.Minimize(cp.norm(x - [1, 2])), [x <= 1]).solve(solver=CentralPath(), verbose=True)
    assert "gap" in capsys.readouterr().out


def test_without_cvxpy_the_error_says_what_to_install():
    code = "import sys; sys.modules['cvxpy'] = None; import socp.interop.cvxpy"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.stderr.splitlines()[-1] == "ModuleNotFoundError: this module needs cvxpy: pip install cvxpy"
