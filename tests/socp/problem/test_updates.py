"""New values of matrices, in the places of the old ones or as matrices, in any storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from qp import QuadraticProgram
from socp import ConeProgram, LowRank, ProgramError
from socp.problem.updates import with_hessian, with_values

N = 7
RNG = np.random.default_rng(4)
SPARSE = np.diag([2.0, 1.0, 3.0, 0.0, 1.0, 1.0, 4.0])
SPARSE[0, 6] = SPARSE[6, 0] = -1.0
DENSE = SPARSE + 0.25


def unsorted(A):
    """Return A with its entries in reverse order, the first one split into two halves, and two explicit zeros."""
    coo = sp.coo_array(A)
    places = [np.append(np.append(0, along), own) for along, own in zip((coo.row, coo.col), (2, 3))]
    places = [np.append(along, other) for along, other in zip(places, (3, 2))]
    data = np.concatenate([[A[0, 0] / 2], coo.data, [0.0, 0.0]])
    data[1 + np.flatnonzero((coo.row == 0) & (coo.col == 0))] /= 2
    return sp.coo_array((data[::-1], tuple(along[::-1] for along in places)), shape=A.shape)


STORED = {"full": SPARSE, "csr": sp.csr_array(SPARSE), "unsorted, with zeros": unsorted(SPARSE)}


@pytest.mark.parametrize("name", STORED)
def test_new_values_in_the_places_of_the_old_ones(name, monkeypatch):
    """Exactly symmetric values skip scipy; values symmetric up to rounding are symmetrized; others are refused."""
    program = ConeProgram(np.zeros(N), P=STORED[name])
    old = program.hessian
    rows, columns = old.indices, np.repeat(np.arange(N), np.diff(old.indptr))
    symmetric = 1.0 + rows + columns + (rows == columns)
    with monkeypatch.context() as patch:
        patch.setattr("socp.problem.updates.as_symmetric", None)
        new = with_hessian(program, symmetric)["P"]
    assert new.data is not symmetric and not np.shares_memory(new.data, old.values)
    np.testing.assert_array_equal(new.toarray()[rows, columns], symmetric)
    assert new.nnz == old.entries
    k = int(np.flatnonzero(rows != columns)[0])
    off = symmetric.copy()
    off[k] *= 1.0 + 1e-13
    found = with_hessian(program, off)["P"].toarray()
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found[rows, columns], symmetric, rtol=1e-12)
    off[k] += 1e-3
    with pytest.raises(ProgramError, match="P must be symmetric"):
        with_hessian(program, off)
    with pytest.raises(ProgramError, match="P must be symmetric"):
        with_hessian(program, np.where(rows <= columns, symmetric, 0.0))
    with pytest.raises(ProgramError, match=f"P_data must have {old.entries} entries .* matrix of shape \\(7, 7\\)"):
        with_hessian(program, symmetric[1:])
    with pytest.raises(ProgramError, match="P_data must be finite"):
        with_hessian(program, np.where(np.arange(old.entries) == k, np.nan, symmetric))
    with pytest.raises(ProgramError, match="it is triangular"):
        ConeProgram(np.zeros(N), P=sp.triu(SPARSE))


@pytest.mark.parametrize("made", [np.array, sp.csc_array, sp.csc_matrix, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("P", [SPARSE, DENSE, np.where(RNG.random((N, N)) < 0.4, 0.0, DENSE)])
def test_what_an_update_takes_does_not_depend_on_how_full_p_is(P, made):
    P = np.minimum(P, P.T)
    given = made(P)
    entries = sp.csc_array(P).data
    for program in (ConeProgram(np.zeros(N), P=given), QuadraticProgram(given, np.zeros(N))):
        for data in (3.0 * entries, 3.0 * given, 3.0 * P, (3.0 * P).tolist(), sp.coo_array(3.0 * P)):
            found = with_hessian(program, data)
            new = found["P"]
            assert type(new) is type(program.P)
            np.testing.assert_array_equal(new.toarray() if sp.issparse(new) else new, 3.0 * P)
            again = with_hessian(program.of_checked(**{**vars(program), **found}), entries)["P"]
            np.testing.assert_array_equal(again.toarray() if sp.issparse(again) else again, P)
        with pytest.raises(ProgramError, match=f"P_data must have {entries.size} entries"):
            with_hessian(program, entries[1:])
        with pytest.raises(ProgramError, match=r"P_data must have shape \(7, 7\).*, but \(6, 6\) came"):
            with_hessian(program, np.eye(6))
        with pytest.raises(ProgramError, match="P_data must be symmetric"):
            with_hessian(program, P + np.triu(np.ones((N, N)), 1) + np.eye(N)[::-1])


def test_stored_zeros_of_a_full_sparse_matrix_are_places():
    stored = sp.csc_array(DENSE)
    stored.data[[1, 7]] = 0.0  # P_10 and P_01
    program = ConeProgram(np.zeros(N), P=stored)
    assert isinstance(program.P, np.ndarray)
    np.testing.assert_array_equal(with_hessian(program, sp.csc_array(DENSE).data)["P"], DENSE)


def test_an_array_stays_in_the_places_of_the_old_matrix_where_it_can():
    A = sp.csc_array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]])
    inside, beyond = np.array([[5.0, 0.0, 0.0], [0.0, 6.0, 7.0]]), np.ones((2, 3))
    new = with_values("A", A, inside)
    assert new.indices is A.indices and new.indptr is A.indptr
    np.testing.assert_array_equal(new.toarray(), inside)
    for data in (beyond, sp.csc_array(beyond), beyond.tolist()):
        np.testing.assert_array_equal(with_values("A", A, data).toarray(), beyond)
    assert with_values("A", A, sp.csc_array(inside)).nnz == 3  # a sparse matrix has places of its own
    np.testing.assert_array_equal(
        with_values("A", A, [1.0, 2.0, 3.0, 4.0]).toarray(), [[1.0, 0.0, 3.0], [0.0, 2.0, 4.0]]
    )
    for data, message in (
        (np.ones((3, 3)), r"A_data must have shape \(2, 3\) \(the shape of A\), but \(3, 3\) came"),
        (np.ones(5), r"A_data must have 4 entries \(the entries of A; or be a matrix of shape \(2, 3\)\), but 5 came"),
        ([[1.0, 2.0], [3.0]], "A_data must be an array of numbers"), (np.full((2, 3), np.inf), "A_data must be finite"),
    ):  # fmt: skip
        with pytest.raises(ProgramError, match=message):
            with_values("A", A, data)
    row = sp.csc_array([[1.0, 0.0, 2.0]])
    np.testing.assert_array_equal(with_values("A", row, [[3.0, 4.0]]).toarray(), [[3.0, 0.0, 4.0]])  # values in a row
    np.testing.assert_array_equal(with_values("A", row, [[3.0, 5.0, 4.0]]).toarray(), [[3.0, 5.0, 4.0]])


def test_values_are_refused_where_there_is_no_place_for_them_and_matrices_are_taken():
    for P, message in ((None, "has no P"), (LowRank(np.ones((N, 2))), "a LowRank P")):
        program = QuadraticProgram(P, np.zeros(N))
        with pytest.raises(ProgramError, match=message):
            with_hessian(program, [1.0])
        np.testing.assert_array_equal(with_hessian(program, DENSE)["P"], DENSE)
        other = LowRank(np.ones((N, 1)), 1.0)
        assert with_hessian(program, other)["P"] is other


def test_the_type_of_new_values_is_the_type_of_p():
    program, eps = ConeProgram(np.zeros(N), P=np.float32(DENSE)), np.finfo(np.float32).eps
    assert program.P_eps == eps and ConeProgram(np.zeros(N), P=np.int8(SPARSE)).P_eps == np.finfo(float).eps
    for old in (program, ConeProgram(np.zeros(N), P=sp.csc_array(SPARSE))):
        values = np.ones(49) if old is program else old.P.data
        for data in (values, DENSE, sp.csc_array(DENSE)):
            assert with_hessian(old, data.astype(np.float32))["P_eps"] == eps
            assert with_hessian(old, data)["P_eps"] == np.finfo(float).eps
