"""The programs of the margin, and the machine computed from their solutions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from models.kernels.kernel import Kernel
from models.margins.machines import intercept_of
from models.margins.margin import Margin, choose_form, features_of, largest_margin, product_of
from models.margins.multipliers import INSIDE_MARGIN, NOT_SUPPORT, ON_MARGIN, WRONG_SIDE


def test_the_intercept_is_the_mean_on_the_margin():
    left, y = np.array([0.1, 0.3, 5.0]), np.array([1.0, -1.0, 1.0])
    assert intercept_of(left, y, np.array([ON_MARGIN, ON_MARGIN, NOT_SUPPORT])) == pytest.approx(0.2)


def test_without_a_vector_on_the_margin_it_is_the_middle_of_the_interval():
    # b >= left for (+, none) and (-, bound), b <= left for (-, none) and (+, bound)
    left = np.array([0.1, 0.2, 0.7, 0.9])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    kinds = np.array([NOT_SUPPORT, INSIDE_MARGIN, NOT_SUPPORT, WRONG_SIDE])
    assert intercept_of(left, y, kinds) == pytest.approx(0.45)
    assert intercept_of(left[:2], y[:2], kinds[:2]) == pytest.approx(0.2)  # one end only


def test_the_form_follows_the_size():
    rng = np.random.default_rng(0)
    tall = rng.normal(size=(40, 3))
    assert choose_form(tall, Kernel("linear")) == "dual"
    assert choose_form(sp.csr_array(tall), Kernel("linear")) == "primal"
    assert choose_form(sp.csr_array(tall.T), Kernel("linear")) == "dual"
    assert choose_form(sp.csr_array(tall), Kernel("rbf")) == "dual"
    assert isinstance(product_of(tall), qp.LowRank)
    assert product_of(tall[:10]).shape == (10, 10)
    np.testing.assert_allclose(product_of(sp.csr_array(tall)).toarray(), tall @ tall.T, rtol=1e-12)


def test_features_of_a_kernel_matrix_of_any_rank():
    rng = np.random.default_rng(1)
    for rank in (1, 4, 9):
        root = rng.normal(size=(9, rank))
        F = features_of(root @ root.T)
        assert F.shape == (9, rank)
        np.testing.assert_allclose(F @ F.T, root @ root.T, atol=1e-12)
    with pytest.raises(ValueError, match="positive semidefinite"):
        features_of(np.diag([1.0, -1.0]))


@pytest.mark.parametrize("limits, short", [({}, False), ({"time_limit": 0.0}, False), ({"max_iter": 9}, True)])
@pytest.mark.parametrize("flatter", [1.0, 1e-9, np.inf])
def test_where_the_dual_stays_short_the_primal_is_tried(limits, short, flatter, monkeypatch):
    """If the dual misses its tolerance, but not for time, "auto" also solves the primal and takes the better answer."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * [1.0, 1e3, 1e-3, 1e5]
    y = np.where(X @ [1.0, 1e-3, 1e3, 1e-6] > 0, 1.0, -1.0)
    margin, tried, solve = Margin(X, Kernel(), y, np.full(60, -1.0), np.full(60, 1.0), True), [], Margin.solve_primal

    def solved(margin, settings, infeasible):
        program, solution, violation = solve(margin, settings, infeasible)
        tried.append(replace(solution, gap=flatter * solution.gap))
        return program, tried[-1], violation

    monkeypatch.setattr(Margin, "solve_primal", solved)
    dual = largest_margin(margin, "dual", {"tol": 1e-10, **limits})
    assert not tried and (dual.answer()[1].status == "optimal") == (not limits)
    auto = largest_margin(margin, "auto", {"tol": 1e-10, **limits})
    assert len(tried) == short
    answer = auto.answer()[1]
    expected = min([dual.answer()[1], *tried], key=lambda solution: solution.gap)
    assert answer.gap == expected.gap and answer.x.size == expected.x.size
    assert largest_margin(margin, "primal", {"tol": 1e-10, **limits}).answer()[1] is tried[-1]
