"""The Wasserstein machine: the SVM it is, a worst distribution that attains its value, labels that turn, refusals."""

import numpy as np
import pytest
from scipy.optimize import linprog

from models import SVC, WassersteinSVC
from tests.support.svm_data import two_classes


def losses(machine, X, signs):
    return np.maximum(0.0, 1.0 - signs * machine.decision_function(X))


@pytest.mark.parametrize("epsilon", [0.02, 0.2])
def test_it_is_the_machine_of_the_C_that_it_finds(epsilon):
    X, y = two_classes()
    robust = WassersteinSVC(epsilon).fit(X, y)
    length = np.linalg.norm(robust.coef_)
    plain = SVC(length / (y.size * epsilon), "linear").fit(X, y)
    np.testing.assert_allclose(robust.decision_function(X), plain.decision_function(X), atol=1e-5)
    assert robust.worst_case_loss_[0] == pytest.approx(epsilon * length + losses(robust, X, y).mean(), rel=1e-8)


def test_a_distribution_in_the_ball_attains_the_value():
    X, y = two_classes()
    epsilon = 0.2
    robust = WassersteinSVC(epsilon).fit(X, y)
    w = robust.coef_[0]
    # one sample with a loss moves against the margin, by all that the ball allows
    worst = int(np.argmax(losses(robust, X, y)))
    moved = X.copy()
    moved[worst] -= y[worst] * y.size * epsilon * w / np.linalg.norm(w)
    assert np.linalg.norm(moved - X, axis=1).mean() == pytest.approx(epsilon)
    assert losses(robust, moved, y).mean() == pytest.approx(robust.worst_case_loss_[0], rel=1e-7)


@pytest.mark.parametrize("kappa", [0.3, 1.5])
def test_labels_turn_where_that_is_cheaper(kappa):
    X, y = two_classes()
    epsilon = 0.1
    robust = WassersteinSVC(epsilon, label_cost=kappa).fit(X, y)
    length = np.linalg.norm(robust.coef_)
    kept, turned = losses(robust, X, y), losses(robust, X, -y)
    # sup over shares q_i of samples that turn and the distance moved:  kappa sum q + distance <= epsilon
    program = linprog(
        np.concatenate([-(turned - kept) / y.size, [-length]]),
        A_ub=np.concatenate([np.full(y.size, kappa / y.size), [1.0]])[None, :],
        b_ub=[epsilon],
        bounds=[(0.0, 1.0)] * y.size + [(0.0, None)],
    )
    assert robust.worst_case_loss_[0] == pytest.approx(kept.mean() - program.fun, rel=1e-6)
    assert robust.worst_case_loss_[0] >= WassersteinSVC(epsilon).fit(X, y).worst_case_loss_[0] - 1e-9


def test_a_large_ball_leaves_no_direction():
    X, y = two_classes()
    robust = WassersteinSVC(100.0).fit(X, y)
    np.testing.assert_allclose(robust.coef_, 0.0, atol=1e-7)
    assert robust.worst_case_loss_[0] == pytest.approx(2.0 * min((y > 0).mean(), (y < 0).mean()), rel=1e-7)
