"""chi and sigma: compression by semantic distance, reconstruction, the prior."""

import numpy as np
import pytest
import scipy.sparse as sp

import models
import socp
from models.transfer.transfer import _distinct_rows


def test_pairs_of_distances_form_classes():
    compression = models.SemanticCompression([1.0, 2.0, 4.0, 8.0], [[2, 2, 3, 2], [5, 5, 5, 6]])
    assert compression.chi([[3, 2, 2], [5, 6, 5]]).tolist() == [4.0, 8.0, 1.5]
    assert compression.sizes.sum() == 4


@pytest.mark.parametrize(("asked", "expected"), [
    (9, 7.0),  # farther than all: the farthest
    (5, 2.0),  # between 4 and 6, of which 4 has more words
    (7, 7.0),
    (-1, 7.0),  # unreachable, and no such class: the farthest
])  # fmt: skip
def test_a_class_without_words_takes_the_nearest(asked, expected):
    assert models.SemanticCompression([0.0, 1.0, 3.0, 7.0], [2, 4, 4, 6]).chi([asked]) == expected


def test_what_is_unreachable_is_its_own_class():
    compression = models.SemanticCompression([1.0, 2.0, 3.0, 4.0], [[2, 9, -1, -1], [2, 9, 8, -1]])
    assert compression.chi([[-1, -1, 9, -1], [8, 2, 8, -1]]).tolist() == [3.0, 3.0, 2.0, 4.0]
    assert models.UNREACHABLE == -1


def test_on_the_same_task_chi_averages_the_means():
    """The components of the means are averaged over the words equidistant from the label, as the paper remarks."""
    rng = np.random.default_rng(1)
    means, distances = rng.random((2, 30)), rng.integers(0, 4, (2, 30))
    transfer = models.GenerativeTransfer(means, distances)
    again = models.GenerativeTransfer(transfer.means(distances), distances)
    assert np.allclose(again.means(distances), transfer.means(distances))
    assert np.allclose(again.variances(distances), 0.0)
    for i in (0, 1):
        for v in range(4):
            at = distances[i] == v
            assert np.allclose(transfer.means(distances)[i, at], means[i, at].mean())
    # the remaining variance and the variance of chi add up to the variance of the means
    left, between = transfer.variances(distances).mean(axis=1), transfer.means(distances).var(axis=1)
    assert np.allclose(left + between, means.var(axis=1))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_the_means_of_samples(form):
    X = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert models.class_means(form(X), ["b", "b", "a"]).tolist() == [[0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]


def test_the_prior_is_chi_and_sigma_on_the_new_words():
    rng = np.random.default_rng(2)
    X, y = (rng.random((40, 60)) < 0.2).astype(float), np.repeat(["a", "b"], 20)
    train, test = rng.integers(0, 5, (2, 60)), rng.integers(0, 5, (2, 80))
    transfer = models.GenerativeTransfer.from_samples(X, y, train)
    prior = transfer.prior(test)
    for i, label in enumerate("ab"):
        mean = X[y == label].mean(axis=0)
        groups = [mean[train[i] == v] for v in range(5)]
        assert np.allclose(prior.t[i], [groups[v].mean() for v in test[i]])
        assert np.allclose(prior.Omega[i].value, [groups[v].var() for v in test[i]])
        assert prior.Sigma[i].kind == "scalar" and prior.Sigma[i].value == 1.0


def test_the_discriminant_is_halfway_between_the_means():
    means = np.random.default_rng(4).random((2, 7))
    w, b = models.discriminant(means)
    centre = means.mean(axis=0)
    terms = np.abs(w) @ np.abs(centre) + abs(b)
    assert w @ centre + b == pytest.approx(0.0, abs=16 * np.finfo(float).eps * terms)  # two sums of seven terms
    assert w @ means[1] + b > 0 > w @ means[0] + b


def test_distinct_rows_are_those_of_numpy():
    keys = np.random.default_rng(0).integers(0, 3, size=(80, 3))
    rows, which = _distinct_rows(keys)
    np.testing.assert_array_equal(rows, np.unique(keys, axis=0))
    np.testing.assert_array_equal(rows[which], keys)


def test_the_discriminative_transfer_averages_w_over_pairs_of_distances_and_keeps_b():
    w, b = models.DiscriminativeTransfer([1.0, 3.0, -1.0], 0.25, [[0, 0, 4], [4, 4, 0]]).hyperplane([[4, 0], [0, 4]])
    assert w.tolist() == [-1.0, 2.0] and b == 0.25


@pytest.mark.parametrize(("call", "message"), [
    (lambda: models.SemanticCompression([1.0, np.nan], [1, 2]), "values must be a finite vector"),
    (lambda: models.SemanticCompression([1.0, 2.0], [1, 2, 3]), "of the 2 words in values, but of 3 came"),
    (lambda: models.SemanticCompression([1.0, 2.0], [1.0, 2.0]), "distances must be whole numbers from -1"),
    (lambda: models.SemanticCompression([1.0, 2.0], [1, -2]), "distances must be whole numbers from -1"),
    (lambda: models.SemanticCompression([1.0, 2.0], [1, 2]).chi([[1], [2]]), "to 1 labels, but to 2 came"),
    (lambda: models.GenerativeTransfer([1.0, 2.0], [1, 2]), r"means must have shape \(2, n\), but \(2,\) came"),
    (lambda: models.GenerativeTransfer([[1.0], [2.0]], [1, 2]), r"distances must have shape \(2, n\)"),
    (lambda: models.class_means([[1.0], [2.0], [3.0]], [1, 2, 3]), "y must hold two labels, but 3 came"),
])  # fmt: skip
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(socp.ProgramError, match=message):
        call()
