"""The (k, m)-mismatch kernel of Leslie and Kuang (2003) between strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import kernel
from socp.compiled.signatures import IntMatrix, Ints

from ..base.validation import as_dense, check_choice, check_number
from .kernels import squares

ABSENT = -1.0
"""Stands for a letter that is left out: of a mask, or after the end of a shorter string."""


class MismatchKernel:
    r"""The (k, m)-mismatch string kernel, to be used as `kernel` of the support vector classes.

    .. math::
        \Phi(x)_\beta = \#\{\text{k-mers } \alpha \text{ of } x : \text{Hamming}(\alpha, \beta) \le m\},
        \qquad k(x, x') = \sum_{\beta \in A^k} \Phi(x)_\beta \Phi(x')_\beta

    The features are counted where they are not zero: each k-mer of a string adds one to every word of its
    neighbourhood, of size sum_{i <= m} binomial(k, i) (letters - 1)^i.

    The estimators take numbers, so strings are encoded first, a letter a column.  A column that is -1 is left out: so
    are all k-mers over it.  A string explained by its important positions is the string with the others at -1, which
    is how `ExplanationAugmentedSVC` applies a mask with this kernel.

    Parameters
    ----------
    k : int, default 3
        Letters of a word.
    m : int, default 1
        Mismatches, below k.
    alphabet : str, default "ACGT"
    normalize : bool, default False
        Divide by sqrt(k(x, x) k(x', x')); a string without a k-mer has the kernel zero.
    unknown : {"error", "absent"}, default "error"
        What a letter outside the alphabet is.

    Examples
    --------
    >>> kernel = MismatchKernel(k=2, m=1, alphabet="ab")
    >>> X = kernel.encode(["aab", "bb"])
    >>> X
    array([[ 0.,  0.,  1.],
           [ 1.,  1., -1.]])
    >>> kernel(X, X)  # of the words aa, ab, ba, bb the first string is near (2, 2, 1, 1), the second near (0, 1, 1, 1)
    array([[10.,  4.],
           [ 4.,  3.]])
    """

    absent = ABSENT

    def __init__(
        self, k: int = 3, m: int = 1, alphabet: str = "ACGT", normalize: bool = False,
        unknown: Literal["error", "absent"] = "error",
    ) -> None:  # fmt: skip
        self.k = check_number("k", k, 1, whole=True)
        self.m = check_number("m", m, 0, whole=True)
        if not isinstance(alphabet, str) or len(set(alphabet)) != len(alphabet) or len(alphabet) < 2:
            raise ValueError(f"alphabet must be a string of at least two distinct letters, but {alphabet!r} came")
        if self.m >= self.k:
            raise ValueError(
                f"m must be below k: with m={m} mismatches of k={k} letters every word is near every other"
            )
        if self.k * np.log2(len(alphabet)) >= 62:
            raise ValueError(f"k={k} is too long: words over {len(alphabet)} letters are counted in 64 bits")
        self.alphabet, self.normalize = alphabet, normalize
        self.unknown = check_choice("unknown", unknown, ("error", "absent"))

    def __repr__(self) -> str:
        return f"MismatchKernel(k={self.k}, m={self.m}, alphabet={self.alphabet!r}, normalize={self.normalize})"

    def encode(self, strings: Sequence[str]) -> np.ndarray:
        """Strings as a matrix of numbers, a row a string, shorter ones filled up with -1.

        Raises
        ------
        ValueError
            A letter is not in the alphabet and `unknown` is "error".
        """
        place = {letter: float(i) for i, letter in enumerate(self.alphabet)}
        codes = np.full((len(strings), max((len(s) for s in strings), default=0)), ABSENT)
        for i, string in enumerate(strings):
            for j, letter in enumerate(string):
                if letter not in place and self.unknown == "error":
                    raise ValueError(f"strings[{i}][{j}] is {letter!r}, which is not in the alphabet {self.alphabet!r}")
                codes[i, j] = place.get(letter, ABSENT)
        return codes

    def features(self, X: Any) -> sp.csr_array:
        """Phi of encoded strings: CSR of shape (strings, letters^k), the words in the order of the alphabet."""
        codes = np.asarray(as_dense(X), dtype=np.float64)
        letters = len(self.alphabet)
        if ((codes != np.round(codes)) | (codes < ABSENT) | (codes >= letters)).any():
            raise ValueError(f"X must hold strings that were encoded: whole numbers from -1 to {letters - 1}")
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        words = np.zeros(codes.shape[0], dtype=np.int64)
        count_words(codes, self.k, words)
        size = neighbourhood_size(self.k, self.m, letters)
        columns = np.empty(int(words.sum()) * size, dtype=np.int64)
        list_neighbours(codes, self.k, self.m, letters, np.empty(2 * self.k + 1, dtype=np.int64), columns)
        indptr = np.concatenate([[0], np.cumsum(words * size)])
        phi = sp.csr_array((np.ones(columns.size), columns, indptr), shape=(codes.shape[0], letters**self.k))
        phi.sum_duplicates()
        return phi

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """The kernel between encoded strings."""
        first = self.features(A)
        second = first if B is A else self.features(B)
        # the words that are there, for the product would make room for all letters^k
        used, places = np.unique(np.concatenate([first.indices, second.indices]), return_inverse=True)
        left, right = (
            sp.csr_array((phi.data, at, phi.indptr), shape=(phi.shape[0], max(used.size, 1)))
            for phi, at in zip((first, second), np.split(places, [first.nnz]), strict=True)
        )
        K = (left @ right.T).toarray()
        if self.normalize:
            K /= np.sqrt(np.maximum(squares(first), 1.0))[:, None] * np.sqrt(np.maximum(squares(second), 1.0))
        return K


def neighbourhood_size(k: int, m: int, letters: int) -> int:
    """How many words differ from a word of k letters in at most m of them.

    Examples
    --------
    >>> neighbourhood_size(3, 1, 4)
    10
    """
    size, choices = 1, 1
    for i in range(1, m + 1):
        choices = choices * (k - i + 1) // i
        size += choices * (letters - 1) ** i
    return size


@kernel
def count_words(codes: IntMatrix, k: int, words: Ints) -> None:
    """words[i] := how many k-mers without an absent letter string i has."""
    for i in range(codes.shape[0]):
        run = 0
        for j in range(codes.shape[1]):
            run = run + 1 if codes[i, j] >= 0 else 0
            if run >= k:
                words[i] += 1


@kernel
def list_neighbours(codes: IntMatrix, k: int, m: int, letters: int, work: Ints, columns: Ints) -> None:
    """columns := for every k-mer of every string, one after the other, the numbers of all words of its neighbourhood.

    A walk over the words of k letters in their order, letter by letter; differs[j] is how many of the first j letters
    differ from the k-mer, and a branch ends when these are more than m.  `work` has 2 k + 1 entries.
    """
    at = 0
    word, differs = work[:k], work[k:]
    for i in range(codes.shape[0]):
        run = 0
        for end in range(codes.shape[1]):
            run = run + 1 if codes[i, end] >= 0 else 0
            if run < k:
                continue
            start = end - k + 1
            differs[0] = 0
            depth, word[0] = 0, -1
            while depth >= 0:
                word[depth] += 1
                if word[depth] == letters:
                    depth -= 1
                    continue
                differs[depth + 1] = differs[depth] + (1 if word[depth] != codes[i, start + depth] else 0)
                if differs[depth + 1] > m:
                    continue
                if depth + 1 < k:
                    depth += 1
                    word[depth] = -1
                    continue
                number = 0
                for j in range(k):
                    number = number * letters + word[j]
                columns[at] = number
                at += 1
