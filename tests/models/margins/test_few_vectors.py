"""Machines of few support vectors read rows of a kernel of low rank, and leave it to the low rank beyond a limit."""

import numpy as np
import pytest

import qp
from models import SVC
from models.kernels.kernel import Kernel
from models.margins.machines import Problem
from models.margins.series import reads_for_few


def two_groups(apart, n=400, features=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(n, features))
    X[:, 0] += apart * y
    return X, y


def is_by_rows(machine):
    return not isinstance(machine.program_.P, qp.LowRank)


@pytest.mark.parametrize(("kernel", "apart", "n"), [
    ({"kernel": "linear"}, 2.0, 400), ({"kernel": "linear"}, 3.0, 2600),
    ({"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.5}, 2.0, 400),
])  # fmt: skip
@pytest.mark.parametrize("bias", [True, False])
def test_both_ways_have_one_answer(kernel, bias, apart, n, monkeypatch):
    X, y = two_groups(apart, n)
    rows = SVC(fit_intercept=bias, **kernel).fit(X, y)
    monkeypatch.setattr("models.margins.estimator.reads_for_few", lambda *given: 0.0)
    low_rank = SVC(fit_intercept=bias, **kernel).fit(X, y)
    assert is_by_rows(rows) and not is_by_rows(low_rank)
    np.testing.assert_allclose(rows.decision_function(X), low_rank.decision_function(X), atol=1e-6)
    assert rows.solution_.objective == pytest.approx(low_rank.solution_.objective, rel=1e-8)


def test_a_machine_that_reads_too_many_rows_is_left_to_the_low_rank(monkeypatch):
    X, y = two_groups(2.0)
    known, asked = SVC(kernel="linear").fit(X, y), []
    monkeypatch.setattr("models.margins.estimator.reads_for_few", lambda *given: asked.append(given) or 3.0)
    left = SVC(kernel="linear").fit(X, y)
    assert asked and is_by_rows(known) and not is_by_rows(left)
    np.testing.assert_allclose(left.coef_, known.coef_, atol=1e-6)


def test_rows_are_read_where_few_samples_are_on_the_wrong_side():
    def reads(apart, C=1.0, n=400, kernel="linear", cache=200.0):
        X, y = two_groups(apart, n)
        problem = Problem(np.arange(n), y, np.full(n, C), -np.ones(n))
        return reads_for_few(Kernel(kernel, gamma=0.5), X, problem, cache)

    assert reads(2.5) > reads(3.5) > 0.0
    assert reads(0.2, n=1500) == reads(2.5, C=1e4) == reads(2.5, kernel="rbf") == reads(2.5, cache=0.5) == 0.0
    assert reads(3.0, n=3000) > 0.0
    assert reads(3.5, n=3000, cache=1.0) == reads(3.5, n=20_000) == 0.0  # rows that are read, the whole matrix
