"""The cone program behind a quadratic program, and the way back."""

import copy
import pickle

import numpy as np
import pytest

from qp import QuadraticProgram, Solver
from qp.reduce.cone_form import ConeForm, reduced
from socp import ConeProgram, Settings
from socp.form.standard import StandardForm
from tests.support.programs import planted_quadratic, times

PROGRAM = QuadraticProgram(
    [[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]], [1.0, 2.0, 3.0],
    A=[[1, 1, 1], [1, 0, 2], [0, 3, 1], [5, 5, 5]], l=[1, -2, -np.inf, -np.inf], u=[1, 4, 6, np.inf],
    lb=[0, 2, -np.inf], ub=[9, 2, 7], offset=10.0,
)  # fmt: skip


def test_fits_as_long_as_the_same_sides_are_finite():
    form = ConeForm(PROGRAM)

    def changed(**parts):
        data = {name: getattr(PROGRAM, name) for name in ("P", "q", "A", "l", "u", "lb", "ub")}
        return QuadraticProgram(**(data | parts))

    assert form.fits(PROGRAM)
    assert form.fits(changed(l=[2, -3, -np.inf, -np.inf], u=[2, 4, 7, np.inf], lb=[1, 3, -np.inf], ub=[9, 3, 8]))
    assert not form.fits(changed(u=[1, np.inf, 6, np.inf]))
    assert not form.fits(changed(l=[0, -2, -np.inf, -np.inf]))  # no longer an equality
    assert not form.fits(changed(l=[1, 4, -np.inf, -np.inf]))  # another equality
    assert not form.fits(changed(ub=[9, 3, 7]))  # free again
    assert not form.fits(changed(lb=[9, 2, -np.inf]))  # fixed now


@pytest.mark.parametrize("seed", range(30))
def test_objective_feasibility_and_stationarity_are_the_same(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_quadratic(rng)
    form = ConeForm(program)
    conic = form.program(program)
    assert (form.n, form.p, form.m) == (conic.n, conic.p, conic.m)
    for matrix in (conic.A, conic.G):
        assert matrix.has_canonical_format and matrix.indices.size == matrix.data.size == matrix.indptr[-1]
    x, y, z = rng.normal(size=conic.n), rng.normal(size=conic.p), rng.random(conic.m)
    own_x, own_y, own_z = form.lift(program, x, y, z)
    value = 0.5 * own_x @ times(program.P, own_x) + program.q @ own_x + program.offset
    assert 0.5 * x @ times(conic.P, x) + conic.c @ x + conic.offset == pytest.approx(value, rel=1e-10, abs=1e-10)
    violation = max(np.abs(conic.A @ x - conic.b).max(initial=0.0), (conic.G @ x - conic.h).max(initial=0.0))
    moves = ((program.A @ own_x, program.l, program.u), (own_x, program.lb, program.ub))
    own = max(np.maximum(l - at, at - u).max(initial=0.0) for at, l, u in moves)
    assert violation == pytest.approx(own, rel=1e-9, abs=1e-10)
    gradient = times(program.P, own_x) + program.q + program.A.T @ own_y + own_z
    free = program.lb < program.ub
    np.testing.assert_allclose(gradient[~free], 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient[free], times(conic.P, x) + conic.c + conic.A.T @ y + conic.G.T @ z, atol=1e-12)
    for part, back in zip((x, y), form.lower(program, own_x, own_y, own_z)):
        np.testing.assert_array_equal(back, part)
    lowered = form.lower(program, own_x, own_y, own_z)[
        2
    ]  # Of two multipliers of a row or variable the difference stays.
    for one, other in zip(form.spread(program, y, lowered), form.spread(program, y, z)):
        np.testing.assert_array_equal(one, other)
    direction = form.lift_primal_ray(program, x)
    assert not direction[~free].any() and np.array_equal(direction[free], x) and np.array_equal(own_x[free], x)
    assert np.array_equal(own_x[~free], program.lb[~free])
    # a dual ray: as above, without the objective
    own_y, own_z = form.lift_dual_ray(program, y, z)
    gradient = program.A.T @ own_y + own_z
    np.testing.assert_allclose(gradient[~free], 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient[free], conic.A.T @ y + conic.G.T @ z, atol=1e-12)


def test_terms_of_fixed_variables_that_cancel_a_side_leave_nothing():
    # 0.1 + 0.2 is not 0.3: the row must not become 0 x = 5e-17
    program = QuadraticProgram(None, [1.0, 1, 1], [[1.0, 1.0, 0], [1, 1, 1]], [0.3, 0.3], [0.3, 2], [0.1, 0.2, 0],
                               [0.1, 0.2, 1])  # fmt: skip
    assert 0.1 + 0.2 - 0.3 != 0.0
    conic = ConeForm(program).program(program)
    np.testing.assert_array_equal(conic.b, [0.0])
    np.testing.assert_allclose(conic.h, [1.7, 0.0, 1.0, 0.0])
    assert conic.h[1] == 0.0
    # errors larger than rounding are kept
    apart = QuadraticProgram(None, [1.0], [[1.0]], [1.0 + 1e-12], [1.0 + 1e-12], [1.0], [1.0])
    assert 0.9e-12 < ConeForm(apart).program(apart).b[0] < 1.1e-12


def with_matrices(conic):
    """Return the cone program without its link to the quadratic program that it was made from."""
    return ConeProgram.of_checked(
        **{name: getattr(conic, name) for name in ("c", "G", "h", "cones", "A", "b", "P", "offset")}
    )


def check_same_form(one, other):
    assert one.sizes == other.sizes and (one.distinct, one.bounds) == (other.distinct, other.bounds)
    for name in ("rows", "ptr", "M_indptr", "M_indices", "M_source", "Mt_indptr", "Mt_indices", "Mt_source"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("raw_M", "raw_c", "raw_g", "M_data", "c", "g", "D", "E"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("variable", "group", "coefficient"):
        np.testing.assert_array_equal(getattr(one.groups, name), getattr(other.groups, name))
    np.testing.assert_array_equal(one.P.values, other.P.values)


@pytest.mark.parametrize("seed", range(30))
def test_what_stacks_itself_is_stacked_as_its_matrices_are(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_quadratic(rng)
    form = ConeForm(program, is_presolved=seed % 2 > 0)  # if so, it says itself which rows are parallel
    conic = form.program(program)
    standard, plain = StandardForm(conic), StandardForm(with_matrices(conic))
    check_same_form(standard, plain)
    other = program.with_data(q=program.q + rng.normal(size=program.n))
    standard.refresh_vectors(conic.with_vectors(other))
    plain.refresh_vectors(with_matrices(form.program(other)))
    check_same_form(standard, plain)
    A = program.A.copy()
    A.data = A.data * rng.uniform(1.0, 2.0, A.data.size)
    other = form.program(program.with_data(A=A))
    assert other.has_pattern_of(conic) and not other.has_pattern_of(with_matrices(conic))
    lower = program.with_data(l=np.where(np.isfinite(program.u), -np.inf, program.l))
    fewer, same = ConeForm(lower).program(lower), not np.isfinite(program.l[np.isfinite(program.u)]).any()
    assert fewer.has_pattern_of(conic) == conic.has_pattern_of(fewer) == same
    standard.refresh(other)
    plain.refresh(with_matrices(other))
    check_same_form(standard, plain)


@pytest.mark.parametrize("presolve", [True, False])
def test_bounds_are_the_rows_with_one_entry(presolve):
    """`bounds()` returns the rows of G with one entry, of all kinds, with and without fixed variables."""
    inf = np.inf
    for lb, ub in (([0, -inf, 1, -inf, 2], [1, 3, 1, inf, inf]), (-inf, [4.0, inf, 5, 6, inf]), (None, None), (1, 1)):
        rows = [[1.0, 1, 0, 2, 0], [0, 0, 0, 3, 0], [0, 1, 1, 0, 1]]
        program = QuadraticProgram(np.eye(5), np.ones(5), rows, [-1, -inf, 0], [1, 2, 0], lb, ub)
        presolved, form = reduced(program, Settings(presolve=presolve))
        cone_program = form.program(presolved.program)
        G, told = cone_program.G.toarray(), [part.tolist() for part in cone_program.bounds()]
        alone = np.flatnonzero(np.count_nonzero(G, axis=1) == 1)
        j = [int(np.flatnonzero(G[i])[0]) for i in alone]
        assert sorted(zip(*told, strict=True)) == list(zip(alone.tolist(), j, G[alone, j].tolist(), strict=True))


def test_the_solver_of_the_cone_program_may_be_updated_by_itself():
    solver = Solver([[2.0, 0.0], [0.0, 2.0]], [-2.0, -6.0], A=[[1.0, 1.0]], u=[3.0], lb=0.0, presolve=False)
    conic = solver.cone_solver
    assert conic.solve().x == pytest.approx([0.5, 2.5], abs=1e-6)
    conic.update(G_data=2.0 * conic.program.G.data, h=2.0 * conic.program.h)
    assert conic.solve().x == pytest.approx([0.5, 2.5], abs=1e-6)
    conic.update(h=[2.0, 0.0, 0.0])
    assert conic.solve().x == pytest.approx([0.0, 1.0], abs=1e-6)
    solver.update(q=[-2.0, -3.0])  # all data of the quadratic program are used again
    assert solver.solve().x == pytest.approx([1.0, 1.5], abs=1e-6)


def test_a_cone_program_whose_matrices_are_not_there_yet_can_be_copied():
    for conic in (copy.deepcopy(ConeForm(PROGRAM).program(PROGRAM)), ConeForm(PROGRAM).program(PROGRAM)):
        again = pickle.loads(pickle.dumps(conic))
        for name in ("c", "b", "h"):
            np.testing.assert_array_equal(getattr(again, name), getattr(conic, name))
        np.testing.assert_array_equal(again.A.toarray(), conic.A.toarray())
        np.testing.assert_array_equal(again.G.toarray(), conic.G.toarray())
