"""Right answers with one entry or figure spoiled by a known amount: the verifiers measure it, the judge refuses it."""

from dataclasses import replace

import numpy as np
import pytest

import socp
from bench.answers import exact
from bench.answers.verify import verify
from bench.fuzz.case import Case, Planted
from bench.fuzz.judge import judge, truth
from socp import Status
from tests.support.right_answers import CERTIFIED, NAN, SOLVED, certificate, figures, spoiled_to

TOL, CERTIFICATE_TOL = 1e-8, 1e-6  # tolerance of the judge's cases, and the error allowed to a certificate
EVERY = pytest.mark.parametrize("right", SOLVED.values(), ids=SOLVED.keys())
FEW = pytest.mark.parametrize(
    "right", [SOLVED["quadratic, P low rank"], SOLVED["conic, P sparse"]], ids=["quadratic", "conic"]
)
RAYS = pytest.mark.parametrize("right", CERTIFIED.values(), ids=CERTIFIED.keys())
EXCUSE = "double precision has no more digits"


def case_of(right, **settings):
    return Case(right.program, Planted(), settings=settings)


def faults(right, message="", settings=None, **told):
    return truth(case_of(right, **settings or {}), replace(right.answer(**told), message=message)).faults


@EVERY
def test_the_right_answers_are_right(right):
    assert figures(right).worst == 0.0 == verify(right.program, right.x, right.y, right.z).worst
    found = exact.measure(right.program, right.x, right.y, right.z, right.s)
    assert found.residuals == (0.0, 0.0, 0.0) and (found.objective, found.dual_objective) == figures(right).objectives
    assert judge(case_of(right), right.answer()).name == "optimal"


@EVERY
def test_every_spoiled_entry_is_measured(right):
    for name, i, sign in right.entries():
        for amount in (1e-6, 1.0, 100.0):
            spoiled = right.spoiled(name, i, sign * amount)
            point, full = figures(replace(spoiled, s=None)), figures(spoiled)
            found = verify(right.program, spoiled.x, spoiled.y, spoiled.z)
            told = found.primal, found.primal_cone, max(found.dual, found.dual_cone), found.gap
            loss = 1e-11 * (1.0 + amount) ** 2  # `verify` allows this for rounding
            assert told == pytest.approx((point.rows, point.cone, point.dual, point.gap), rel=1e-9, abs=loss)
            assert (found.objective, found.dual_objective) == pytest.approx(point.objectives, rel=1e-12)
            exactly = exact.measure(right.program, spoiled.x, spoiled.y, spoiled.z, spoiled.s)
            assert (*exactly.residuals, exactly.bounds) == pytest.approx((*full.told, full.bounds), rel=1e-8, abs=1e-14)
            assert exactly.absolute == pytest.approx(max(full.absolute), rel=1e-8, abs=1e-12)
            assert (exactly.objective, exactly.dual_objective) == pytest.approx(full.objectives, rel=1e-12)
            assert full.worst > 1e-9  # each entry is measured


@FEW
def test_an_entry_is_accepted_just_within_the_tolerance_and_refused_just_beyond(right):
    for entry in right.entries():
        within, beyond = spoiled_to(right, entry, 0.98 * TOL), spoiled_to(right, entry, 2.05 * TOL)
        assert judge(case_of(right), within.answer()).name == "optimal", entry
        assert judge(case_of(right), beyond.answer()).name == "wrong", entry
        # exact arithmetic, which includes the slacks, refuses beyond the tolerance only
        assert faults(beyond) == ("optimal is not so",) and not faults(spoiled_to(right, entry, 1.95 * TOL))
        if entry[0] != "s":  # double precision, which ignores the slacks, refuses too
            beyond = spoiled_to(right, entry, 1.03 * TOL, lambda spoiled: figures(replace(spoiled, s=None)).worst)
            assert judge(case_of(right), replace(beyond.answer(), told=None)).name == "wrong", entry


@FEW
def test_an_inaccurate_answer_and_an_excused_one_have_limits_of_their_own(right):
    for entry in right.entries():
        for level in (0.98e-5, 1.95e-5, 2.05e-5):
            spoiled = replace(spoiled_to(right, entry, level), status=Status.INACCURATE)
            assert bool(faults(spoiled)) is (level > 2e-5)
            assert level > 1e-5 or judge(case_of(right), spoiled.answer()).name == "inaccurate"
        for level in (1.95e-6, 2.05e-6):
            spoiled = spoiled_to(right, entry, level)
            assert bool(faults(spoiled, EXCUSE)) is (level > 2e-6 or figures(spoiled).bounds > 2.0 * TOL)
            assert faults(spoiled) and bool(faults(spoiled, EXCUSE, {"tol": 1e-5})) is False


def test_bounds_are_never_excused():
    seen = 0
    for right in (SOLVED["quadratic, P low rank"], SOLVED["conic, P sparse"]):
        for entry in right.entries():
            of_bounds = figures(right.spoiled(entry[0], entry[1], entry[2] * 1e-7)).bounds
            if of_bounds > 1e-9:
                for level in (1.95, 2.05):
                    spoiled = spoiled_to(right, entry, level * TOL, lambda point: figures(point).bounds)
                    other = figures(spoiled).worst <= 2e-6  # small enough to be excused
                    assert other and bool(faults(spoiled, EXCUSE)) is (level > 2.0)
                    seen += 1
    assert seen >= 24


@FEW
def test_absolute_tolerances_are_held(right):
    for entry in right.entries():
        for level in (1.95, 2.05):
            spoiled = spoiled_to(right, entry, level * 1e-6, lambda point: max(figures(point).absolute))
            found = faults(spoiled, settings={"tol": 1e-4, "tol_abs": 1e-6})
            assert bool(found) is (level > 2.0) and all("tol_abs" in fault for fault in found)


@FEW
def test_what_is_told_must_be_so(right):
    entries = {name: (name, i, sign) for name, i, sign in right.entries()}
    for entry in entries.values():  # one entry of each vector
        spoiled = spoiled_to(right, entry, 0.9 * TOL)
        told, objectives = list(figures(spoiled).told), list(figures(spoiled).objectives)
        for k in range(3):
            true = told[k]
            for share, fair in ((0.49, False), (0.51, True), (1.95, True), (2.05, False), (NAN, False)):
                told[k] = true * share
                fair = fair or (true < 1e-14 and share == share)
                assert bool(faults(spoiled, told=tuple(told))) is not fair
                assert judge(case_of(right), spoiled.answer(told=tuple(told))).name == ("optimal" if fair else "wrong")
            told[k] = 1e-9 if true < 1e-14 else true
            assert bool(faults(spoiled, told=tuple(told))) is (true < 1e-14)
            told[k] = true
        for k in range(2):
            for off, fair in ((1e-11, False), (-1e-11, False), (1e-15, True), (NAN, False)):
                changed = list(objectives)
                changed[k] += off * (1.0 + abs(changed[k]))
                assert bool(faults(spoiled, objectives=tuple(changed))) is not fair


@FEW
def test_no_other_status_goes_with_a_solution(right):
    case = case_of(right)
    for status in Status:
        verdict = judge(case, replace(right.answer(), status=status)).name
        assert verdict == {"optimal": "optimal", "inaccurate": "inaccurate"}.get(
            status.value, "wrong" if status.is_infeasible else "unsolved"
        )


@EVERY
@pytest.mark.parametrize("bad", [None, NAN, np.inf])
def test_what_is_missing_is_no_answer(right, bad):
    for name, part in right.parts.items():
        answer = right.answer()
        broken = None if bad is None else np.where(np.arange(part.size) == 0, bad, part)
        if name != "s":
            assert judge(case_of(right), replace(answer, **{name: broken})).name == "wrong"
        elif bad is not None:
            assert judge(case_of(right), replace(answer, s=broken)).name == "wrong"
            kept = np.where(np.isinf(part), 1.0, part)  # where h = inf the slack is inf
            assert judge(case_of(right), replace(answer, s=kept)).name == "wrong"


@RAYS
def test_the_right_certificates_are_right(right):
    assert certificate(right) == (-1.0, 0.0)
    for status in Status:
        verdict = judge(case_of(right), replace(right.answer(), status=status)).name
        fits = status is right.status
        assert verdict == ("certified" if fits else "unsolved" if verdict == "unsolved" else "wrong")
        assert fits or verdict != "certified"


def error_of(right):
    """Return the error of a certificate according to `verify`."""
    found = verify(right.program, right.x, right.y, right.z)
    return found.dual_infeasible if right.status is Status.DUAL_INFEASIBLE else found.primal_infeasible


def normalized(right):
    """Scale the certificate to slope -1."""
    slope = certificate(right)[0]
    parts = {name: part / -slope for name, part in right.parts.items()}
    if right.status is Status.DUAL_INFEASIBLE and right.s is not None:
        parts["s"] = -right.program.G @ parts["x"]
    return replace(right, **parts)


def of_ray(right):
    """Return the entries of the certificate without the slacks s."""
    return [entry for entry in right.entries() if entry[0] != "s"]


@RAYS
def test_every_spoiled_entry_of_a_certificate_is_measured(right):
    for name, i, sign in of_ray(right):
        for amount in (1e-6, 1e-3, 0.1):
            spoiled = right.spoiled(name, i, sign * amount)
            slope, error = certificate(spoiled)
            assert error_of(spoiled) == pytest.approx(error, rel=1e-6, abs=1e-12) and error > 1e-8
            found = (
                exact.unboundedness(right.program, spoiled.x)
                if right.status is Status.DUAL_INFEASIBLE
                else exact.infeasibility(right.program, spoiled.y, spoiled.z)
            )
            assert found == pytest.approx((slope, error), rel=1e-9)


@RAYS
def test_a_certificate_is_accepted_just_within_the_tolerance_and_refused_just_beyond(right):
    def worst(spoiled):
        return certificate(spoiled)[1]

    for entry in of_ray(right):
        for level in (0.98, 1.95, 2.05):
            spoiled = normalized(spoiled_to(right, entry, level * TOL, worst))
            assert judge(case_of(right), spoiled.answer()).name == ("certified" if level < 2.0 else "wrong"), entry
            loose = {"tol": 1e-3, "tol_infeasible": level * TOL / 1.5}
            assert not faults(spoiled, settings=loose) and faults(
                spoiled, settings={"tol_infeasible": 0.4 * level * TOL}
            )
        for level in (
            0.98,
            1.03,
        ):  # without a reported error the limit is max(1e-6, tol_infeasible)
            spoiled, mute = normalized(spoiled_to(right, entry, level * CERTIFICATE_TOL, worst)), {"told": None}
            verdict = judge(case_of(right), replace(spoiled.answer(), **mute)).name
            assert verdict == ("certified" if level < 1.0 else "wrong"), entry
            spoiled = normalized(spoiled_to(right, entry, level * 1e-4, worst))
            for settings in ({"tol_infeasible": 1e-4}, {"tol": 1e-4}):
                verdict = judge(case_of(right, **settings), replace(spoiled.answer(), **mute)).name
                assert verdict == ("certified" if level < 1.0 else "wrong"), entry


@RAYS
def test_what_a_certificate_tells_must_be_so(right):
    ray, settings = right.status is Status.DUAL_INFEASIBLE, {"tol_infeasible": 1e-6}
    spoiled = normalized(spoiled_to(right, of_ray(right)[0], 0.9e-6, lambda point: certificate(point)[1]))
    error = certificate(spoiled)[1]
    for share, fair in ((0.0, True), (1.95, True), (2.3, False), (-0.1, False), (NAN, False)):  # the engine's own error
        told = (NAN, share * error, NAN) if ray else (share * error, NAN, NAN)
        assert bool(faults(spoiled, settings=settings, told=told)) is not fair
    for k in range(2):
        assert faults(right, objectives=(0.0, NAN) if k else (NAN, -1.0))
    for factor, fair in ((1.0 + 1e-7, False), (1.0 - 1e-7, False), (2.0, False), (-1.0, False), (1.0 + 1e-10, True)):
        scaled = replace(right, **{name: factor * part for name, part in right.parts.items()})
        assert bool(faults(scaled)) is not fair
    for name in {True: "yz", False: "xs"}[ray]:  # vectors that are no part of the certificate
        if getattr(right, name) is not None:
            assert faults(replace(right, **{name: np.zeros_like(getattr(right, name))}))
    if ray and isinstance(right.program, socp.ConeProgram):
        for _, i, sign in [entry for entry in right.entries() if entry[0] == "s"]:
            assert faults(right.spoiled("s", i, 1e-10 * sign)) == ("s is not -Gx",)
            assert not faults(right.spoiled("s", i, 1e-15 * sign))
