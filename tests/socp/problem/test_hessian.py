"""Every form of P answers as the matrix that it stands for."""

import numpy as np
import pytest
import scipy.sparse as sp

from qp import KernelMatrix
from socp import ConeProgram, LowRank, ProgramError
from socp.problem.checks import as_csc
from socp.problem.hessian import hessian_of

N = 7
RNG = np.random.default_rng(4)
FACTOR = np.where(np.arange(N)[:, None] == 3, 0.0, RNG.normal(size=(N, 2)))  # variable 3 is nowhere
SPARSE = np.diag([2.0, 1.0, 3.0, 0.0, 1.0, 1.0, 4.0])
SPARSE[0, 6] = SPARSE[6, 0] = -1.0
SAMPLES = RNG.normal(size=(N, 3))
FORMS = {
    "none": (None, np.zeros((N, N))),
    "sparse": (as_csc("P", sp.csc_array(SPARSE)), SPARSE),
    "dense": (FACTOR @ FACTOR.T, FACTOR @ FACTOR.T),
    "low rank": (LowRank(FACTOR), FACTOR @ FACTOR.T),
    "by rows": (KernelMatrix(SAMPLES, "linear"), SAMPLES @ SAMPLES.T),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_its_matrix(name):
    source, P = FORMS[name]
    form, x = hessian_of(source, N), RNG.normal(size=N)
    assert form.order == N and form.is_zero == (source is None) and form.is_by_rows == (name == "by rows")
    np.testing.assert_allclose(form.product(x), P @ x, rtol=1e-13, atol=1e-13)
    high, low = np.split(form.accurate_product(x), 2)
    np.testing.assert_allclose(high + low, P @ x, rtol=1e-13, atol=1e-13)
    assert (form.sizes(x) >= (1.0 - 1e-13) * np.abs(P) @ np.abs(x)).all()
    np.testing.assert_allclose(form.diagonal(), P.diagonal(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(form.dense(), P, rtol=1e-13, atol=1e-13)
    assert form.largest == pytest.approx(np.abs(P).max(), rel=1e-13)
    indptr, indices, data = form.upper()
    upper = sp.csc_array((data, indices, indptr), shape=(N, N)).toarray()
    np.testing.assert_allclose(np.triu(upper), np.triu(P), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", FORMS)
def test_some_of_the_variables(name):
    source, P = FORMS[name]
    form, which = hessian_of(source, N), np.array([0, 2, 3, 6])
    np.testing.assert_array_equal(form.has_entries(which), P[which].any(axis=1))
    among = hessian_of(form.among(which), which.size)
    np.testing.assert_allclose(among.dense(), P[which[:, None], which], rtol=1e-13, atol=1e-13)
    none = hessian_of(form.among(which[:0]), 0)
    assert none.order == 0 and none.product(np.zeros(0)).size == 0


def test_a_program_answers_for_the_matrix_that_it_has_now():
    program = ConeProgram(np.zeros(N), P=FORMS["dense"][0])
    before = program.hessian
    assert program.hessian is before
    program.P = FORMS["sparse"][0]
    np.testing.assert_array_equal(program.hessian.dense(), SPARSE)


def test_new_values_are_refused_where_there_is_no_place_for_them():
    for name, message in (("none", "has no P"), ("low rank", "a LowRank P"), ("by rows", "a KernelMatrix P")):
        with pytest.raises(ProgramError, match=message):
            hessian_of(FORMS[name][0], N).with_data([1.0])
