"""Estimators and the engine's answers: an interrupt ends a fit, and the storage of a dual's P has no influence."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import models
import qp
import socp
from models import SVC, SVR, ExplanationAugmentedSVC, LargeMarginHMM, MEDClassifier, MedLDA, MultiTaskSVC
from models.score_spaces.med import discriminate
from qp.active_set.small import solve_again
from socp import Status
from tests.models.explanations.test_estimator import first_features
from tests.models.test_protocol import PUBLIC
from tests.support.chains import kinds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=24) > 0.0).astype(int)
COUNTS = RNG.integers(0, 4, (12, 5)) + 1
ONE_HOT = np.eye(8)[np.arange(24) % 8]
TWO = (np.arange(24) % 8 + np.arange(24) // 12 > 4).astype(int)
SPARSE_DUALS = {
    "SVC": SVC(kernel="linear", solver="dual"),
    "SVC, narrow kernel": SVC(kernel="rbf", gamma=1e3),
    "SVR": SVR(kernel="linear", solver="dual"),
    "MultiTaskSVC": MultiTaskSVC(),
    "ExplanationAugmentedSVC": ExplanationAugmentedSVC(kernel="linear", explain=first_features, Q=1.0),
    "ExplanationAugmentedSVC, squares": ExplanationAugmentedSVC(explain=first_features, Q=1.0, penalty="l2"),
    "ExplanationAugmentedSVC, chosen Q": ExplanationAugmentedSVC(
        explain=first_features, Q="cv", Q_series=(0.1, 1.0, 10.0), penalty="l2", gamma=1.0
    ),
    "ExplanationAugmentedSVC without explanations": ExplanationAugmentedSVC(),
    "MEDClassifier": MEDClassifier(),
}
FITS = {
    "SVC": lambda: SVC(tol=1e-13, shrinking=False).fit(X, Y),
    "SVC, primal": lambda: SVC(kernel="linear").fit(sp.csr_array(X), Y),
    "SVR": lambda: SVR(shrinking=False).fit(X, X[:, 0]),
    "SVR, primal": lambda: SVR(solver="primal").fit(X, X[:, 0]),
    "MultiTaskSVC": lambda: MultiTaskSVC().fit(X, Y, tasks=np.arange(24) % 2),
    "ExplanationAugmentedSVC": lambda: ExplanationAugmentedSVC(explain=first_features, Q="cv").fit(X, Y),
    "MEDClassifier": lambda: MEDClassifier().fit(X, Y),
    "BilevelClassifier": lambda: models.BilevelClassifier().fit(X, Y),
    "LogisticRegression": lambda: models.LogisticRegression(C=np.inf).fit(X, X[:, 0] > 0.0),
    "HybridNaiveBayes": lambda: models.HybridNaiveBayes(C=np.inf).fit(ONE_HOT, np.arange(24) % 8 > 3),
    "MedLDA": lambda: MedLDA(2, max_iter=2, random_state=0).fit(COUNTS, np.arange(12) % 2),
    "LargeMarginHMM": lambda: LargeMarginHMM(2, max_iter=2, random_state=0).fit(*kinds()),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE_DUALS)
@pytest.mark.parametrize("features", ["one_hot", "integers"])
def test_a_dual_whose_matrix_is_mostly_zero(name, features):
    samples, labels = ONE_HOT, TWO
    if features == "integers":
        samples = np.array([[17], [-19], [0], [0], [2]], dtype=np.int8)
        labels = np.array([1, 0, 1, 0, 0])
    fitted = clone(SPARSE_DUALS[name]).fit(samples, labels)
    values = fitted.predict(samples) if isinstance(fitted, SVR) else fitted.decision_function(samples)
    # tiny, but enough that no entry is zero
    moved = samples + 1e-9 * np.random.default_rng(1).normal(size=samples.shape)
    same = clone(fitted).fit(moved, labels)
    others = same.predict(moved) if isinstance(same, SVR) else same.decision_function(moved)
    assert np.abs(values - others).max() <= 1e-4 * (1.0 + np.abs(values).max())


def test_a_whole_matrix_updates_a_sparse_one():
    rng = np.random.default_rng(3)
    old, new = np.diag([1.0, 2.0, 3.0, 4.0]), rng.normal(size=(4, 4))
    new = new @ new.T
    solver = qp.Solver(old, -np.ones(4), lb=0.0, ub=2.0)
    assert sp.issparse(solver.program.P)
    for P in (new, 2.0 * old, sp.csc_array(new), old):
        solver.update(P_data=P)
        np.testing.assert_allclose(solver.solve().x, qp.solve(P, -np.ones(4), lb=0.0, ub=2.0).x, rtol=0, atol=1e-6)
    cone = socp.Solver(socp.ConeProgram(-np.ones(4), np.eye(4), np.ones(4), [socp.NonNeg(4)], P=old))
    cone.update(P_data=new)
    assert cone.solve().objective == pytest.approx(qp.solve(new, -np.ones(4), ub=1.0).objective, abs=1e-6)
    with pytest.raises(socp.ProgramError, match="P_data must have shape"):
        solver.update(P_data=np.eye(3))


@pytest.mark.parametrize(("method", "gap"), [("newton", 1e-7), ("alternation", 0.1)])
def test_steps_of_maximum_entropy_over_a_sparse_matrix(method, gap):
    F = np.kron(np.eye(6), np.ones(40)) * np.array([0.1, 0.5, 0.9, -1.2, -1.6, -2.0])[:, None]
    assert discriminate(F, 1.0, 5.0, method=method).gap <= gap


class Interrupting:
    """Solvers that raise KeyboardInterrupt in solve number `at`, counted from 1."""

    def __init__(self, monkeypatch, at):
        self.at, self.solves = at, 0
        for kind in (qp.Solver, socp.Solver):
            monkeypatch.setattr(kind, "solve", self._counted(kind.solve))
        monkeypatch.setattr("qp.solver.solve_again", self._counted(solve_again))  # without a solver

    def _counted(self, solve):
        def counted(*arguments, **named):
            solution = solve(*arguments, **named)
            if not solution:
                return solution
            self.solves += 1
            if self.solves == self.at:
                solution.status = Status.INTERRUPTED
            return solution

        return counted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_an_interrupt_of_the_engine_ends_the_fit(name, monkeypatch):
    solver = Interrupting(monkeypatch, 0)
    FITS[name]()
    count = solver.solves
    assert count >= 1
    for at in {1, (1 + count) // 2, count}:
        solver.solves, solver.at = 0, at
        with pytest.raises(KeyboardInterrupt):
            FITS[name]()
        assert solver.solves == at


LIMITED = [kind for kind in PUBLIC if "time_limit" in inspect.signature(kind).parameters]
OF_THEIR_OWN = (models.LinearSVC, models.LinearSVR)  # their own methods respect time limits, too


@pytest.mark.parametrize("kind", LIMITED)
def test_time_limit_and_threads_go_to_the_engine(kind, monkeypatch):
    seen = set()
    for solver in (qp.Solver, socp.Solver, models.KernelSolver):

        def solve(self, *arguments, solve=solver.solve, **named):
            seen.add((self.settings.time_limit, self.settings.threads))
            return solve(self, *arguments, **named)

        monkeypatch.setattr(solver, "solve", solve)
    machine = kind(time_limit=1e-9, threads=2)
    machine.set_params(**{"tol": 1e-14} if kind is MEDClassifier else {})  # so that descent fails and calls the engine
    machine.set_params(**{"explain": first_features} if kind is ExplanationAugmentedSVC else {})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        machine.fit(X, Y)
    assert seen == (set() if kind in OF_THEIR_OWN else {(1e-9, 2)})
    if kind is not MEDClassifier:  # MED's warning names its gap instead
        assert any(one.category is ConvergenceWarning and "aise time_limit" in str(one.message) for one in told)
    assert np.isfinite(machine.predict(X)).all() and np.isfinite(getattr(machine, "coef_", 0.0)).all()
    for wrong in ({"time_limit": -1.0}, {"time_limit": "1"}, {"threads": 0}, {"threads": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            clone(machine).set_params(**wrong).fit(X, Y)
    with pytest.raises(TypeError, match="; did you mean 'threads'"):
        kind(num_threads=2)
