r"""Transfer of word statistics from one task to another by semantic distances between words and labels.

Words at one distance from a label are taken to be alike: a vector over words is compressed to its mean and variance
on each class of words,

    chi(v) = mean of mu^j,  sigma(v) = mean of (mu^j - chi(v))^2      over the words j with  l^j_train = v,

and reconstructed for other labels by mu^j = chi(l^j_test).  Epshteyn and DeJong 2006, sections 2 and 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp import ProgramError

from ..base.validation import as_dense, as_labels, as_matrix
from ..bilevel.prior import GenerativePrior, as_vector
from .ontology import UNREACHABLE


class SemanticCompression:
    r"""Compression of a vector over words to chi and sigma, and its reconstruction for other distances.

    Parameters
    ----------
    values : array_like, shape (n,)
        One number for each word.
    distances : array_like of int, shape (n,) or (k, n)
        The distances of each word to one label or to k: words with equal distances to all labels form a class.

    Notes
    -----
    A class that had no word when compressed has no mean in the paper.  Here it takes the mean of the nearest class, by
    the sum of the differences of the distances, and among equals of the class with more words; an unreachable label is
    farther than all distances together.

    Examples
    --------
    >>> compression = SemanticCompression([0.0, 1.0, 2.0, 5.0], [0, 3, 3, 4])
    >>> compression.chi([3, 0, 9]), compression.sigma([3, 0, 9])
    (array([1.5, 0. , 5. ]), array([0.25, 0.  , 0.  ]))
    """

    def __init__(self, values: Any, distances: Any) -> None:
        values = as_vector("values", values)
        keys = _keys(distances)
        if keys.shape[0] != values.size:
            raise ProgramError(f"distances must be of the {values.size} words in values, but of {keys.shape[0]} came")
        self.classes, classes = _distinct_rows(keys)
        self.sizes = np.bincount(classes)
        self.means = np.bincount(classes, values) / self.sizes
        self.variances = np.bincount(classes, (values - self.means[classes]) ** 2) / self.sizes

    def chi(self, distances: Any) -> np.ndarray:
        """Return the mean of each word's class, shape (words,)."""
        return self.means[self._class_of(distances)]

    def sigma(self, distances: Any) -> np.ndarray:
        """Return the variance of each word's class, shape (words,)."""
        return self.variances[self._class_of(distances)]

    def _class_of(self, distances: Any) -> np.ndarray:
        keys = _keys(distances)
        if keys.shape[1] != self.classes.shape[1]:
            raise ProgramError(f"distances must be to {self.classes.shape[1]} labels, but to {keys.shape[1]} came")
        asked, inverse = _distinct_rows(keys)
        far = 1 + (1 + keys.shape[1]) * max(int(asked.max()), int(self.classes.max()), 0)
        here, there = (np.where(key == UNREACHABLE, far, key) for key in (asked, self.classes))
        apart = np.abs(here[:, None] - there[None]).sum(axis=2)
        order = np.argsort(-self.sizes, kind="stable")
        nearest = order[apart[:, order].argmin(axis=1)]
        return nearest[inverse]


class GenerativeTransfer:
    r"""The generative transfer: chi_i and sigma_i of the means of two classes.

    Parameters
    ----------
    means : array_like, shape (2, n)
        Means of the classes of the training task, the smaller label's first.
    distances : array_like of int, shape (2, n)
        Distances of the words to the two labels, the smaller one first (`models.semantic_distances`).

    Examples
    --------
    >>> from models import BilevelClassifier
    >>> X, y = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], ["guns", "guns", "ships", "ships"]
    >>> transfer = GenerativeTransfer.from_samples(X, y, distances=[[2, 2, 7, 7], [7, 7, 2, 2]])
    >>> transfer.means([[7, 2, 2, 7], [2, 7, 7, 2]])
    array([[0.  , 0.75, 0.75, 0.  ],
           [0.75, 0.  , 0.  , 0.75]])
    >>> prior = transfer.prior([[7, 2, 2, 7], [2, 7, 7, 2]])
    >>> model = BilevelClassifier(prior).fit([[0, 1, 1, 0], [1, 0, 0, 1]], ["cats", "dogs"])
    >>> model.predict([[0, 1, 0, 0]])
    array(['cats'], dtype='<U4')
    """

    def __init__(self, means: Any, distances: Any) -> None:
        means = np.asarray(means, dtype=np.float64)
        if means.ndim != 2 or means.shape[0] != 2:
            raise ProgramError(f"means must have shape (2, n), but {means.shape} came")
        rows = _two_rows(distances)
        self.compressions = (SemanticCompression(means[0], rows[0]), SemanticCompression(means[1], rows[1]))

    @classmethod
    def from_samples(cls, X: Any, y: Any, distances: Any) -> GenerativeTransfer:
        """Return the transfer of the two classes' means over samples of the training task.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, n)
        y : array_like, shape (samples,)
            Two labels.
        distances : array_like of int, shape (2, n)
            Distances to the smaller label, and to the other.
        """
        return cls(class_means(X, y), distances)

    def means(self, distances: Any) -> np.ndarray:
        """Return mu_i^j = chi_i(l_i^j), shape (2, n), for a task whose labels have these `distances`."""
        return np.array([part.chi(row) for part, row in zip(self.compressions, _two_rows(distances))])

    def variances(self, distances: Any) -> np.ndarray:
        """Return sigma_i(l_i^j), shape (2, n), for a task whose labels have these `distances`."""
        return np.array([part.sigma(row) for part, row in zip(self.compressions, _two_rows(distances))])

    def prior(self, distances: Any, Sigma: Any = (1.0, 1.0)) -> GenerativePrior:
        """Return the prior of the other task for `BilevelClassifier`: t_i = chi_i, Omega_i = diag(sigma_i), `Sigma`.

        A class of a single word has variance zero: its mean is taken as known.
        """
        t, Omega = self.means(distances), self.variances(distances)
        return GenerativePrior((t[0], t[1]), (Omega[0], Omega[1]), Sigma)

    def hyperplane(self, distances: Any) -> tuple[np.ndarray, float]:
        """Return w and b of the other task by linear discriminant analysis; see `discriminant`."""
        return discriminant(self.means(distances))


class DiscriminativeTransfer:
    r"""The discriminative transfer: chi' of the coefficients of a hyperplane, by the distances to both labels.

    Parameters
    ----------
    w : array_like, shape (n,)
        Coefficients of the training task's hyperplane, positive on the side of the larger label.
    b : float
        Its intercept, which does not change: the paper transfers w alone.
    distances : array_like of int, shape (2, n)
        Distances to the two labels of the training task, the smaller first.

    Examples
    --------
    >>> transfer = DiscriminativeTransfer([-1.0, -2.0, 3.0, 3.0], 0.5, [[2, 2, 7, 7], [7, 7, 2, 2]])
    >>> transfer.hyperplane([[7, 2, 2, 7], [2, 7, 7, 2]])
    (array([ 3. , -1.5, -1.5,  3. ]), 0.5)
    """

    def __init__(self, w: Any, b: float, distances: Any) -> None:
        self.compression = SemanticCompression(w, _two_rows(distances))
        self.b = float(b)

    def hyperplane(self, distances: Any) -> tuple[np.ndarray, float]:
        """Return w^j = chi'(l_1^j, l_2^j) and b for a task whose labels have these `distances`."""
        return self.compression.chi(_two_rows(distances)), self.b


def class_means(X: Any, y: Any) -> np.ndarray:
    """Return the means of two classes, shape (2, n), the smaller label's first.

    Parameters
    ----------
    X : array or sparse matrix, shape (samples, n)
    y : array, two different labels

    Returns
    -------
    array, shape (2, n)

    Raises
    ------
    ProgramError
        `y` does not hold two labels, or one for each row of `X`.

    Examples
    --------
    >>> class_means([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], ["a", "a", "b"])
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    X = as_matrix(X, "class_means", sparse=True)
    classes, codes = as_labels(y, X.shape[0], "class_means")
    if classes.size != 2:
        raise ProgramError(f"y must hold two labels, but {classes.size} came")
    belongs = sp.csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=(2, codes.size))
    totals = belongs @ X
    return as_dense(totals) / np.bincount(codes)[:, None]


def discriminant(means: Any) -> tuple[np.ndarray, float]:
    r"""Return the hyperplane between two normal distributions with covariance I (section 2 of the paper).

        w = mu_2 - mu_1,   b = -(mu_2'mu_2 - mu_1'mu_1) / 2,   the second class where w'x + b > 0

    Parameters
    ----------
    means : array, shape (2, n)

    Returns
    -------
    w : array, shape (n,)
    b : float

    Raises
    ------
    ValueError
        `means` does not have two rows.

    Examples
    --------
    >>> discriminant([[0.0, 0.0], [2.0, 0.0]])
    (array([2., 0.]), -2.0)
    """
    first, second = np.asarray(means, dtype=np.float64)
    return second - first, float(-0.5 * (second @ second - first @ first))


def _keys(distances: Any) -> np.ndarray:
    """Return the distances of each word to all labels as rows, shape (words, labels)."""
    array = np.asarray(distances)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu" or array.size == 0 or (array < UNREACHABLE).any():
        raise ProgramError(
            f"distances must be whole numbers from {UNREACHABLE} (unreachable) up, of shape (n,) or (labels, n), but "
            f"{distances!r} came"
        )
    return np.atleast_2d(array).T.astype(np.int64)


def _distinct_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows in order, and the index of each row among them; much faster than `numpy.unique`."""
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    begins = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    which = np.empty(len(keys), dtype=np.int64)
    which[order] = np.cumsum(begins) - 1
    return ordered[begins], which


def _two_rows(distances: Any) -> np.ndarray:
    array = np.asarray(distances)
    if array.ndim != 2 or array.shape[0] != 2:
        raise ProgramError(f"distances must have shape (2, n), a row for each label, but {array.shape} came")
    return array
