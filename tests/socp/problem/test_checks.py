"""Checks of the input: accepted types, their storage, and the messages of refusals."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

from socp import LowRank, ProgramError
from socp.problem.checks import (
    as_csc,
    as_dense,
    as_number,
    as_symmetric,
    as_vector,
    check_finite,
    compressed_parts,
    is_canonical,
    is_symmetric,
)

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])


@pytest.mark.parametrize("value", [
    DENSE, DENSE.astype(np.float32), DENSE.astype(int), np.asfortranarray(DENSE), DENSE.tolist(), np.asmatrix(DENSE),
    np.broadcast_to(DENSE[:1], (2, 3)), DENSE[::-1], DENSE.astype(object),
], ids=["array", "float32", "int", "Fortran", "list", "matrix", "broadcast", "reversed", "object"])  # fmt: skip
def test_dense_arrays_of_all_sorts(value):
    expected = np.array(value, dtype=float)
    np.testing.assert_array_equal(as_csc("G", value).toarray(), expected)
    dense = as_dense("P", value)
    np.testing.assert_array_equal(dense, expected)
    assert dense.flags.c_contiguous and dense.dtype == np.float64


@pytest.mark.parametrize("dtype, top", [(np.int8, 100), (np.uint8, 200), (bool, 1)])
def test_duplicates_of_small_types_are_added_as_numbers(dtype, top):
    value = sp.coo_array((np.array([top, top], dtype=dtype), ([0, 0], [0, 0])), shape=(1, 1))
    assert as_csc("A", value).toarray()[0, 0] == 2.0 * top


def test_stored_zeros_keep_their_place():
    value = sp.csc_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    assert as_csc("A", value).nnz == 2


def test_a_matrix_for_each_program():
    sparse = [sp.csc_array(k * DENSE) for k in range(3)]
    for value in (sparse, tuple(sparse), np.array([k * DENSE for k in range(3)]), [k * DENSE for k in range(3)]):
        np.testing.assert_array_equal(as_dense("A", value, (None, 3), leading=True)[2], 2.0 * DENSE)
    for value, expected in ((DENSE, DENSE), (DENSE[0], DENSE[:1]), (sparse[1], DENSE)):
        np.testing.assert_array_equal(as_dense("A", value, (None, 3), leading=True), expected)
    for wrong in ([sparse[0], sp.csc_array(np.ones((1, 3)))], np.ones((2, 2, 2)), np.ones((2, 2, 2, 3)), np.ones(3)):
        with pytest.raises(ProgramError):
            as_dense("A", wrong, (2, 3), leading=True)


def masked(part):
    matrix = sp.csc_array(np.eye(2))
    values = getattr(matrix, part)
    setattr(matrix, part, np.ma.masked_array(values, np.arange(values.size) == 1))
    return matrix


@pytest.mark.parametrize("places", [np.int64, np.int32, np.uint8, np.float64])
def test_what_kernels_read_of_a_compressed_matrix(places):
    M = sp.csc_array(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 4.0]]))
    M.indptr, M.indices = M.indptr.astype(places), M.indices.astype(places)
    found, is_read = compressed_parts(M, 3), places is not np.float64
    assert (found is not None) == is_read and compressed_parts(M, 2) is None is compressed_parts(M, 4)
    for part, own in zip(found or (), (M.data, M.indptr, M.indices), strict=is_read):
        assert part.tolist() == own.tolist() and (part is own) == (part is M.data or places is np.int64)
        assert part.strides == (8,) and part.dtype in (np.float64, np.int64)
    M.data = M.data.astype(np.float32)
    assert compressed_parts(M, 3) is None


def test_what_is_canonical_and_what_is_symmetric_is_known_without_a_copy():
    """Spoil each part by itself; input that is not canonical or not symmetric costs time but is accepted."""
    M = np.array([[2.0, 1.0, 0.0, 3.0], [1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 5.0, 0.0], [3.0, 4.0, 0.0, 0.0]])

    def found(kernel, first=(), *, indptr=None, indices=None, data=None, last=()):
        P = as_csc("P", M)
        for part, change in ((P.indptr, indptr), (P.indices, indices), (P.data, data)):
            if change:
                part[change[0]] = change[1]
        return kernel(*first, P.indptr, P.indices, P.data, *last)

    canonical, symmetric = {"first": (4,)}, {"last": (np.empty(4, np.int64),)}
    assert found(is_canonical, **canonical) and found(is_symmetric, **symmetric)
    assert found(is_canonical, (4,), indices=(7, 3)) and not found(is_canonical, (3,)) and found(is_canonical, (9,))
    for k in range(8):
        for bad in (np.nan, np.inf, -np.inf):
            assert not found(is_canonical, **canonical, data=(k, bad))
        for bad in (-1, 4, 5):
            assert not found(is_canonical, **canonical, indices=(k, bad))
        diagonal = k in (0, 5)
        assert found(is_symmetric, **symmetric, data=(k, 9.0)) == diagonal
        assert not found(is_symmetric, **symmetric, indices=(k, 3 if k in (0, 3, 5) else 2))
    for at, bad in ((0, 1), (0, -1), (1, 9), (1, 6), (2, 2), (4, 7), (4, 9)):
        assert not found(is_canonical, **canonical, indptr=(at, bad)), (at, bad)
    P = as_csc("P", M)
    for indices, data in ((P.indices[:-1], P.data), (P.indices, P.data[:-1]), (np.append(P.indices, 0), P.data)):
        assert not is_canonical(4, P.indptr, indices, data)


def test_vectors():
    for value in ([1, 2], (1, 2), np.array([[1, 2]]), np.array([[1], [2]]), sp.csc_array([[1], [2]]), range(1, 3)):
        vector = as_vector("c", value, 2)
        np.testing.assert_array_equal(vector, [1.0, 2.0])
        assert vector.dtype == np.float64 and vector.flags.c_contiguous
    np.testing.assert_array_equal(as_vector("h", 3, 1), [3.0])
    np.testing.assert_array_equal(as_vector("u", 3, 2, spread=True), [3.0, 3.0])
    assert as_vector("c", []).shape == (0,)


def test_everything_is_copied():
    c, G, S = np.ones(2), np.ones((2, 2)), sp.csc_array(np.ones((2, 2)))
    kept = as_vector("c", c), as_dense("P", G), as_csc("G", G), as_csc("A", S)
    c[:], G[:], S.data[:], S.indices[:] = 7.0, 7.0, 7.0, 0
    for part in kept:
        np.testing.assert_array_equal(part.toarray() if sp.issparse(part) else part, np.ones(part.shape))


@pytest.mark.parametrize("call, message", [
    (lambda: as_vector("c", np.ones((2, 2))), "c must be a vector, but an array of shape (2, 2) came"),
    (lambda: as_vector("c", 3.0), "c must be a vector, but an array of shape () came"),
    (lambda: as_vector("h", [1, 2], 3, " (the rows of G)"), "h must have 3 entries (the rows of G), but 2 came"),
    (lambda: as_vector("c", [1j]), "c must be real, but its entries are complex"),
    (lambda: as_vector("c", [[1], [2, 3]]), "c must be an array of numbers, but a list of something else came"),
    (lambda: as_vector("c", ["1"]), "c must be an array of numbers, but a list of something else came"),
    (lambda: as_vector("c", "1"), "c must be an array of numbers, but '1' came"),
    (lambda: as_vector("c", {"x": 1}), "c must be an array of numbers, but a dict of something else came"),
    (lambda: as_vector("c", [10**400]), "c must be an array of numbers, but a list of something else came"),
    (lambda: as_vector("c", np.array(["2020-01-01"], dtype="M8[D]")), "c must be an array of numbers, but a ndarray"),
    (lambda: as_vector("c", np.ma.array([1, 2], mask=[0, 1])), "c must be an array of numbers, but some of"),
    (lambda: as_vector("c", [np.ma.masked, 1.0]), "c must be an array of numbers, but some of"),
    *((lambda part=part: as_csc("G", masked(part)), "G must be an array of numbers, but some of")
      for part in ("data", "indices", "indptr")),
    (lambda: as_dense("P", [1, 2]), "P must be a matrix, but an array of shape (2,) came"),
    (lambda: as_dense("P", np.ones((2, 3)), (3, 3), " (3 variables)"), "P must have shape (3, 3) (3 variables), but"),
    (lambda: as_dense("P", [[1, np.nan]]), "P must be finite, but P[0, 1] is nan"),
    (lambda: as_csc("G", np.ones((2, 2, 2))), "G must be a matrix, but an array of shape (2, 2, 2) came"),
    (lambda: as_csc("G", np.ones((2, 3)), (None, 4)), "G must have shape (any, 4), but (2, 3) came"),
    (lambda: as_csc("G", sp.csc_array([[1j]])), "G must be real, but its entries are of type complex128"),
    (lambda: as_csc("G", [[1, 2], [3]]), "G must be an array of numbers, but a list of something else came"),
    (lambda: as_csc("G", [[0, 0], [np.inf, 1]]), "G must be finite, but G[1, 0] is inf"),
    (lambda: as_csc("A", sp.csr_array([[0, 0], [1, -np.inf]])), "A must be finite, but A[1, 1] is -inf"),
    (lambda: as_number("offset", None), "offset must be a finite number, but None came"),
    (lambda: as_number("offset", [1, 2]), "offset must be a finite number, but [1, 2] came"),
    (lambda: as_number("offset", np.inf), "offset must be a finite number, but inf came"),
    (lambda: as_number("offset", "1"), "offset must be an array of numbers, but '1' came"),
    (lambda: check_finite("c", np.array([0.0, np.nan, np.inf])), "c must be finite, but c[1] is nan"),
    (lambda: check_finite("P", np.array([[0.0, -np.inf]])), "P must be finite, but P[0, 1] is -inf"),
    (lambda: LowRank([1.0, 2.0]), "F must be a matrix, but an array of shape (2,) came"),
    (lambda: LowRank([[1.0], [np.inf]]), "F must be finite, but F[1, 0] is inf"),
    (lambda: LowRank([[1.0], [2.0]], [1.0]), "d must have 2 entries (the rows of F), but 1 came"),
    (lambda: LowRank([[1.0], [2.0]], [1.0, -0.5]), "d must be nonnegative, but d[1] = -0.5"),
    (lambda: LowRank([[1.0], [2.0]], np.nan), "d must be finite, but d[0] is nan"),
    (lambda: LowRank(1e200), "F must be a matrix, but an array of shape () came"),
    (lambda: LowRank([[1.0, 2.0], [1e200, 0.0]]), "F F' + diag(d) must be within double precision, but entry [1, 1]"),
    (lambda: LowRank([[1.0], [-9e153]], [0.0, 1e308]), "F F' + diag(d) must be within double precision, but entry [1,"),
    (lambda: LowRank([[1.0], [2.0]], "x"), "d must be an array of numbers, but 'x' came"),
])  # fmt: skip
def test_refused(call, message):
    with pytest.raises(ProgramError, match="^" + re.escape(message)):
        call()


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, sp.csr_array])
def test_asymmetry_says_where_and_by_how_much(form):
    P = np.diag([1.0, 2.0, 4.0])
    P[0, 2], P[2, 0], P[0, 1], P[1, 0] = 1.0, 0.75, 3.0, 2.875
    with pytest.raises(ProgramError, match=r"P must be symmetric, but P\[[02], [02]\] and .* differ by 0.25 ") as e:
        as_symmetric("P", form(P))
    assert "(largest entry 4)" in str(e.value) and "triangular" not in str(e.value)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("half", [np.triu, np.tril])
def test_a_triangle_is_recognized(form, half):
    with pytest.raises(ProgramError, match="it is triangular: give the full matrix"):
        as_symmetric("P", form(half(np.ones((3, 3)))))


def test_asymmetry_below_rounding_is_taken_out():
    P = np.array([[1.0, 0.5 + 1e-13], [0.5, 1.0]])
    for form in (np.asarray, sp.csc_array):
        part = as_symmetric("P", form(P))
        part = part.toarray() if sp.issparse(part) else part
        np.testing.assert_array_equal(part, part.T)
        np.testing.assert_allclose(part, P, atol=1e-13)
    symmetric = sp.csc_array(np.ones((2, 2)))
    assert as_symmetric("P", symmetric) is symmetric
    # stored zeros stay
    one_sided = sp.csc_array((np.array([1.0, 1e-14, 0.0, 1.0]), np.array([0, 1, 2, 2]), np.array([0, 3, 3, 4])))
    assert as_symmetric("P", one_sided).nnz == 6


def test_symmetric_of_size_zero_and_of_zeros():
    for P in (np.zeros((0, 0)), sp.csc_array((0, 0)), sp.csc_array((3, 3)), np.zeros((3, 3))):
        found = as_symmetric("P", P)
        assert found.shape == P.shape and found.sum() == 0.0


def test_a_dtype_that_only_equals_numpys_own_is_as_good():
    """Arrays from a pickle or a file have a dtype object of their own, equal to float64."""
    values = pickle.loads(pickle.dumps(np.ones(3)))
    matrix = sp.csc_array(np.eye(3))
    matrix.data = values
    for made in (as_vector("q", values), as_csc("A", matrix).data, as_dense("P", values.reshape(1, 3))):
        assert made.dtype is np.dtype(np.float64)
        np.testing.assert_array_equal(made.ravel(), [1.0, 1.0, 1.0])
