"""The test of answers side by side: right ones spoiled entry by entry, without a solver or a fallback."""

from dataclasses import replace

import numpy as np
import pytest

import qp.batch
import socp
from socp.batch import cone_groups
from socp.batch.checks import ConePrograms
from socp.batch.driver import FAILED, OPTIMAL
from socp.problem.settings import Settings
from socp.verify.stopping import residuals
from tests.support.right_answers import SOLVED, dense, figures, spoiled_to

CONIC, QUADRATIC = SOLVED["conic, P dense"], SOLVED["quadratic, P dense"]
CONES = CONIC.program.cones
ORTHANT = np.repeat([not isinstance(c, socp.SecondOrder) or c.dim == 1 for c in CONES], [c.dim for c in CONES])
BOUNDS = {0: 0, 4: 3}  # row of the cone program: its variable


def entries(right):
    """Return what can be spoiled; slacks of orthants are recomputed from x."""
    return [entry for entry in right.entries() if entry[0] in "xyz" or not ORTHANT[entry[1]]]


def multipliers(point):
    """Return the multipliers as a batch holds them: those of rows that are bounds beside the others."""
    if point.s is None:
        return np.append(point.y, point.z)
    program = point.program
    found = np.concatenate([point.y, point.z, np.zeros(program.n)])
    for i, variable in BOUNDS.items():
        found[program.p + i], found[program.p + program.m + variable] = 7.0, program.G[[i], [variable]][0] * point.z[i]
    return found


def group_of(program, k, own, settings):
    """Return `k` equal programs as a batch; each has its own matrices if `own`."""
    names, is_cone = vars(program), isinstance(program, socp.ConeProgram)
    data = {name: dense(getattr(program, name)) for name in ("PGA" if is_cone else "PA")}
    data = {name: np.tile(M, (k, 1, 1)) if own else M for name, M in data.items()}
    cost = "c" if is_cone else "q"
    data[cost] = np.tile(names[cost], (k, 1))
    data |= {name: names[name] for name in (("h", "cones", "b") if is_cone else ("l", "u", "lb", "ub"))}
    programs = (ConePrograms if is_cone else qp.batch.Programs)(**data)
    (group,) = (cone_groups if is_cone else qp.batch).groups_of(programs, Settings(**settings))
    assert not is_cone or sorted(group._rows["singles"]) == list(BOUNDS)
    return group


def judged(points, own, **settings):
    """Return each point as the batch takes it over, its residuals, and whether it passes."""
    k, program = len(points), points[0].program
    group = group_of(program, k, own, settings)
    batch = group.batch
    batch.x[:], batch.y[:] = [point.x for point in points], [multipliers(point) for point in points]
    if points[0].s is not None:
        batch.s[:] = [point.s for point in points]
    batch.code[:] = OPTIMAL
    group.verifier()((0, k))
    assert set(batch.code) <= {OPTIMAL, FAILED}
    taken = [replace(point, x=x, y=y[: point.y.size]) for point, x, y in zip(points, batch.x, batch.y, strict=True)]
    taken = [replace(point, z=y[point.y.size :][: point.z.size]) for point, y in zip(taken, batch.y, strict=True)]
    if points[0].s is not None:
        taken = [replace(point, s=s) for point, s in zip(taken, batch.s, strict=True)]
        assert not batch.y[:, program.p + program.m :].any()
    return taken, batch.numbers.T, batch.code == OPTIMAL


def as_taken(point):
    """Return the point with multipliers of orthants clipped at zero and slacks of orthants computed from x."""
    if point.s is None:
        return point
    h = point.program.h
    slack = np.where(np.isfinite(h), np.maximum(h - point.program.G @ point.x, 0.0), np.inf)
    return replace(point, z=np.where(ORTHANT, point.z.clip(0.0), point.z), s=np.where(ORTHANT, slack, point.s))


both = pytest.mark.parametrize("right", [CONIC, QUADRATIC], ids=["conic", "quadratic"])
in_both_ways = pytest.mark.parametrize("own", [False, True])


@both
@in_both_ways
def test_every_spoiled_entry_is_measured(right, own):
    points = [right, *(right.spoiled(n, i, sign * a) for n, i, sign in entries(right) for a in (1e-6, 1.0, 100.0))]
    taken, numbers, passed = judged(points, own)
    for point, after, found in zip(points, taken, numbers, strict=True):
        here, expected = as_taken(point), figures(after)
        for name, part in here.parts.items():
            assert getattr(after, name) == pytest.approx(part, rel=1e-12, abs=1e-12)
        assert found[:2] == pytest.approx(np.array(expected.objectives) - right.program.offset, rel=1e-9, abs=1e-13)
        assert found[2:] == pytest.approx(expected.told, rel=1e-9, abs=1e-13)
    assert passed[0] and len(points) > 100
    assert (passed == [figures(point).worst <= 1e-8 for point in taken]).all()


@in_both_ways
@pytest.mark.parametrize("seed", range(3))
def test_residuals_far_below_their_terms_are_true(seed, own):
    rng, given = np.random.default_rng(seed), CONIC.program
    x, y, z, A, G = rng.normal(size=4), rng.normal(size=2), CONIC.z / 3.0, given.A * (1e6 / 3.0), given.G / 3.0
    x[2:] = 1e-6 - x[0], 2.0 * x[1] + 1e-6  # the terms of A x cancel: equalities have the largest residuals
    s = np.where(np.isfinite(CONIC.s), CONIC.s, 9.0)
    c = -(given.P @ x + A.T @ y + G.T @ z)
    program = socp.ConeProgram(c, G, np.where(np.isfinite(given.h), G @ x + s, np.inf), CONES, A, A @ x, given.P)
    (point,), numbers, _ = judged([replace(CONIC, program=program, x=x, y=y, z=z)], own)
    expected = residuals(program, point.x, point.y, point.z, point.s).relative
    assert 1e-13 < expected[0] < 1e-9
    np.testing.assert_allclose(numbers[0, 2:], expected, rtol=1e-6)


@both
@in_both_ways
def test_the_tolerances_are_where_they_are_said_to_be(right, own):
    some = [e for e in entries(right) if figures(as_taken(right.spoiled(e[0], e[1], 1e-6 * e[2]))).worst > 0.0]
    for of, tol, settings in (
        (lambda point: figures(as_taken(point)).worst, 1e-8, {}),
        (lambda point: max(figures(as_taken(point)).absolute), 1e-7, {"tol": 1e-2, "tol_abs": 1e-7}),
    ):
        points = [spoiled_to(right, entry, share * tol, of) for entry in some for share in (0.99, 1.01)]
        passed = judged(points, own, **settings)[2]
        assert (passed == np.tile([True, False], len(some))).all() and passed.sum() > 20


@both
@in_both_ways
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_never_passes(right, own, bad):
    places = [(name, i) for name, i, sign in entries(right) if sign > 0.0]
    passed = judged([right.spoiled(*place, bad) for place in places], own)[2]
    clipped = [as_taken(right.spoiled(*place, bad)).z.tolist() == right.z.tolist() for place in places]
    is_clipped = [name == "z" and right is CONIC and same for (name, _), same in zip(places, clipped, strict=True)]
    assert (passed == is_clipped).all()


@both
def test_each_lane_is_tested_by_itself(right):
    spoiled = right.spoiled("x", 0, 1.0)
    for count in (1, 7, 8, 9, 17):  # eight programs side by side
        for at in {0, count // 2, count - 1}:
            passed = judged([spoiled if i == at else right for i in range(count)], False)[2]
            assert not passed[at] and passed.sum() == count - 1
