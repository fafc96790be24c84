"""Explanations in every accepted format give equal rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import explained_examples

rng = np.random.default_rng(0)
X = rng.normal(size=(6, 4)) + 5.0
MASK = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 0, 0]], dtype=bool)
# the third example is without an explanation
V, OWNER = (X * MASK)[[0, 1, 3, 4, 5]], [0, 1, 3, 4, 5]


@pytest.mark.parametrize("given", [
    MASK, X * MASK, MASK[:, None, :], sp.csr_array(MASK), sp.csr_array(X * MASK),
    [None if i == 2 else MASK[i] for i in range(6)], [(X * MASK)[i] for i in range(6)],
    [MASK[[i]].tolist() for i in range(6)], lambda A, y: A * MASK, lambda A, y: MASK if y is None else None,
])  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
def test_all_ways_give_the_same_rows(given, sparse):
    if callable(given) and sparse:
        return
    found, owner = explained_examples(given, sp.csr_array(X) if sparse else X, None)
    assert sp.issparse(found) == sparse
    np.testing.assert_array_equal(found.toarray() if sparse else found, V)
    assert owner.tolist() == OWNER


def test_several_explanations_an_example():
    several = np.stack([MASK, ~MASK], axis=1)
    found, owner = explained_examples(several, X, None)
    assert owner.tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5]
    np.testing.assert_array_equal(found[1], X[0] * ~MASK[0])
    listed, whose = explained_examples([several[0], None, None, several[3, 0], None, None], X, None)
    assert whose.tolist() == [0, 0, 3]
    np.testing.assert_array_equal(listed[2], X[3] * MASK[3])


def test_one_mask_for_all_examples():
    found, owner = explained_examples(np.array([True, True, False, True]), X, None)
    assert owner.tolist() == list(range(6))
    np.testing.assert_array_equal(found, X * [1, 1, 0, 1])


def test_none_at_all_and_what_stands_for_absent():
    found, owner = explained_examples(None, X, None)
    assert found.shape == (0, 4) and owner.size == 0
    letters, _ = explained_examples(MASK, X, None, absent=-1.0)
    np.testing.assert_array_equal(letters, np.where(MASK, X, -1.0)[OWNER])


@pytest.mark.parametrize("given, words", [
    (MASK[:, :3], r"explanations must have the shape of X, \(6, 4\).*\(6, 3\) came"),
    (MASK[:5], r"explanations must have the shape of X"),
    (np.ones(4), "explanations must have the shape of X"),
    ([None] * 5, "a list with an entry for each of the 6 samples.* of 5"),
    (7, "int came"),
    ([None] * 5 + [np.ones(3)], r"explanations\[5\] must be None or have 4 features"),
    ([None] * 5 + [["a"] * 4], r"explanations\[5\] must hold numbers or True and False"),
    (np.where(MASK, X, np.nan), "explanations contains NaN"),
    (sp.csr_array(np.ones((2, 2))), "explanations must have the shape of X"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        explained_examples(given, X, None)


def test_a_sparse_mask_does_not_go_with_a_kernel_that_leaves_out_otherwise():
    with pytest.raises(ValueError, match="sparse mask"):
        explained_examples(sp.csr_array(MASK), X, None, absent=-1.0)


@pytest.mark.parametrize("form", [
    np.asarray, sp.csr_array, list, lambda M: M[:, None, :], lambda M: M.astype(np.uint8), lambda M: M * 1.0,
    lambda M: M.tolist(), lambda M: lambda A, y: M,
])  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
def test_a_mask_of_numbers_is_no_mask(form, sparse):
    samples = sp.csr_array(X) if sparse else X
    with pytest.raises(ValueError, match=r"explain sample 0 by 1 in feature 1, where X has .* astype\(bool\)"):
        explained_examples(form(MASK.astype(int)), samples, None)
    ones = (X > 0.0) * 1.0  # of zeros and ones, entries and mask say the same
    for found, expected in zip(*(explained_examples(M, ones, None) for M in (MASK * ones, MASK))):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(6,), (4, 6), (4, 2, 6)])
def test_masks_keep_sparse_examples_sparse(shape):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (4, 6)).astype(float)
    mask = rng.random(shape) < 0.5
    V, owner = explained_examples(mask, sp.csr_array(X), None)
    expected, whose = explained_examples(mask, X, None)
    assert sp.issparse(V) and V.nnz == np.count_nonzero(expected)
    assert np.array_equal(V.toarray(), expected) and np.array_equal(owner, whose)
