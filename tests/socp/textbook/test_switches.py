"""The textbook method with parts switched off: equal answers or an honest status; and its equilibration."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder, Status, textbook
from socp.textbook.switches import ALL_OF_THE_BOOKS, Switches, Units, dense
from tests.support.programs import DUAL_IN_THE_BOOK, IN_THE_BOOK, PRIMAL_IN_THE_BOOK, RAYS, check, well_posed

PARTS = [field.name for field in fields(Switches)]
UNKNOWN = (Status.NUMERICAL_ERROR, Status.INACCURATE, Status.MAX_ITERATIONS)


def without(part):
    return replace(Switches(equilibration=True), **{part: False})


def test_all_parts_but_the_equilibration_are_on_and_a_switch_is_named():
    assert Switches() == ALL_OF_THE_BOOKS
    assert ALL_OF_THE_BOOKS.off == [] and not ALL_OF_THE_BOOKS.equilibration
    assert Switches(scaling=False, embedding=False).off == ["scaling", "embedding"]
    with pytest.raises(TypeError, match="presolve"):
        Switches(presolve=False)


def test_a_direction_solves_the_linearized_equations_with_and_without_the_scaling():
    # with a full step (alpha would be 1) the residual falls to sigma of itself, and s o z moves as linearized
    program = well_posed(7)
    cone = textbook.Cone(program.cones)
    for switches in (Switches(), Switches(scaling=False), Switches(embedding=False), Switches(predictor=False)):
        method = textbook.Method(program, switches)
        before = method.start()
        after = method.step(before)
        ds, dz = (after.s - before.s) / after.alpha, (after.z - before.z) / after.alpha
        dx = (after.x - before.x) / after.alpha
        dtau = (after.tau - before.tau) / after.alpha
        rz = method.G @ before.x + before.s - method.h * before.tau
        np.testing.assert_allclose(method.G @ dx + ds - method.h * dtau, -(1.0 - after.sigma) * rz, atol=1e-8)
        if switches == Switches(scaling=False):
            continue  # its second-order term comes from a predictor that is not stored
        if not switches.predictor:  # W z o W^-1 ds + W^-1 s o W dz = sigma mu e - lam o lam
            W, W_inv = cone.scaling(before.s, before.z)
            lam = W @ before.z
            left = cone.arrow(lam) @ (W_inv @ ds + W @ dz)
            right = after.sigma * method.mu(before) * cone.e - cone.arrow(lam) @ lam
            np.testing.assert_allclose(left, right, atol=1e-8)
            assert after.sigma == textbook.SIGMA
        if not switches.embedding:
            assert (after.tau, after.kappa, dtau) == (1.0, 0.0, 0.0)


def test_without_predictor_and_scaling_the_direction_is_that_of_the_unscaled_equation():
    program = well_posed(7)
    cone = textbook.Cone(program.cones)
    method = textbook.Method(program, Switches(predictor=False, scaling=False))
    before = method.start()
    after = method.step(before)
    ds, dz = (after.s - before.s) / after.alpha, (after.z - before.z) / after.alpha
    right = after.sigma * method.mu(before) * cone.e - cone.arrow(before.s) @ before.z
    np.testing.assert_allclose(cone.arrow(before.z) @ ds + cone.arrow(before.s) @ dz, right, atol=1e-7)


def test_on_the_orthant_the_scaling_does_not_change_the_iterates():
    rng = np.random.default_rng(3)
    G, s, z = rng.normal(size=(12, 5)), rng.uniform(0.5, 1.5, 12), rng.uniform(0.5, 1.5, 12)
    program = ConeProgram(-G.T @ z, G, G @ np.ones(5) + s, [NonNeg(12)])
    scaled, plain = (list(textbook.iterates(program, switches=Switches(scaling=on))) for on in (True, False))
    assert len(scaled) == len(plain) > 4
    for one, other in zip(scaled, plain):
        np.testing.assert_allclose(one.x, other.x, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_programs_solved_by_hand_have_the_same_answer_or_none(part):
    answers = 0
    for name, (program, x, objective) in IN_THE_BOOK.items():
        solution = textbook.solve(program, switches=without(part))
        if solution.status in UNKNOWN:
            continue
        answers += 1
        check(program, solution)
        assert solution.objective == pytest.approx(objective, rel=1e-6, abs=1e-6), name
        if x is not None:
            np.testing.assert_allclose(solution.x, x, atol=1e-4)
    # without regularization singular matrices may fail, otherwise almost nothing
    assert answers >= (len(IN_THE_BOOK) - 6 if part == "regularization" else len(IN_THE_BOOK) - 1)


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_random_programs_end_as_they_are_or_unknown(part):
    claims = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        cases = {kind: make(rng) for kind, make in RAYS.items()} | {"optimal": well_posed(seed)}
        for kind, program in cases.items():
            solution = textbook.solve(program, switches=without(part))
            if solution.status not in UNKNOWN:
                check(program, solution, kind)
                claims += 1
    # a third of the programs have redundant equations; without embedding there need not be a certificate; and the
    # system of the unscaled direction can be singular
    assert claims >= {"regularization": 16, "embedding": 16, "scaling": 22}.get(part, 24)


def iterations(program, switches):
    solution = textbook.solve(program, switches=switches)
    assert solution.status is Status.OPTIMAL
    return solution.iterations


def test_predictor_and_corrector_save_iterations():
    whole, no_predictor, no_corrector = 0, 0, 0
    for seed in range(10):
        program = well_posed(seed)
        whole += iterations(program, Switches())
        no_predictor += iterations(program, Switches(predictor=False))
        no_corrector += iterations(program, Switches(corrector=False))
    assert no_predictor > 1.2 * whole and no_corrector > 1.1 * whole


def test_without_regularization_a_redundant_equation_is_a_numerical_error():
    program = IN_THE_BOOK["equalities twice"][0]
    failed = textbook.solve(program, switches=Switches(regularization=False))
    assert failed.status is Status.NUMERICAL_ERROR
    assert np.isfinite(failed.x).all()
    assert iterations(program, Switches()) < 20


def test_without_the_embedding_infeasible_programs_get_no_wrong_answer():
    for programs, status in (
        (PRIMAL_IN_THE_BOOK, Status.PRIMAL_INFEASIBLE),
        (DUAL_IN_THE_BOOK, Status.DUAL_INFEASIBLE),
    ):
        for program in programs.values():
            solution = textbook.solve(program, switches=Switches(embedding=False))
            assert solution.status in (status, *UNKNOWN)
            assert all((it.tau, it.kappa) == (1.0, 0.0) for it in solution.trace)


# ---- the equilibration


@pytest.mark.parametrize("price", [1.0, 1e-9])
def test_equilibrated_data_are_near_one_and_cones_keep_their_shape(price):
    rng = np.random.default_rng(5)
    program = well_posed(3)
    P, A, G = dense(program)
    D = 10.0 ** rng.uniform(-3, 3, program.n)
    c, P = price * D * program.c, price * D[:, None] * P * D
    wild = ConeProgram(c, G * D, program.h, program.cones, 1e4 * A * D, 1e4 * program.b, P)
    units = Units(wild)
    P, A, G = dense(units.program)
    assert max(np.abs(P).max(), np.abs(units.program.c).max()) == pytest.approx(1.0)
    M = np.abs(np.vstack([P / units.factor, A, G]))
    assert M.max() < 1.5 and M.max(axis=0).min() > 0.5  # columns
    assert np.abs(A).max(axis=1, initial=0.0).min(initial=1.0) > 0.5
    start = 0
    for cone in program.cones:
        if isinstance(cone, SecondOrder):
            assert np.ptp(units.F[start : start + cone.dim]) == 0.0
        start += cone.dim


def test_the_callers_point_has_the_residuals_of_the_equilibrated_one():
    program = well_posed(3)
    units = Units(program)
    here, there = textbook.Method(units.program), textbook.Method(program)
    it = here.step(here.start())
    seen = units.of_the_caller(it)
    here.judge(it, 1e-8)
    there.judge(seen, 1e-8)
    assert it.objective == pytest.approx(units.factor * seen.objective)
    assert it.dual_objective == pytest.approx(units.factor * seen.dual_objective)
    assert it.mu == pytest.approx(units.factor * seen.mu, rel=1e-9, abs=0.0)
    left, right = here.A @ it.x - here.b * it.tau, there.A @ seen.x - there.b * seen.tau
    np.testing.assert_allclose(left, units.E * right, atol=1e-10)
    left = here.P @ it.x + here.A.T @ it.y + here.G.T @ it.z + here.c * it.tau
    right = there.P @ seen.x + there.A.T @ seen.y + there.G.T @ seen.z + there.c * seen.tau
    np.testing.assert_allclose(left, units.factor * units.D * right, atol=1e-10)


@pytest.mark.full
def test_equilibration_helps_in_wild_units():
    whole, without_it = 0, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        program = well_posed(seed)
        P, A, G = dense(program)
        D = 10.0 ** rng.uniform(-4, 4, program.n)
        E = 10.0 ** rng.uniform(-4, 4, program.p)
        A, b = E[:, None] * A * D, E * program.b
        wild = ConeProgram(D * program.c, G * D, program.h, program.cones, A, b, D[:, None] * P * D)
        solution = textbook.solve(wild, switches=Switches(equilibration=True))
        check(wild, solution)
        assert solution.objective == pytest.approx(
            textbook.solve(program).objective - program.offset, rel=1e-6, abs=1e-6
        )
        whole += solution.iterations
        without_it += textbook.solve(wild).iterations
    assert without_it > 1.5 * whole


def test_the_trace_is_in_the_callers_units():
    program = IN_THE_BOOK["projection onto the disk"][0]
    trace = textbook.solve(program, switches=Switches(equilibration=True)).trace
    for it in trace:
        x = it.x / it.tau
        assert it.objective == pytest.approx(0.5 * x @ x + program.c @ x)
    assert all(after.mu < before.mu for before, after in pairwise(trace))
