"""Sparse matrices of all of scipy's formats, whole and spoiled: the right matrix, or a refusal by name."""

import numpy as np
import pytest
import scipy.sparse as sp

import models
import qp
import socp
from models.base.validation import as_matrix
from socp.interop.cvxopt import conelp, coneqp
from socp.interop.ecos import ecos_solve
from socp.problem.checks import ProgramError, as_csc, as_csr, as_dense, as_vector

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
KINDS = [getattr(sp, f"{form}_{container}") for form in FORMATS for container in ("array", "matrix")]
FULL = np.array([[0.0, -2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 5.0, 0.5]])


def read_in_all_ways(matrix):
    return [
        as_csc("A", matrix).toarray(), as_dense("A", matrix), as_csr("A", matrix).toarray(),
        socp.ConeProgram(np.ones(matrix.shape[1]), A=matrix, b=np.ones(matrix.shape[0])).A.toarray(),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, ">f8", np.float32, np.longdouble, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_and_type_is_read(kind, dtype):
    full = FULL.astype(np.int64).astype(dtype)
    try:
        matrix = kind(full)
    except (ValueError, TypeError):  # some formats refuse some types
        matrix = kind(full.astype(np.float64))
    for read in read_in_all_ways(matrix):
        np.testing.assert_array_equal(read, full.astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3), (1, 1)])
def test_without_entries(kind, shape):
    if 0 in shape and kind in (sp.dia_array, sp.dia_matrix):
        matrix = kind((np.zeros((0, shape[1])), np.zeros(0, np.int64)), shape=shape)
    else:
        matrix = kind(shape)
    assert as_csc("A", matrix).shape == as_dense("A", matrix).shape == as_csr("A", matrix).shape == shape


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_array, sp.dok_array])
def test_a_vector_is_one_and_a_matrix_of_one_row(kind):
    """The vector has one dimension where scipy supports this, else two."""
    try:
        vector = kind(np.array([1.0, 0.0, 3.0]))
    except (ValueError, TypeError):
        vector = kind(np.array([[1.0, 0.0, 3.0]]))
    np.testing.assert_array_equal(as_vector("q", vector), [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(as_csc("A", vector).toarray(), [[1.0, 0.0, 3.0]])


def made(form, **parts):
    """Return a sparse matrix of format `form` whose parts are replaced after scipy's own checks."""
    matrix = getattr(sp, f"{form}_array")(parts.pop("full", FULL))
    for name, part in parts.items():
        if name in ("row", "col") and hasattr(matrix, "coords"):
            matrix.coords = tuple(part if name == n else old for n, old in zip(("row", "col"), matrix.coords))
        else:
            setattr(matrix, name, part)
    return matrix


def lists(*rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = [list(row) if isinstance(row, tuple) else row for row in rows]
    return array


def keys(changed):
    matrix = sp.dok_array(FULL)
    entries = getattr(matrix, "_dict", matrix)  # a dictionary itself below scipy 1.13
    dict.update(entries, changed)
    return matrix


def marked_canonical():
    matrix = made("csr", indices=np.array([2, 1, 0, 2, 2, 0]), data=np.array([1.0, -2.0, 3.0, 0.25, 0.25, 4.0]))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


ENTRIES, (ROWS, PLACES) = FULL[FULL != 0.0], np.nonzero(FULL)
LAST = ((4.0, 5.0, 0.5), (0, 1, 2))  # the last row as lists


def far_out():
    """Return a matrix with three more diagonals, all outside of it."""
    matrix = sp.dia_array(FULL)
    data = np.vstack([matrix.data, np.ones((3, matrix.data.shape[1]))])
    return made("dia", data=data, offsets=np.append(matrix.offsets.astype(np.int64), [2**31 - 1, -(2**31), 2**62]))


AS_GOOD = {
    "csr: indices of eight bits": lambda: made("csr", indices=PLACES.astype(np.int8)),
    "csr: unsigned indices": lambda: made("csr", indices=PLACES.astype(np.uint64)),
    "csr: indices of the other byte order": lambda: made("csr", indices=PLACES.astype(">i4")),
    "csr: spare room": lambda: made("csr", indices=np.append(PLACES, [9, -9]), data=np.append(ENTRIES, [7.0, np.nan])),
    "csr: unsorted": lambda: made("csr", indices=np.array([2, 1, 0, 2, 1, 0]), data=np.array([1, -2, 3, 0.5, 5, 4])),
    "csc: explicit zeros": lambda: sp.csc_array((FULL.T.ravel(), np.tile(np.arange(4), 3), [0, 4, 8, 12])),
    "coo: twice": lambda: sp.coo_array(
        (np.append(ENTRIES, [1.0, -1.0]), (np.append(ROWS, [2, 2]), np.append(PLACES, [1, 1]))), (4, 3)
    ),
    "bsr: blocks": lambda: sp.bsr_array(FULL, blocksize=(2, 3)),
    "bsr: other blocks": lambda: sp.bsr_array(FULL, blocksize=(4, 1)),
    "dia: far out": far_out,
    "lil: unsorted": lambda: made("lil", rows=lists((2, 1), (0,), (), LAST[1]), data=lists((1, -2), (3,), (), LAST[0])),
    "lil: twice": lambda: made(
        "lil", rows=lists((1, 2, 1), (0,), (), LAST[1]), data=lists((-1, 1, -1), (3,), (), LAST[0])
    ),
    "dok: NumPy's numbers as keys": lambda: keys({(np.int64(2), np.uint8(1)): np.float32(0.0)}),
}


@pytest.mark.parametrize("form", AS_GOOD)
def test_what_is_odd_but_clear_is_read(form):
    for read in read_in_all_ways(AS_GOOD[form]()):
        np.testing.assert_array_equal(read, FULL)


def test_an_unsigned_offset_is_no_negative_one():
    matrix = made("dia", full=np.eye(3), data=np.ones((3, 3)), offsets=np.array([0, 2**63, 2**64 - 1], np.uint64))
    for read in read_in_all_ways(matrix):
        np.testing.assert_array_equal(read, np.eye(3))


def test_flags_that_are_wrong_are_not_believed():
    expected = np.array([[0.0, -2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.5]])
    for read in read_in_all_ways(marked_canonical()):
        np.testing.assert_array_equal(read, expected)


def plainly_read(matrix):
    """Return the entries by the definition of the format in plain Python; raise any exception where it is violated."""
    full = np.zeros(matrix.shape)

    def add(i, j, value):
        numbers = isinstance(value, (int, float, np.number, np.bool_)) and np.isfinite(float(value))
        whole = all(isinstance(k, (int, np.integer)) and k >= 0 for k in (i, j))
        if not numbers or not whole:
            raise ValueError
        full[i, j] += float(value)

    if matrix.format == "coo":
        rows, columns = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        for i, j, value in zip(rows, columns, matrix.data, strict=True):
            add(i, j, value)
    elif matrix.format == "lil":
        for i, (row, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
            for j, value in zip(row, values, strict=True):
                add(i, j, value)
    elif matrix.format == "dok":
        for (i, j), value in matrix.items():
            add(i, j, value)
    elif matrix.format == "dia":
        for offset, diagonal in zip(map(int, matrix.offsets), matrix.data, strict=True):
            for j, value in enumerate(diagonal[: matrix.shape[1]]):
                if 0 <= j - offset < matrix.shape[0]:
                    add(j - offset, j, value)
    else:
        for line in range(len(matrix.indptr) - 1):
            for k in range(matrix.indptr[line], matrix.indptr[line + 1]):
                j = matrix.indices[k]
                value = matrix.data[k].item() if matrix.format == "bsr" else matrix.data[k]
                add(*((j, line) if matrix.format == "csc" else (line, j)), value)
    return full


PARTS = {
    "csc": ("data", "indices", "indptr"), "csr": ("data", "indices", "indptr"), "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"), "dia": ("data", "offsets"), "lil": ("data", "rows"), "dok": (),
}  # fmt: skip
ODD = [-1, 0, 1, 2, 3, 4, 10**6, 2**40, 0.5, 1.0, np.nan, -np.inf, None, "1", 1j, [2], (1.0, 2.0)]
KEYS = [2, "ab", (0, 0, 0), (0, None), ((0, 0), 1), (0.5, 0), (100, 0), (0, -1)]
OTHERS = [
    lambda part: None, list, lambda part: part[:, None], lambda part: part.astype(bool), lambda part: part[::-1],
    lambda part: part.astype(float), lambda part: part.astype(object), lambda part: part.astype(complex),
    lambda part: part.astype(str), lambda part: np.full(part.shape, 2**64 - 1, np.uint64), lambda part: part[..., :0],
    lambda part: np.repeat(part, 3, part.ndim // 2), lambda part: [*part[:-1], [2.0, 3.0]],
    lambda part: part.astype(float) * np.nan,
]  # fmt: skip


def spoiled(form, rng):
    """Return a matrix of format `form` with an odd value or a wrong length in one of its parts."""
    odd = ODD[rng.integers(len(ODD))]
    if form == "dok":
        key = tuple(odd if rng.random() < 0.5 else int(rng.integers(3)) for _ in range(2))
        key = KEYS[rng.integers(len(KEYS))] if isinstance(odd, list) else key
        return keys({key: odd if rng.random() < 0.3 else 1.0})
    name = PARTS[form][rng.integers(len(PARTS[form]))]
    matrix = made(form)
    part = getattr(matrix, name).copy()
    if form == "lil":
        k = rng.integers(4)
        row = part[k] if rng.random() < 0.8 else part
        if row is part:
            part = [part[:-1], np.append(part, part[-1:]), None, list(part), lists(*part[:k], odd, *part[k + 1 :])][
                rng.integers(5)
            ]
        elif row and rng.random() < 0.6:
            row[rng.integers(len(row))] = odd
        else:
            row.append(odd)
    elif rng.random() < 0.3:
        part = OTHERS[rng.integers(len(OTHERS))](part)
    elif rng.random() < 0.3:
        part = part[: rng.integers(len(part))] if rng.random() < 0.5 else np.append(part, part[-1:], axis=0)
    else:
        try:
            part = part.astype(
                np.result_type(part, np.asarray(odd)) if np.ndim(odd) == 0 and odd is not None else object
            )
        except TypeError:
            part = part.astype(object)
        part.reshape(-1)[rng.integers(part.size)] = odd
    return made(form, **{name: part})


@pytest.mark.parametrize("form", FORMATS)
def test_any_fault_is_refused_or_does_not_matter(form):
    rng = np.random.default_rng(FORMATS.index(form))
    read = 0
    for _ in range(400):
        matrix = spoiled(form, rng)
        try:
            came = as_csc("A", matrix)
        except ProgramError as error:
            assert str(error).startswith("A must be ")
            with pytest.raises(ValueError, match="X"):
                as_matrix(matrix, "SVC", sparse=True)
            with pytest.raises(ProgramError, match=r"^P must be "):
                as_dense("P", matrix)
            continue
        read += 1
        np.testing.assert_array_equal(came.toarray(), plainly_read(matrix))
        np.testing.assert_array_equal(as_dense("A", matrix), came.toarray())
        np.testing.assert_array_equal(as_csr("A", matrix).toarray(), came.toarray())
    assert read > 10


def spoiled_list():
    matrix = sp.lil_array(np.eye(2))
    matrix.rows[1] = [100]
    return matrix


WAYS_IN = {
    "G of qpsolvers": ("G", lambda M: qp.solve_qp(np.eye(2), np.ones(2), M, np.ones(2))),
    "A of qpsolvers": ("A", lambda M: qp.solve_qp(np.eye(2), np.ones(2), A=M, b=np.ones(2))),
    "P of qpsolvers": ("P", lambda M: qp.solve_qp(M, np.ones(2))),
    "P of CVXOPT": ("P", lambda M: coneqp(M, np.ones(2))),
    "G of CVXOPT": ("G", lambda M: conelp(np.ones(2), M, np.ones(2))),
    "q of CVXOPT": ("c", lambda M: coneqp(np.eye(2), M)),
    "G of ECOS": ("G", lambda M: ecos_solve(np.ones(2), M, np.ones(2), {"l": 2, "q": []})),
    "A of ECOS": ("A", lambda M: ecos_solve(np.ones(2), -np.eye(2), np.ones(2), {"l": 2, "q": []}, M, np.ones(2))),
    "F": ("F", qp.LowRank),
    "P of a block": ("w", lambda M: qp.Blocks(w=2).minimize(quadratic={"w": M})),
    "A of a block": ("w", lambda M: qp.Blocks(w=2).equal(1.0, w=M)),
    "X of SVC": ("X", lambda M: models.SVC().fit(M, [0, 1])),
    "X to predict": ("X", lambda M: models.SVC().fit(np.eye(2), [0, 1]).predict(M)),
    "explanations": ("explanations", lambda M: models.ExplanationAugmentedSVC().fit(np.eye(2), [0, 1], explanations=M)),
    "counts": ("X", lambda M: models.LatentDirichletAllocation(n_topics=2).fit(M)),
}


def test_lists_of_other_lengths_and_arrays_with_three_axes_are_refused():
    with pytest.raises(ProgramError, match="lists of its rows and those of its data must have the same lengths"):
        as_csc("A", made("lil", full=np.eye(2), rows=lists((0, 1), ()), data=lists((1.0,), (2.0,))))
    deep = type("Deep", (sp.coo_array,), {"shape": property(lambda self: (2, 2, 2))})
    with pytest.raises(ProgramError, match=r"A must be a matrix, but a coo array of shape \(2, 2, 2\) came"):
        as_csc("A", deep(np.eye(2)))


@pytest.mark.parametrize("way", WAYS_IN)
def test_every_way_in_refuses_by_name(way):
    name, call = WAYS_IN[way]
    with pytest.raises(ProgramError, match=f"^{name} must be a valid sparse matrix"):
        call(spoiled_list())
