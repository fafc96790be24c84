"""`verbose` only prints: a line for each iteration, or round, of every method; answers are unchanged."""

import re

import numpy as np
import pytest

import models
import qp
from models import SVC
from socp.problem.printing import COLUMNS
from tests.support.sparse_matrices import random_sparse

LINE = re.compile(r" *\d+ (?:[ -]\d\.\d{8}e|  +------)")


def samples(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def solver_of(data, **settings):
    """Return the solver of a program given by its data, of a kernel program if P is a `KernelMatrix`."""
    if isinstance(data["P"], models.KernelMatrix):
        return models.KernelSolver(models.KernelProgram(**data), **settings)
    return qp.Solver(**data, **settings)


def machine(by_rows, n=300, **kernel):
    X, y = samples(n)
    K = models.KernelMatrix(X, **{"kernel": "rbf", "gamma": 0.2, "signs": y, **kernel})
    return {"P": K if by_rows else K.dense(), "q": -np.ones(n), "A": y[None], "l": 0.0, "u": 0.0, "lb": 0.0, "ub": 1.0}


def random_rows(n, m, density, seed=0):
    rng = np.random.default_rng(seed)
    A = random_sparse((m, n), rng=rng, density=density).tocsc()
    return {"P": None, "q": rng.normal(size=n), "A": A, "l": -1.0, "u": 1.0, "lb": -1.0, "ub": 1.0}


WIDE = np.random.default_rng(1).normal(size=(150, 150))
ROUND = WIDE @ WIDE.T + 50.0 * np.eye(150)  # so well conditioned that no processor's rounding ends the active set
BOX = {"P": WIDE[:10] @ WIDE[:10].T, "q": WIDE[0, :10], "lb": -1.0, "ub": 1.0}
# name: (data of a quadratic program, its method)
PROGRAMS = {
    "proximal steps": ({**BOX, "P": None}, "dual active set"),
    "dual": (BOX, "dual active set"),
    "dual with rows": ({**BOX, "A": WIDE[:5, :10], "l": -0.5, "u": 0.5}, "dual active set"),
    "dual that finds a certificate": (
        {**BOX, "A": np.ones((2, 10)), "l": [1.0, -9.0], "u": [9.0, 0.0]},
        "dual active set",
    ),
    "dual that finds nothing": ({"P": np.diag([1.0, 0.0]), "q": [0.0, -1.0], "ub": 1e9}, "interior point"),
    "active set": (machine(False), "active set"),
    "active set without a row": ({"P": ROUND, "q": 50.0 * WIDE[0], "lb": -1.0, "ub": 1.0}, "active set"),
    "active set between sides": (
        {"P": ROUND, "q": 50 * WIDE[0], "A": WIDE[1:2], "l": 1.0, "u": 3.0, "lb": -1.0, "ub": 1.0},
        "active set",
    ),
    "working set": (machine(True), "working set"),
    "working set of many": (machine(True, n=1500), "working set"),
    "rows that are not enough": ({**machine(True, n=60), "ub": np.inf}, None),
    "presolved": ({**BOX, "A": np.vstack([np.eye(10)[:1], np.ones((1, 10))]), "u": [0.5, 1.0], "l": -2.0}, None),
    "fixed": ({**BOX, "lb": np.r_[1.0, -np.ones(9)], "active_set": False}, "interior point"),
    "dense": ({"P": WIDE @ WIDE.T, "q": WIDE[0], "A": WIDE[:9], "l": 1.0, "u": 1.0, "kkt": "dense"}, "interior point"),
    "sparse": (random_rows(400, 200, 0.01), "interior point"),
    "low rank": ({"P": qp.LowRank(WIDE[:, :3], 0.1 * np.ones(150)), "q": WIDE[0], "ub": 1.0}, "interior point"),
    "unbounded": ({"P": None, "q": -np.ones(3), "A": np.ones((1, 3)), "l": 0.0}, "interior point"),
    "stopped": ({**random_rows(40, 20, 0.1), "max_iter": 3}, "interior point"),
    "degenerate": ({**random_rows(40, 20, 0.1), "tol": 1e-15}, "interior point"),
}
ENTRIES = {"dual with rows": (100, 50), "active set": (300**2, 300), "working set": (300**2, 300)}  # of P and of A


def check_equal(silent, told):
    for name in ("x", "y", "z_bounds" if hasattr(silent, "z_bounds") else "z"):
        assert getattr(silent, name).tobytes() == getattr(told, name).tobytes()
    assert silent.plan == told.plan and silent.iterations == told.iterations and silent.status == told.status
    assert silent.message == told.message
    assert silent.trace.dtype == told.trace.dtype
    for name in set(silent.trace.dtype.names) - {"seconds"}:
        assert np.ascontiguousarray(silent.trace[name]).tobytes() == np.ascontiguousarray(told.trace[name]).tobytes()


def lines(out):
    return sum(1 for line in out.splitlines() if LINE.match(line))


@pytest.mark.parametrize("name", PROGRAMS)
def test_quadratic_programs(name, capsys):
    data, method = PROGRAMS[name]
    silent = solver_of(data).solve()
    assert capsys.readouterr().out == "" and method in (None, silent.plan.method)
    told = solver_of(data, verbose=True).solve()
    check_equal(silent, told)
    out = capsys.readouterr().out
    assert out.startswith("centralpath: ") and COLUMNS in out and str(told.plan) in out
    if name in ENTRIES:
        assert f"entries of P {ENTRIES[name][0]}, of A and G {ENTRIES[name][1]};" in out
    assert lines(out) >= max(told.iterations, len(told.trace)) > 0
    assert f"{told.status.value}: {told.message}" in out


@pytest.mark.parametrize("name", ["proximal steps", "dual with rows", "active set", "working set", "sparse"])
def test_solvers_that_solve_again(name, capsys):
    data = PROGRAMS[name][0]
    solvers = [solver_of(data, verbose=verbose) for verbose in (False, True)]
    for warm in (False, True, True):
        found = [solver.solve(warm_start=warm) for solver in solvers]
        check_equal(*found)
        assert lines(capsys.readouterr().out) >= len(found[1].trace)
        for solver in solvers:
            solver.update(q=1.1 * np.asarray(data["q"]))


def test_the_lines_are_those_of_the_trace(capsys):
    for name in ("active set without a row", "working set of many", "dual with rows"):
        told = solver_of(PROGRAMS[name][0], verbose=True).solve()
        rows = [line.split() for line in capsys.readouterr().out.splitlines() if LINE.match(line)]
        assert [int(row[0]) for row in rows] == told.trace["iteration"].tolist()
        for row, record in zip(rows[:-1], told.trace):
            assert float(row[1]) == pytest.approx(record["primal_objective"], rel=1e-8)
            assert float(row[4]) == pytest.approx(record["dual_residual"], rel=0.06)


def test_batches_are_silent(capsys):
    q = np.outer(np.linspace(0.5, 2.0, 9), BOX["q"])
    one, other = (qp.Solver(**BOX, verbose=verbose).solve_many(q=q) for verbose in (False, True))
    assert capsys.readouterr().out == "" and one.x.tobytes() == other.x.tobytes()


@pytest.mark.parametrize("parameters", [{}, {"kernel": "linear"}, {"solver": "primal"}, {"shrinking": False}])
def test_machines(parameters, capsys):
    X, y = samples(150)
    labels = np.where(X[:, 0] > 0.7, 2.0, y)
    silent = SVC(**parameters).fit(X, labels)
    assert capsys.readouterr().out == ""
    told = SVC(**parameters, verbose=True).fit(X, labels)
    assert silent.decision_function(X).tobytes() == told.decision_function(X).tobytes()
    assert silent.solution_.plan == told.solution_.plan and silent.n_iter_ == told.n_iter_
    assert lines(capsys.readouterr().out) >= 3
