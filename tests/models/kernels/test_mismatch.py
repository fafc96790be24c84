"""The mismatch kernel against its definition, word by word."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from models import SVC, ExplanationAugmentedSVC, MismatchKernel
from models.kernels.mismatch import changes


def features_by_definition(string, k, m, alphabet):
    """Count for each word the k-mers of `string` that differ from it in at most m letters; skip k-mers with "*"."""
    kmers = [string[i : i + k] for i in range(len(string) - k + 1) if "*" not in string[i : i + k]]
    words = itertools.product(alphabet, repeat=k)
    return np.array([sum(sum(a != b for a, b in zip(kmer, word)) <= m for kmer in kmers) for word in words], float)


def random_strings(rng, alphabet, count=7, longest=10):
    return ["".join(rng.choice(list(alphabet), size=rng.integers(longest + 1))) for _ in range(count)]


@pytest.mark.parametrize("k, m, alphabet", [(3, 1, "ACGT"), (4, 2, "ab"), (2, 0, "abc"), (3, 2, "abc"), (1, 0, "xy")])
def test_features_and_kernel_are_those_of_the_definition(k, m, alphabet):
    rng = np.random.default_rng(k + m)
    strings = random_strings(rng, alphabet + "*")
    kernel = MismatchKernel(k, m, alphabet, unknown="absent")
    X = kernel.encode(strings)
    expected = np.array([features_by_definition(s, k, m, alphabet) for s in strings])
    np.testing.assert_array_equal(kernel.features(X).toarray(), expected)
    np.testing.assert_array_equal(kernel(X, X[:3]), expected @ expected[:3].T)
    np.testing.assert_array_equal(kernel(sp.csr_array(X), X), expected @ expected.T)
    scaled = MismatchKernel(k, m, alphabet, normalize=True, unknown="absent")(X, X)
    norms = np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(np.diag(scaled), (norms > 0).astype(float), rtol=1e-14)
    np.testing.assert_allclose(scaled * np.outer(norms, norms), expected @ expected.T, rtol=1e-12)


def test_the_size_of_a_neighbourhood():
    for k, m, letters in ((3, 1, 4), (4, 2, 3), (3, 2, 2), (2, 0, 5)):
        words = itertools.product(range(letters), repeat=k)
        assert len(list(changes(k, m, letters))) == sum(sum(map(bool, word)) <= m for word in words)


def test_strings_are_encoded_and_filled_up():
    kernel = MismatchKernel(2, 1, "AC")
    np.testing.assert_array_equal(kernel.encode(["CA", "", "AAC"]), [[1, 0, -1], [-1, -1, -1], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"strings\[1\]\[2\] is 'G', which is not in the alphabet 'AC'"):
        kernel.encode(["AA", "ACG"])


def motif_strings(rng, count):
    """Return strings of which one class contains TATA at a random place, labels, and the mask of these letters."""
    strings, mask = [], np.zeros((count, 20), dtype=bool)
    y = np.arange(count) % 2
    for i in range(count):
        letters = rng.choice(list("ACGT"), size=20)
        at = rng.integers(16)
        if y[i]:
            letters[at : at + 4] = list("TATA")
        mask[i, at : at + 4] = True
        strings.append("".join(letters))
    return strings, y, mask


def test_it_works_in_the_estimators_and_a_mask_leaves_letters_out():
    rng = np.random.default_rng(0)
    strings, y, mask = motif_strings(rng, 60)
    kernel = MismatchKernel(3, 0, normalize=True)
    X = kernel.encode(strings)
    plain = SVC(kernel=kernel).fit(X, y)
    machine = ExplanationAugmentedSVC(kernel=kernel, Q=10.0).fit(X, y, explanations=mask)
    masked = np.where(mask, X, -1.0)
    np.testing.assert_allclose(
        machine.deviation_[0], machine.decision_function(X) - machine.decision_function(masked), atol=1e-8
    )
    apart = np.abs(plain.decision_function(X) - plain.decision_function(masked))
    assert np.abs(machine.deviation_).mean() < 0.2 * apart.mean()
    same = ExplanationAugmentedSVC(kernel=kernel, Q=10.0).fit(X, y, explanations=masked)
    np.testing.assert_array_equal(machine.decision_function(X), same.decision_function(X))
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))


@pytest.mark.parametrize("arguments, words", [
    ({"k": 0}, "k must be a whole number of at least 1"),
    ({"m": 3}, "m must be below k"),
    ({"alphabet": "AA"}, "alphabet must be a string of at least two distinct letters"),
    ({"k": 40}, "k=40 is too long"),
    ({"unknown": "skip"}, "unknown must be one of"),
])  # fmt: skip
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        MismatchKernel(**arguments)


def test_numbers_that_are_no_letters_are_refused():
    for value in (0.5, 4.0, -2.0):
        with pytest.raises(ValueError, match="whole numbers from -1 to 3"):
            MismatchKernel().features([[0.0, value]])
