"""The few coordinates in which step 1 of the bilevel classifier is solved.

Let G be a group of coordinates on which Sigma_1 and Sigma_2 are multiples of the identity (all coordinates when both
are scalar). A part of w_G that is orthogonal to all documents and means lengthens ||w|| and ||Sigma_i^(1/2) w|| and
moves no document, so the solution has w_G in their span: with an orthonormal basis Q_G of it, w_G = Q_G u_G, and all
norms are norms of u.  A group has at most (documents + 2) such coordinates; (documents + 4) if step 1 chooses radii.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from ..base.validation import as_dense
from .prior import GenerativePrior

MOST_SHARE = 0.5  # largest size of a basis that pays, relative to the number of features
MOST_SPARSE = 500  # most sparse documents for which a basis makes the engine faster
INDEPENDENT = 1e-12  # relative to the longest row: what is left of a row that counts as independent of others
MOST_DENSE = 2e7  # most numbers in the dense basis of sparse documents


class Features:
    """Coordinates u = w of all n features."""

    def __init__(self, X: Any, prior: GenerativePrior, vectors: int = 2) -> None:
        self.documents, self.vectors = X, vectors
        self.size = prior.n
        self.roots = [S.root if S.kind == "scalar" else S.root_matrix() for S in prior.Sigma]

    def means(self, mu: np.ndarray) -> np.ndarray:
        """Return the coordinates of the means `mu`, which are the means themselves."""
        return mu

    def weights(self, u: np.ndarray) -> np.ndarray:
        """Return w with the coordinates u."""
        return u


class Span:
    """Coordinates in the span of the documents and a few vectors, a basis for every group of features."""

    def __init__(self, X: Any, prior: GenerativePrior, groups: list[np.ndarray], vectors: int = 2) -> None:
        samples, self.n = X.shape
        self.groups, self.vectors = groups, vectors
        self.bases: list[np.ndarray | None] = []  # orthonormal basis of each group; None: its own features
        parts, self.starts = [], [0]
        for group in groups:
            part = as_dense(X[:, group])
            if group.size <= samples + vectors:
                self.bases.append(None)
            else:
                #  X_G' = Q R: the documents have the coordinates R', and each vector adds at most one coordinate;
                #  words that occur in no document are rows of zeros in Q
                used = np.flatnonzero(part.any(axis=0))
                q, R = np.linalg.qr(part[:, used].T)
                Q = np.zeros((group.size, R.shape[0] + vectors))
                Q[used, :-vectors] = q
                self.bases.append(Q)
                part = np.hstack([R.T, np.zeros((samples, vectors))])
            parts.append(part)
            self.starts.append(self.starts[-1] + part.shape[1])
        self.documents = np.hstack(parts)
        self.size = self.starts[-1]
        self.roots = [self._root(S) for S in prior.Sigma]

    def _root(self, S: Any) -> Any:
        if S.kind == "scalar":
            return S.root
        sizes = np.diff(self.starts)
        return sp.csr_array(sp.diags_array(np.repeat([S.root[group[0]] for group in self.groups], sizes)))

    def means(self, mu: np.ndarray) -> np.ndarray:
        """Return the coordinates of the vectors `mu`; their components outside the documents' span extend the bases."""
        found = np.zeros((len(mu), self.size))
        for group, Q, start, end in zip(self.groups, self.bases, self.starts, self.starts[1:]):
            if Q is None:
                found[:, start:end] = mu[:, group]
                continue
            Q[:, -self.vectors :] = 0.0
            for k, column in enumerate(range(-self.vectors, len(mu) - self.vectors)):
                rest = mu[k, group].copy()
                for _ in range(2):  # Gram-Schmidt twice is orthogonal up to rounding
                    rest -= Q @ (Q.T @ rest)
                length = np.linalg.norm(rest)
                if length > 1e-12 * np.linalg.norm(mu[k, group]):
                    Q[:, column] = rest / length
            found[:, start:end] = mu[:, group] @ Q
        return found

    def weights(self, u: np.ndarray) -> np.ndarray:
        """Return w with the coordinates u."""
        w = np.empty(self.n)
        for group, Q, start, end in zip(self.groups, self.bases, self.starts, self.starts[1:]):
            w[group] = u[start:end] if Q is None else Q @ u[start:end]
        return w


def row_basis(D: Any) -> np.ndarray:
    """Return orthonormal rows that span the rows of D."""
    Q, R, _ = qr(as_dense(D).T, mode="economic", pivoting=True)
    sizes = np.abs(R.diagonal())
    return np.asarray(Q[:, sizes > INDEPENDENT * max(sizes.max(initial=0.0), 1e-300)].T)


def choose_coordinates(X: Any, prior: GenerativePrior, vectors: int = 2) -> Features | Span:
    """Return the span if it is much smaller than the features and makes the engine faster, else the features.

    `vectors` counts the two means and, if step 1 chooses their radii, the two directions.

    A full Sigma that is no multiple of the identity has no such groups: w = (a I + b_1 Sigma_1 + b_2 Sigma_2)^(-1) v
    with v in the span and multipliers a, b that are not known before.
    """
    samples, n = X.shape
    if any(S.kind == "full" for S in prior.Sigma):
        return Features(X, prior, vectors)
    groups = _groups(prior)
    size = sum(min(group.size, samples + vectors) for group in groups)
    pays = size <= MOST_SHARE * n and (not sp.issparse(X) or (samples <= MOST_SPARSE and samples * n <= MOST_DENSE))
    return Span(X, prior, groups, vectors) if pays else Features(X, prior, vectors)


def _groups(prior: GenerativePrior) -> list[np.ndarray]:
    """Return the indices of the features, grouped by their pair of variances."""
    if all(S.kind == "scalar" for S in prior.Sigma):
        return [np.arange(prior.n)]
    pairs = np.stack([np.broadcast_to(S.value, (prior.n,)) for S in prior.Sigma], axis=1)
    _, which = np.unique(pairs, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    return np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
