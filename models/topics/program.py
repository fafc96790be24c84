r"""The support vector machine of several classes (Crammer and Singer 2001) in the maximum entropy topic model.

    min  1/2 |eta|^2 + sum_d C_d xi_d
    s.t. (eta_{y_d} - eta_y)'z_d >= 1 - xi_d   for every y other than y_d,   xi >= 0

and its dual, eta = F'mu, the row (d, y) of F being +z_d in the block of y_d and -z_d in that of y:

    min  1/2 |F'mu|^2 - 1'mu   s.t.   sum_y mu_dy <= C_d,   mu >= 0
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import qp

from ..svm.margin import product_of


def contrasts(shares: np.ndarray, codes: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F, and d and y of its rows.

    Parameters
    ----------
    shares : array, shape (documents, topics)
        z_d.
    codes : array of int, shape (documents,)
        y_d.
    """
    number, topics = shares.shape
    owner = np.repeat(np.arange(number), classes - 1)
    other = np.array([[y for y in range(classes) if y != c] for c in codes]).ravel()
    blocks = np.zeros((owner.size, classes, topics))
    rows = np.arange(owner.size)
    blocks[rows, codes[owner]] = shares[owner]
    blocks[rows, other] = -shares[owner]
    return blocks.reshape(owner.size, -1), owner, other


def crammer_singer_dual(F: np.ndarray, owner: np.ndarray, C: np.ndarray) -> qp.QuadraticProgram:
    """The dual; where every document has one row, its sum is a bound."""
    p, alone = qp.Blocks(mu=owner.size), owner.size == C.size
    p.minimize(mu=-1.0, quadratic={"mu": product_of(F)})
    if not alone:
        p.at_most(C, mu=sp.csr_array((np.ones(owner.size), (owner, np.arange(owner.size))), (C.size, owner.size)))
    p.bounds(mu=(0.0, C if alone else None))
    return p.program()
