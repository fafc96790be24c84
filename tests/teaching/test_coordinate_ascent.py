"""Ascent along one multiplier at a time ends where the quadratic program does."""

import pytest

import socp
from docs.teaching.coordinate_ascent import coordinate_ascent
from models import SVC
from tests.support.svm_data import two_classes


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_it_finds_the_machine_without_an_intercept(C, kernel):
    X, y = two_classes(60, 4)
    X[0] = 0.0
    machine = SVC(C, kernel, fit_intercept=False, gamma=0.5).fit(X, y)
    alpha, gaps = coordinate_ascent(machine.kernel_(X, X), y.astype(float), C, tol=1e-9)
    objective = alpha.sum() - 0.5 * (alpha * y) @ machine.kernel_(X, X) @ (alpha * y)
    assert (alpha >= 0.0).all() and (alpha <= C).all()
    assert objective == pytest.approx(-machine.solution_.objective, rel=1e-8)
    assert -1e-9 <= gaps[-1] <= 1e-9 * (1.0 + objective) and gaps[0] >= gaps[-1]


def test_a_limit_of_passes_is_told():
    X, y = two_classes(60, 4)
    with pytest.raises(socp.ProgramError, match="after 2 passes over the samples"):
        coordinate_ascent(X @ X.T, y.astype(float), 10.0, max_passes=2)
