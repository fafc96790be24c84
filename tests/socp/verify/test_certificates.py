"""Reported errors of certificates compared with exact arithmetic, on data in very different units."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp import ConeProgram, NonNeg
from socp.verify import certificates
from socp.verify.certificates import certify, dual_slope
from tests.support.exact_rays import exact_dual_error, exact_primal_error
from tests.support.programs import planted_dual_certificate, planted_primal_certificate

TOL = 1e-8


def test_scales_balance_rows_with_several_entries():
    rng = np.random.default_rng(0)
    M = rng.uniform(1.0, 2.0, (6, 8)) * np.outer(10.0 ** rng.uniform(-9, 9, 6), 10.0 ** rng.uniform(-9, 9, 8))
    M[0] = np.where(np.arange(8) == 3, M[0], 0.0)  # a bound, which has no part in the scales of the variables
    program = qp.QuadraticProgram(None, np.ones(8), M, l=-1.0)
    D, E, own = certificates.balance(program)
    scaled = E[:, None] * np.abs(M) * D
    assert 0.1 < scaled[1:].min() and scaled.max() <= 1.2 and scaled[0, 3] == pytest.approx(1.0)
    np.testing.assert_allclose(own * D, 1.0)
    assert certificates.balance(program)[0] is D
    other = program.with_data(A=qp.QuadraticProgram(None, np.ones(8), 2.0 * M, l=-1.0).A)
    assert certificates.balance(other)[0] is not D


def exact_told(program, found):
    """Return the reported error of a certificate and its exact error."""
    if found.status == "primal_infeasible":
        return found.primal_residual, exact_primal_error(
            program, found.y, found.z_bounds if qp_of(program) else found.z
        )
    assert found.status == "dual_infeasible"
    return found.dual_residual, exact_dual_error(program, found.x)


def qp_of(program):
    return isinstance(program, qp.QuadraticProgram)


def in_other_units(program, rng):
    """Return the cone program in units that are powers of three, which round."""
    D, f = 3.0 ** rng.integers(-10, 10, program.n), 3.0 ** rng.integers(-9, 9)
    A, G, P = program.A.toarray() * D, program.G.toarray() * D, None if program.P is None else entries_of(program.P)
    E = 3.0 ** rng.integers(-10, 10, program.p)
    F = np.concatenate([np.full(k.dim, 3.0 ** rng.integers(-9, 9)) for k in program.cones])
    return ConeProgram(
        f * program.c * D, F[:, None] * G, F * program.h, program.cones, E[:, None] * A, E * program.b,
        None if P is None else f * P * np.outer(D, D),
    )  # fmt: skip


def entries_of(P):
    return socp.problem.hessian.hessian_of(P, P.shape[0]).dense()


def test_sums_that_cancel_are_no_zeros():
    # a slope of 1e-3 from terms of 1e10
    h, z = [1e10 / 3.0, 1e10 / 7.0, -1e-3], [3.0, 7.0, 2e13]
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(h, z))
    assert float(exact) != float(np.dot(h, z))
    sign = float(np.sign(exact))  # A slope that is not negative is not scaled.
    program = ConeProgram([0.0], [[1.0], [-1.0], [0.0]], sign * np.array(h), [NonNeg(3)])
    sides, figures = [block.sides for block in program.constraints], np.zeros(4)
    certify(*sides, certificates.balance(program)[1:], np.zeros(0), np.array(z), figures)
    assert figures[0] == sign * float(exact)
    program = ConeProgram(h, np.zeros((1, 3)), [0.0], [NonNeg(1)])
    assert dual_slope(program, np.array(z)).value == float(exact)


@pytest.mark.parametrize("seed", range(20))
def test_a_curvature_that_rounding_hides_is_none(seed):
    rng = np.random.default_rng(seed)
    v = rng.integers(-3, 4, 4).astype(float)
    program = qp.QuadraticProgram(10.0 ** rng.uniform(7, 11) * np.outer(v, v), -np.abs(rng.normal(size=4)), lb=-1.0)
    for found in (qp.solve(program), qp.solve_many(program.P, np.stack([program.q] * 2), lb=-1.0)[0]):
        if found.status == "dual_infeasible":
            told, true = exact_told(program, found)
            assert told == pytest.approx(true, rel=1e-6, abs=1e-30) and true <= TOL


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("planted", [planted_primal_certificate, planted_dual_certificate])
def test_a_certificate_passes_its_own_test_in_truth(planted, seed):
    rng = np.random.default_rng(seed)
    program = in_other_units(planted(rng), rng)
    found = socp.solve(program, tol=TOL)
    told, true = exact_told(program, found)
    assert told == pytest.approx(true, rel=1e-6, abs=1e-30) and true <= TOL
    many = socp.solve_many(
        c=np.outer([1.0, 0.5], program.c), G=program.G.toarray(), h=program.h, cones=program.cones,
        A=program.A.toarray(), b=program.b, P=None if program.P is None else entries_of(program.P),
    )  # fmt: skip
    told, true = exact_told(program, many[0])
    assert told == pytest.approx(true, rel=1e-6, abs=1e-30) and true <= TOL


def random_quadratic(rng, unbounded):
    """Return the data of a program, infeasible or unbounded, with units far apart."""
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 7))
    units, own = 3.0 ** rng.integers(-10, 10, n), 3.0 ** rng.integers(-10, 10, m)
    if unbounded:
        x = rng.normal(size=n)
        project = np.eye(n) - np.outer(x, x) / (x @ x)
        F, A = project @ rng.normal(size=(n, 1)), rng.normal(size=(m, n)) @ project
        q, l = project @ rng.normal(size=n) - x, A @ rng.normal(size=n)
        return {"P": F @ F.T * np.outer(units, units), "q": q * units, "A": own[:, None] * A * units, "l": own * l}
    A, y = rng.normal(size=(m, n)), rng.normal(size=m)
    z = -A.T @ y
    bounds = rng.normal(size=n)
    l = rng.normal(size=m)
    l += y * (1.0 - l @ y - bounds @ z) / (y @ y) * 1.5  # y'l + z'bounds > 0 = y'Ax + z'x
    sides = {
        "l": np.where(y > 0, own * l, -np.inf), "u": np.where(y > 0, np.inf, own * l),
        "lb": np.where(z > 0, bounds / units, -np.inf), "ub": np.where(z > 0, np.inf, bounds / units),
    }  # fmt: skip
    return {"P": np.diag(units**2), "q": rng.normal(size=n) * units, "A": own[:, None] * A * units, **sides}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("unbounded", [False, True])
@pytest.mark.parametrize("presolve", [False, True])
def test_certificates_of_quadratic_programs_pass_in_truth(unbounded, presolve, seed):
    data = random_quadratic(np.random.default_rng(seed), unbounded)
    program = qp.QuadraticProgram(**data)
    found = qp.solve(program, presolve=presolve)
    many = qp.solve_many(**{**data, "q": np.outer([1.0, 0.5, 1.0], data["q"])})
    other = qp.solve_many(**{**data, "A": np.stack([data["A"]] * 2)})
    for one in (found, many[0], many[2], other[1]):
        told, true = exact_told(program, one)
        assert told == pytest.approx(true, rel=1e-6, abs=1e-30) and true <= TOL


def test_a_product_is_rounded_once_and_what_is_left_is_told():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(5, 8)) * 10.0 ** rng.integers(-6, 7, (5, 8))
    M[:, 4:] = -M[:, :4]
    x = np.tile(rng.normal(size=4), 2) + 1e-13 * rng.normal(size=8)  # nearly all terms cancel
    sparse = sp.csc_array(M)
    sparse.indptr, sparse.indices = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)
    total, left = certificates.multiply(sparse, x)
    for row, found, rest in zip(M, total, left):
        terms = [Fraction(a) * Fraction(b) for a, b in zip(row, x)]
        exact, size = sum(terms), sum(map(abs, terms))
        assert abs(Fraction(found) - exact) <= abs(exact) * Fraction(2) ** -52 + size * Fraction(2) ** -98
        assert abs(Fraction(found) + Fraction(rest) - exact) <= size * Fraction(2) ** -98
