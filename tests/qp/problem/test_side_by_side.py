"""The test of answers of quadratic programs side by side: right ones spoiled entry by entry, without a solver."""

import numpy as np
import pytest

from qp.batch import Programs, lots_of
from socp.batch.driver import FAILED, OPTIMAL
from socp.problem.settings import Settings
from tests.support.right_answers import SOLVED, dense, figures, spoiled_to

RIGHT = SOLVED["quadratic, P dense"]


def judged(points, own, **settings):
    """Return objective, dual objective, primal and dual residuals and gap of each point, and whether it passes."""
    program, k = RIGHT.program, len(points)
    q, P, A = np.tile(program.q, (k, 1)), dense(program.P), program.A.toarray()
    P, A = (np.tile(M, (k, 1, 1)) if own else M for M in (P, A))
    programs = Programs(P, q, A, program.l, program.u, program.lb, program.ub)
    (lot,) = lots_of(programs, Settings(**settings))
    lot.batch.x[:] = [point.x for point in points]
    lot.batch.y[:] = [np.append(point.y, point.z) for point in points]
    lot.batch.code[:] = OPTIMAL
    lot.verifier()((0, k))
    assert set(lot.batch.code) <= {OPTIMAL, FAILED}
    return lot.batch.numbers.T, lot.batch.code == OPTIMAL


@pytest.mark.parametrize("own", [False, True])
def test_every_spoiled_entry_is_measured(own):
    points = [RIGHT, *(RIGHT.spoiled(n, i, sign * a) for n, i, sign in RIGHT.entries() for a in (1e-6, 1.0, 100.0))]
    numbers, passed = judged(points, own)
    for point, found in zip(points, numbers, strict=True):
        expected = figures(point)
        objectives = np.array(expected.objectives) - RIGHT.program.offset
        assert found == pytest.approx((*objectives, *expected.told), rel=1e-9, abs=1e-13)
    assert passed[0] and not passed[1:].any()


@pytest.mark.parametrize("own", [False, True])
def test_the_tolerances_are_where_they_are_said_to_be(own):
    points = [spoiled_to(RIGHT, entry, level) for entry in RIGHT.entries() for level in (0.99e-8, 1.01e-8)]
    assert (judged(points, own)[1] == np.tile([True, False], len(points) // 2)).all()
    points = [
        spoiled_to(RIGHT, entry, level, lambda point: max(figures(point).absolute))
        for entry in RIGHT.entries()
        for level in (0.99e-7, 1.01e-7)
    ]
    assert (judged(points, own, tol=1e-2, tol_abs=1e-7)[1] == np.tile([True, False], len(points) // 2)).all()
    assert judged(points, own, tol=1e-2)[1].all()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_never_passes(own, bad):
    points = [RIGHT.spoiled(name, i, bad) for name, i, sign in RIGHT.entries() if sign > 0.0]
    assert not judged(points, own)[1].any()


def test_each_lane_is_tested_by_itself():
    spoiled = RIGHT.spoiled("x", 0, 1.0)
    for count in (1, 7, 8, 9, 17):  # eight programs side by side
        for at in {0, count // 2, count - 1}:
            passed = judged([spoiled if i == at else RIGHT for i in range(count)], False)[1]
            assert not passed[at] and passed.sum() == count - 1
