"""Products of second-order cones: their product, eigenvalues, scaling, and the step to their boundary.

K is a product of second-order cones {(u0, u1): ||u1|| <= u0}; an entry of an orthant is a cone of dimension 1.  The
Jordan algebra of K (Alizadeh and Goldfarb, "Second-order cone programming", 2003) has in each factor the product
u o v = (u'v, u0 v1 + v0 u1), the unit e = (1, 0), the eigenvalues u0 +- ||u1||, and their product det(u).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..problem.program import NonNeg, SecondOrder


class Cone:
    """Product cone K, as one slice of a vector for each factor."""

    def __init__(self, cones: Sequence[NonNeg | SecondOrder]) -> None:
        sizes = [size for k in cones for size in ([1] * k.dim if isinstance(k, NonNeg) else [k.dim]) if size]
        ends = np.cumsum(sizes, dtype=int)
        self.blocks = [slice(end - size, end) for size, end in zip(sizes, ends)]
        self.dim, self.degree = sum(sizes), len(sizes)
        self.e = np.zeros(self.dim)
        self.e[[k.start for k in self.blocks]] = 1.0

    def depth(self, u: np.ndarray) -> float:
        """Return the smallest eigenvalue of u: positive in the interior of K, negative outside K."""
        return min((u[k][0] - np.linalg.norm(u[k][1:]) for k in self.blocks), default=np.inf)

    def arrow(self, u: np.ndarray) -> np.ndarray:
        """Return the matrix of the linear map v -> u o v."""
        matrix = np.zeros((self.dim, self.dim))
        for k in self.blocks:
            matrix[k, k] = u[k][0] * np.eye(u[k].size)
            matrix[k.start, k] = matrix[k, k.start] = u[k]
        return matrix

    def longest_step(self, u: np.ndarray, du: np.ndarray) -> float:
        """Return the largest alpha with u + alpha du in K, u inside: -1 / the least eigenvalue of du relative to u."""
        smallest = 0.0
        for k in self.blocks:
            root = np.sqrt(det(u[k]))
            unit, d = u[k] / root, du[k] / root
            d0 = unit[0] * d[0] - unit[1:] @ d[1:]
            d1 = d[1:] - (d0 + d[0]) / (1.0 + unit[0]) * unit[1:]
            smallest = min(smallest, d0 - np.linalg.norm(d1))
        return -1.0 / smallest if smallest < 0.0 else np.inf

    def scaling(self, s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Nesterov-Todd scaling, the W = W' of K onto itself with W z = W^-1 s, and its inverse."""
        W, W_inv = np.zeros((self.dim, self.dim)), np.zeros((self.dim, self.dim))
        for k in self.blocks:
            e = self.e[k]
            J = 2.0 * np.outer(e, e) - np.eye(e.size)
            root_s, root_z = np.sqrt(det(s[k])), np.sqrt(det(z[k]))
            w = s[k] / root_s + J @ z[k] / root_z
            w /= np.sqrt(det(w))
            V = np.outer(w + e, w + e) / (1.0 + w[0]) - J
            W[k, k] = np.sqrt(root_s / root_z) * V
            W_inv[k, k] = np.sqrt(root_z / root_s) * (J @ V @ J)
        return W, W_inv


def det(u: np.ndarray) -> float:
    """Return the product of the two eigenvalues of u."""
    tail = np.linalg.norm(u[1:])
    return (u[0] - tail) * (u[0] + tail)
