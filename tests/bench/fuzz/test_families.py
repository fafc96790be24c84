"""The verifier confirms planted solutions and certificates; a program can be drawn again from its number alone."""

import numpy as np
import pytest

import qp
import socp
from bench.answers import exact
from bench.answers.verify import verify
from bench.fuzz import catalogue, cone_families, planting, quadratic_families, shapes
from bench.fuzz.case import INFEASIBLE, OPTIMAL, UNBOUNDED, UNKNOWN
from bench.fuzz.points import Style
from bench.programs.sets import DataError

SEED = 7
TOO_FAR_FOR_ROUNDING = {f"{kind}_{name}" for kind in ("cone", "qp") for name in ("scaled", "nearly_infeasible")}


def cases(family, count=25):
    return [catalogue.case(family, SEED, number) for number in range(count)]


def error(case):
    """Return the error of the planted optimum or certificate according to `verify`."""
    planted = case.planted
    found = verify(case.program, planted.x, planted.y, planted.z)
    return {OPTIMAL: found.worst, INFEASIBLE: found.primal_infeasible, UNBOUNDED: found.dual_infeasible}[planted.kind]


@pytest.mark.parametrize("family", catalogue.FAMILIES)
def test_what_is_planted_is_so(family):
    for case in cases(family):
        if case.planted.kind != UNKNOWN and family not in TOO_FAR_FOR_ROUNDING:
            assert error(case) <= 1e-11


@pytest.mark.parametrize("family", ["cone_tiny", "qp_tiny"])
def test_whole_numbers_are_planted_exactly(family):
    for case in cases(family):
        assert error(case) == 0.0


def test_a_planted_slope_is_as_small_as_it_says():
    rng, style, cones = np.random.default_rng(SEED), Style(True), [socp.NonNeg(2)]
    for margin in (1.0, 1e-6):
        quadratic, conic = (rng, 3, 2, style, margin), (rng, 3, 1, cones, style, margin)
        for case in (
            planting.quadratic_infeasible(*quadratic), planting.quadratic_unbounded(*quadratic),
            planting.cone_infeasible(*conic), planting.cone_unbounded(*conic),
        ):  # fmt: skip
            planted, is_ray = case.planted, case.planted.kind == UNBOUNDED
            ray = (planted.x,) if is_ray else (planted.y, planted.z)
            slope, _ = (exact.unboundedness if is_ray else exact.infeasibility)(case.program, *ray)
            assert slope == pytest.approx(-1.0, rel=1e-3)  # terms cancel; the rest is known to 1e-3
            assert margin * max(np.abs(part).max(initial=0.0) for part in ray) <= 100.0


def test_scaling_and_copies_keep_what_is_planted():
    rng = np.random.default_rng(SEED)
    for family in (cone_families, quadratic_families):
        for _ in range(50):
            case = family.any_planted(rng)
            assert error(shapes.scaled(rng, case, 1.0)) <= 1e-11
            if case.planted.kind != UNBOUNDED:
                copied = shapes.with_copies(rng, case)
                assert error(copied) <= 1e-11
                assert copied.program.A.shape[0] >= case.program.A.shape[0]


@pytest.mark.parametrize("family", ["cone_updates", "qp_updates"])
def test_updates_lead_from_each_program_to_the_next(family):
    for case in cases(family):
        while case.before is not None:
            kind = socp.Solver if isinstance(case.program, socp.ConeProgram) else qp.Solver
            solver = kind(case.before.program)
            solver.update(**case.change)
            names = ("c", "b", "h") if kind is socp.Solver else ("q", "l", "u", "lb", "ub")
            for name in names:
                assert np.array_equal(getattr(solver.program, name), getattr(case.program, name))
            assert np.array_equal(solver.program.A.toarray(), case.program.A.toarray())
            case = case.before


def test_names_match_as_those_of_sets():
    assert catalogue.names("qp_t*") == ["qp_tiny"]
    assert catalogue.names("tiny") == ["cone_tiny", "qp_tiny"]
    assert catalogue.names() == list(catalogue.FAMILIES)
    with pytest.raises(DataError, match="no family matches 'sdp'"):
        catalogue.names("sdp")
