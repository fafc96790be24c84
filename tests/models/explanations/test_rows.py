"""The row of a descent, and a machine solved for one Q after another."""

import numpy as np
import pytest
import scipy.sparse as sp

from models.base.validation import as_weights
from models.explanations.descent import Descent
from models.explanations.dual import ExplainedMargin, Products
from models.kernels.kernel import make_kernel
from models.margins.multipliers import INSIDE_MARGIN, NOT_SUPPORT, ON_MARGIN, WRONG_SIDE


def machine(penalty, kernel="linear"):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(14, 3)), np.where(np.arange(14) % 2, 1.0, -1.0)
    X += 0.7 * y[:, None]
    V = np.where(rng.random((14, 3)) < 0.5, X, 0.0)
    made = make_kernel(kernel, X, as_weights(None, 14), 0.5, 2, 1.0)
    all_of, C = np.arange(14), np.full(14, 3.0)
    products = Products(X, V, all_of, made)
    return lambda: ExplainedMargin(products, all_of, all_of, y, C, np.ones(14), penalty, True, {"tol": 1e-9})


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_Q_after_another_gives_what_each_gives_alone(penalty, kernel):
    make = machine(penalty, kernel)
    again = make()
    for Q in (1.0, 0.0, 0.3, np.inf, 2.0, 0.0, np.inf, 0.1):
        found, alone = again.solve(Q), make().solve(Q)
        assert found.status == alone.status == "optimal"
        assert found.objective == pytest.approx(alone.objective, rel=1e-6, abs=1e-8), Q
        assert found.x.shape == alone.x.shape


def test_what_is_too_much_in_the_row_is_taken_where_the_sample_is_nearest_to_the_margin():
    rng = np.random.default_rng(1)
    F, y = rng.normal(size=(9, 3)), np.where(np.arange(6) % 2, 1.0, -1.0)
    descent = Descent(F, y, np.full(6, 2.0), True)
    descent.solve(np.ones(3), False, 1e-6, 50)
    low, high, distance = descent.dual.low[:6], descent.dual.high[:6], None
    for _ in range(30):
        u = np.r_[rng.uniform(low, high), rng.normal(size=3)]
        found, excess = descent.with_row(u), u[:6].sum()
        assert found[:6].sum() == pytest.approx(0.0, abs=1e-12) and (found[6:] == u[6:]).all()
        assert (low - 1e-12 <= found[:6]).all() and (found[:6] <= high + 1e-12).all()
        moved = u[:6] - found[:6]
        assert (np.sign(excess) * moved >= -1e-12).all()
        distance = np.abs(y - F[:6] @ (F.T @ u) - descent.b)
        room = np.abs(u[:6] - (low if excess > 0.0 else high))
        at_most = distance[np.abs(moved) > 1e-12].max()  # all rows nearer than this have moved as far as they can
        assert np.allclose(np.abs(moved)[distance < at_most - 1e-12], room[distance < at_most - 1e-12])


def test_kinds_of_vectors_go_by_their_multipliers_and_the_side_that_they_are_on():
    rng = np.random.default_rng(4)
    F, y = rng.normal(size=(42, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)
    descent = Descent(sp.csr_array(F), y, np.full(40, 0.5), True)
    answer = descent.solve(np.ones(2), False, 1e-8, 500)
    alpha, kinds, w = np.abs(answer.beta[:40]), descent.kinds(answer), answer.w[:-1]
    sides = y * (F[:40] @ w + descent.intercept(y - F[:40] @ w))
    expected = np.where(sides < 0.0, WRONG_SIDE, INSIDE_MARGIN)
    expected[(alpha > 0.0) & (alpha < 0.5)], expected[alpha == 0.0] = ON_MARGIN, NOT_SUPPORT
    assert kinds.tolist() == expected.tolist() and len(set(kinds)) == 4
