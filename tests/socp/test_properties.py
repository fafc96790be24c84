"""Property tests: programs built around a known optimum or a known certificate end as they were built."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import qp
import socp
from socp import ConeProgram, NonNeg, SecondOrder
from tests.support.programs import (
    OPTIMAL,
    check,
    has_interior,
    planted_dual_certificate,
    planted_optimum,
    planted_primal_certificate,
    planted_quadratic,
    solve_and_check,
)

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@quick
@given(SEEDS, st.sampled_from([1.0, 0.5, 0.2]), st.sampled_from(["auto", "ldl", "dense"]))
def test_planted_optimum(seed, density, kkt):
    program, value = planted_optimum(np.random.default_rng(seed), density=density)
    solution = socp.solve(program, kkt=kkt)
    if not solution.status.is_infeasible and solution.status != "optimal":
        assert not has_interior(program)  # without an interior, rounding limits the accuracy
        return
    check(program, solution)
    assert solution.objective == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
def test_programs_without_an_interior_are_solved_but_for_few(kkt):
    # empty rows of cones keep s on the boundary; about half of these programs have no interior
    statuses = [
        socp.solve(planted_optimum(np.random.default_rng(seed), density=0.2)[0], kkt=kkt).status for seed in range(400)
    ]
    assert sum(status != "optimal" for status in statuses) <= 6


@pytest.mark.parametrize("name, expected", [
    ("linear over a box", True), ("disk", True), ("equalities that leave one point", True),
    ("fixed by two inequalities", False), ("the vertex of a cone", True), ("dense P", True),
])  # fmt: skip
def test_what_has_an_interior(name, expected):
    assert has_interior(OPTIMAL[name][0]) == expected


@quick
@given(SEEDS)
def test_planted_quadratic(seed):
    program, value = planted_quadratic(np.random.default_rng(seed))
    solution = solve_and_check(program)
    assert solution.objective == pytest.approx(value, rel=1e-6, abs=1e-6)


@quick
@given(SEEDS)
def test_planted_primal_certificate(seed):
    solve_and_check(planted_primal_certificate(np.random.default_rng(seed)), "primal_infeasible")


@quick
@given(SEEDS)
def test_planted_dual_certificate(seed):
    solve_and_check(planted_dual_certificate(np.random.default_rng(seed)), "dual_infeasible")


@quick
@given(SEEDS, st.floats(-2, 2), st.floats(-2, 2))
def test_units_of_rows_and_variables(seed, rows, columns):
    # x = D u and rows times a factor: the same optimal value
    rng = np.random.default_rng(seed)
    program, value = planted_optimum(rng)
    assume(program.P is None or not isinstance(program.P, socp.LowRank))
    D = 10.0 ** (columns * rng.random(program.n))
    P = program.P if program.P is None or isinstance(program.P, np.ndarray) else program.P.toarray()
    scaled = ConeProgram(
        program.c * D, 10.0**rows * program.G.toarray() * D, 10.0**rows * program.h, program.cones,
        program.A.toarray() * D, program.b, None if P is None else D[:, None] * P * D, program.offset,
    )  # fmt: skip
    solution = socp.solve(scaled)
    check(scaled, solution)
    # the stopping test, and so the value, is relative to the larger data
    size = 1.0 + max(np.abs(scaled.c).max(), np.abs(scaled.h).max(initial=0.0), np.abs(scaled.b).max(initial=0.0))
    assert solution.objective == pytest.approx(value, rel=1e-5, abs=1e-6 * size)


@quick
@given(SEEDS)
def test_an_orthant_is_a_product_of_small_cones(seed):
    # x >= 0 as cones of dimension 1, and |x| <= t as one of dimension 2 or as two rows
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    G, s = np.vstack([np.eye(n), -np.eye(n), rng.normal(size=(n, n))]), rng.uniform(0.0, 1.0, 3 * n)
    x, c = rng.normal(size=n), rng.normal(size=n)
    h = G @ x + s
    rows = ConeProgram(c, G, h, [NonNeg(3 * n)])
    ones = ConeProgram(c, G, h, [SecondOrder(1)] * (3 * n))
    # a'x <= h1 and -a'x <= h2 as |a'x - (h1 - h2) / 2| <= (h1 + h2) / 2
    middle, half = 0.5 * (h[:n] - h[n : 2 * n]), 0.5 * (h[:n] + h[n : 2 * n])
    pairs = np.zeros((2 * n, n))
    pairs[1::2] = -np.eye(n)
    sides = np.column_stack([half, -middle]).ravel()
    twos = ConeProgram(c, np.vstack([pairs, G[2 * n :]]), np.r_[sides, h[2 * n :]], [*[SecondOrder(2)] * n, NonNeg(n)])
    values = [solve_and_check(program).objective for program in (rows, ones, twos)]
    np.testing.assert_allclose(values, values[0], rtol=1e-6, atol=1e-6)


@quick
@given(SEEDS)
def test_a_quadratic_program_is_its_cone_program(seed):
    program, value = planted_quadratic(np.random.default_rng(seed))
    conic = qp.reduce.cone_form.ConeForm(program).program(program)
    assert solve_and_check(conic).objective == pytest.approx(value, rel=1e-6, abs=1e-6)
