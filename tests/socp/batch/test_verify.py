"""The test of answers of cone programs side by side: right ones spoiled entry by entry, without solver or fallback."""

from dataclasses import replace

import numpy as np
import pytest

import socp
from socp.batch.cone_lots import lots_of
from socp.batch.driver import FAILED, OPTIMAL
from socp.batch.programs import ConePrograms
from socp.problem.settings import Settings
from tests.support.right_answers import SOLVED, dense, figures, spoiled_to

RIGHT = SOLVED["conic, P dense"]
PROGRAM = RIGHT.program
ORTHANT = np.repeat(
    [not isinstance(c, socp.SecondOrder) or c.dim == 1 for c in PROGRAM.cones], [c.dim for c in PROGRAM.cones]
)
BOUNDS = {0: (0, -1.0), 4: (3, 1.0)}  # row: its variable and entry
TWO = [i for i in RIGHT.entries() if i[0] in "xyz" or not ORTHANT[i[1]]]  # slacks of orthants are recomputed from x


def judged(points, own, **settings):
    """Return each point as the batch takes it over, its residuals, and whether it passes."""
    k, p, m = len(points), PROGRAM.p, PROGRAM.m
    c, P, G, A = np.tile(PROGRAM.c, (k, 1)), dense(PROGRAM.P), PROGRAM.G.toarray(), PROGRAM.A.toarray()
    P, G, A = (np.tile(M, (k, 1, 1)) if own else M for M in (P, G, A))
    programs = ConePrograms(c, G, PROGRAM.h, PROGRAM.cones, A, PROGRAM.b, P)
    (lot,) = lots_of(programs, Settings(**settings))
    assert sorted(lot._rows["singles"]) == list(BOUNDS)
    batch = lot.batch
    batch.x[:], batch.s[:] = [point.x for point in points], [point.s for point in points]
    for row, point in zip(batch.y, points, strict=True):
        row[:] = np.concatenate([point.y, point.z, np.zeros(PROGRAM.n)])
        for i, (variable, entry) in BOUNDS.items():  # bounds have multipliers as variables
            row[p + i], row[p + m + variable] = 7.0, entry * point.z[i]
    batch.code[:] = OPTIMAL
    lot.verifier()((0, k))
    assert set(batch.code) <= {OPTIMAL, FAILED} and not batch.y[:, p + m :].any()
    taken = [
        replace(point, x=x, y=y[:p], z=y[p : p + m], s=s)
        for point, x, y, s in zip(points, batch.x, batch.y, batch.s, strict=True)
    ]
    return taken, batch.numbers.T, batch.code == OPTIMAL


def as_taken(point):
    """Return the point with multipliers of orthants clipped at zero and slacks of orthants computed from x."""
    slack = np.where(np.isfinite(PROGRAM.h), np.maximum(PROGRAM.h - PROGRAM.G @ point.x, 0.0), np.inf)
    return replace(point, z=np.where(ORTHANT, point.z.clip(0.0), point.z), s=np.where(ORTHANT, slack, point.s))


@pytest.mark.parametrize("own", [False, True])
def test_every_spoiled_entry_is_measured(own):
    points = [RIGHT, *(RIGHT.spoiled(n, i, sign * a) for n, i, sign in TWO for a in (1e-6, 1.0, 100.0))]
    taken, numbers, passed = judged(points, own)
    for point, after, found in zip(points, taken, numbers, strict=True):
        here = as_taken(point)
        for name in "xyzs":
            assert getattr(after, name) == pytest.approx(getattr(here, name), rel=1e-12, abs=1e-12)
        expected = figures(after)
        assert found[:2] == pytest.approx(np.array(expected.objectives) - PROGRAM.offset, rel=1e-9)
        assert found[2:] == pytest.approx(expected.told, rel=1e-9, abs=1e-13)
    assert passed[0] and len(points) > 100
    assert (passed == [figures(point).worst <= 1e-8 for point in taken]).all()


@pytest.mark.parametrize("own", [False, True])
def test_the_tolerances_are_where_they_are_said_to_be(own):
    entries = [
        entry for entry in TWO if figures(as_taken(RIGHT.spoiled(entry[0], entry[1], 1e-6 * entry[2]))).worst > 0.0
    ]
    for of, tol, settings in (
        (lambda point: figures(as_taken(point)).worst, 1e-8, {}),
        (lambda point: max(figures(as_taken(point)).absolute), 1e-7, {"tol": 1e-2, "tol_abs": 1e-7}),
    ):
        points = [spoiled_to(RIGHT, entry, share * tol, of) for entry in entries for share in (0.99, 1.01)]
        passed = judged(points, own, **settings)[2]
        assert (passed == np.tile([True, False], len(entries))).all() and passed.sum() > 20


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_never_passes(own, bad):
    points = [RIGHT.spoiled(name, i, bad) for name, i, sign in TWO if sign > 0.0]
    passed = judged(points, own)[2]
    clipped = [
        name == "z" and ORTHANT[i] and bad == -np.inf and RIGHT.z[i] == 0.0 for name, i, sign in TWO if sign > 0.0
    ]
    assert (passed == clipped).all()
