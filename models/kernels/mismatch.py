"""The (k, m)-mismatch kernel of Leslie and Kuang (2003) between strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..base.validation import as_dense, check_choice, check_number
from .samples import squares

ABSENT = -1.0
"""Code of a letter that is masked, or that lies beyond the end of a shorter string."""


class MismatchKernel:
    r"""The (k, m)-mismatch string kernel, to be used as `kernel` of the support vector classes.

    .. math::
        \Phi(x)_\beta = \#\{\text{k-mers } \alpha \text{ of } x : \text{Hamming}(\alpha, \beta) \le m\},
        \qquad k(x, x') = \sum_{\beta \in A^k} \Phi(x)_\beta \Phi(x')_\beta

    The features are counted where they are not zero: each k-mer of a string adds one to every word of its
    neighbourhood, of size sum_{i <= m} binomial(k, i) (letters - 1)^i.

    The estimators take numbers, so strings are encoded first, one letter per column.  A letter at -1 is left out, and
    so are all k-mers over it.  `ExplanationAugmentedSVC` applies a mask with this kernel by setting all letters to -1
    except the important ones.

    Parameters
    ----------
    k : int, default 3
        Length of a word.
    m : int, default 1
        Number of mismatches, below k.
    alphabet : str, default "ACGT"
    normalize : bool, default False
        Divide by sqrt(k(x, x) k(x', x')); a string without a k-mer has the kernel zero.
    unknown : {"error", "absent"}, default "error"
        Whether a letter outside the alphabet raises ValueError or is left out.

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
        """Return a matrix of letter numbers, one row per string, shorter strings padded with -1.

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
        """Return Phi of encoded strings as CSR, shape (strings, letters^k), words in the order of the alphabet."""
        codes = np.asarray(as_dense(X), dtype=np.float64)
        letters = len(self.alphabet)
        if ((codes != np.round(codes)) | (codes < ABSENT) | (codes >= letters)).any():
            raise ValueError(f"X must hold strings that were encoded: whole numbers from -1 to {letters - 1}")
        # Absent letters are appended, so that strings shorter than k have windows.
        codes = np.pad(codes.astype(np.int64), ((0, 0), (0, self.k)), constant_values=int(ABSENT))
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.k, axis=1)
        row, start = np.nonzero((windows >= 0).all(axis=2))
        words, powers = windows[row, start], letters ** np.arange(self.k)[::-1]
        # moves[j][s]: change of each word's number if its letter j moves cyclically by s places in the alphabet.
        moves = [[((w + s) % letters - w) * power for s in range(letters)] for w, power in zip(words.T, powers)]
        numbers = words @ powers
        columns = [numbers + sum(moves[j][s] for j, s in change) for change in changes(self.k, self.m, letters)]
        places = np.tile(row, len(columns)), np.concatenate(columns)
        return sp.csr_array((np.ones(places[0].size), places), shape=(codes.shape[0], letters**self.k))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Return the kernel matrix between encoded strings A and B."""
        first = self.features(A)
        second = first if B is A else self.features(B)
        # Only the words that occur are numbered; the product would allocate room for all letters^k.
        used, places = np.unique(np.concatenate([first.indices, second.indices]), return_inverse=True)
        left, right = (
            sp.csr_array((phi.data, at, phi.indptr), shape=(phi.shape[0], max(used.size, 1)))
            for phi, at in zip((first, second), np.split(places, [first.nnz]), strict=True)
        )
        K = (left @ right.T).toarray()
        if self.normalize:
            K /= np.sqrt(np.maximum(squares(first), 1.0))[:, None] * np.sqrt(np.maximum(squares(second), 1.0))
        return K


def changes(k: int, m: int, letters: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the changes ((place, shift), ...) of letters from a word of k letters to each word in its neighbourhood.

    Examples
    --------
    >>> list(changes(2, 1, 3))
    [(), ((0, 1),), ((0, 2),), ((1, 1),), ((1, 2),)]
    """
    for count in range(m + 1):
        for places in combinations(range(k), count):
            for shifts in product(range(1, letters), repeat=count):
                yield tuple(zip(places, shifts))
