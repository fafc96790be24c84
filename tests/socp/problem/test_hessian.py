"""Every form of P answers as the matrix that it stands for."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import KernelMatrix
from socp import ConeProgram, LowRank
from socp.problem.checks import as_csc
from socp.problem.hessian import LOW_RANK_SHARE, hessian_of

N = 7
RNG = np.random.default_rng(4)
FACTOR = np.where(np.arange(N)[:, None] == 3, 0.0, RNG.normal(size=(N, 2)))  # variable 3 has no entries
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
    assert form.order == N and form.is_zero == (source is None)
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


def test_a_column_has_entries_beside_a_diagonal_of_zeros():
    for P in (1.0 - np.eye(2), as_csc("P", 1.0 - np.eye(2)), KernelMatrix(np.eye(2), lambda A, B: 1.0 - A @ B.T)):
        assert hessian_of(P, 2).has_entries(np.arange(2)).all()


def test_a_program_answers_for_the_matrix_that_it_has_now():
    program = ConeProgram(np.zeros(N), P=FORMS["dense"][0])
    before = program.hessian
    assert program.hessian is before
    program.P = FORMS["sparse"][0]
    np.testing.assert_array_equal(program.hessian.dense(), SPARSE)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("rank", [0, 1, 9, 10, 11])
def test_a_low_rank_is_found_up_to_a_share_of_the_order(rank, scale):
    """Low rank is found with variables of any scale and a zero one, not if entries miss F F' by 1e-9 of their size."""
    rng, n = np.random.default_rng(rank), 40
    F = scale * rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-1.0, 1.0, (n, 1))
    F[7] = 0.0
    P = hessian_of(F @ F.T, n)
    is_low = 0 < rank <= LOW_RANK_SHARE * n
    with np.errstate(all="raise"):
        assert P.find_rank() == is_low and P.rank == (rank if is_low else None)
    factor = P.factor()
    assert factor.shape == (n, rank) and (factor is P.low_rank or not is_low)
    root = np.sqrt(P.diagonal() + (P.diagonal() == 0.0))
    np.testing.assert_allclose(factor @ factor.T / np.outer(root, root), P.source / np.outer(root, root), atol=1e-10)
    if is_low:
        assert P.low_rank_form()[0] is factor and not P.low_rank_form()[1].any()
    wrong = F @ F.T + np.diag(np.ones(n)) * (rank == 0)
    i, j = np.argsort(np.diag(wrong))[[5, 6]]
    wrong[i, j] = wrong[j, i] = wrong[i, j] + 1e-9 * np.sqrt(wrong[i, i] * wrong[j, j])
    assert not hessian_of(wrong, n).find_rank()


def test_memory_is_given_once_and_a_factor_is_forgotten_with_its_values():
    P = hessian_of(FACTOR @ FACTOR.T, N)
    P.workspace = workspace = np.empty(P.entries)
    assert P.take_workspace() is workspace and P.take_workspace() is not workspace
    before = P.factor()
    assert P.factor() is before
    P.forget_rank()
    P.source[:] = np.eye(N)
    np.testing.assert_allclose(P.factor() @ P.factor().T, np.eye(N), atol=1e-12)
