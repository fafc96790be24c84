"""Programs that learning makes, as generated data: the same bits for the same size and seed.

The size is the number of points or documents.  The support vector machines' duals and primal on points are those of
`bench.programs.generate`; the others follow their papers:

    Sun and DeJong 2005          explanation-augmented support vector machine, section 2.2
    Epshteyn and DeJong 2006     bilevel classifier with a generative prior, step 1 of (4.17)-(4.24)
    Li et al. 2013               maximum entropy discrimination, (19)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import qp
import socp
from models.bilevel.programs import Constants, Samples, hyperplane_program

from ..answers.verify import Program
from . import generate

CONSTANTS = Constants(beta=0.2, phi=0.01, C1=1.0, C2=1.0, C3=math.inf)
"""Those of the bilevel classifier in the paper's experiments."""


def ea_svm_cubic(size: int, seed: int = 0) -> qp.QuadraticProgram:
    r"""The dual of the explanation-augmented SVM with the kernel (1 + u'v / d)^3; 2 size variables, P dense.

    ::

        min  1/2 ||sum a_i y_i phi(x_i) + sum l_i (phi(x_i) - phi(v_i))||^2 - 1'a
        s.t. y'a = 0,  0 <= a <= C,  -Q <= l <= Q

    An explained point v_i keeps the important features of x_i; the others are zero.  (The paper's L_D has the
    other sign at the cross term, which is the same program in -l.)
    """
    points, explained, labels = _explained_points(size, seed)
    both = np.vstack([points, explained])
    kernel = (1.0 + both @ both.T / points.shape[1]) ** 3
    #  the map (a, l) -> coefficients of (phi(x), phi(v))
    one = np.eye(size)
    spread = np.block([[np.diag(labels), one], [np.zeros((size, size)), -one]])
    P = spread.T @ kernel @ spread
    return _ea_svm_dual(0.5 * (P + P.T), labels)


def ea_svm_linear(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """The same with phi(x) = x: P of low rank, its factor (diag(y) X; X - V)."""
    points, explained, labels = _explained_points(size, seed)
    return _ea_svm_dual(qp.LowRank(np.vstack([points * labels[:, None], points - explained])), labels)


def bilevel(size: int, seed: int = 0) -> socp.ConeProgram:
    r"""Step 1 of the bilevel classifier on `size` sparse binary documents, prior means fixed, covariances identity.

    ::

        min  rho + C_1 1'xi + C_2 (zeta_1 + zeta_2)
        s.t. rho >= ||w||,  y_i (w'x_i + b) >= 1 - xi_i,  xi >= 0,  zeta >= 0
             -(w'mu_1 + b) / beta >= ||w|| - zeta_1,   (w'mu_2 + b) / beta >= ||w|| - zeta_2

    One second-order cone of one row more than there are words: 3,000 words for 10 documents, 8,000 for 1,000.
    """
    texts, labels, means = documents(np.random.default_rng(seed), size)
    samples = Samples(texts, labels, np.ones(size))
    return hyperplane_program(samples, means, (1.0, 1.0), CONSTANTS)[0].program()


def med_dual(size: int, seed: int = 0) -> qp.QuadraticProgram:
    r"""The dual of maximum entropy discrimination without its log barrier: P of low rank.

    ::

        min  1/2 ||sum l_t y_t E[phi_t]||^2 - sum l_t E[gamma_t]   s.t.   0 <= l <= c

    E[phi] are the expected sufficient statistics (r_k, r_k x) of a mixture of four normals in eight
    dimensions, E[gamma] = 1 - 1 / (c - l_before) the expected margins of the round before, with c = 5.
    """
    rng = np.random.default_rng(seed)
    c, dim, components = 5.0, 8, 4
    labels = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    centres = 2.0 * rng.normal(size=(components, dim))
    points = centres[rng.integers(components, size=size)] + rng.normal(size=(size, dim)) + 0.3 * labels[:, None]
    logarithms = -0.5 * ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    statistics = np.hstack([shares, (shares[:, :, None] * points[:, None, :]).reshape(size, -1)])
    before = np.where(rng.random(size) < 0.5, 0.0, rng.uniform(0.0, 0.8 * c, size))
    margins = 1.0 - 1.0 / (c - before)
    return qp.QuadraticProgram(qp.LowRank(statistics * labels[:, None]), -margins, lb=0.0, ub=c)


def svm_primal_documents(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||w||^2 + C 1'xi with y_i (w'x_i + b) >= 1 - xi_i, xi >= 0 on the documents of `bilevel`."""
    texts, labels, _ = documents(np.random.default_rng(seed), size)
    words = texts.shape[1]
    #  x = (w, b, xi)
    return qp.QuadraticProgram(
        sp.diags_array(np.concatenate([np.ones(words), np.zeros(1 + size)])),
        np.concatenate([np.zeros(words + 1), np.ones(size)]),
        sp.hstack([sp.diags_array(labels) @ texts, sp.csr_array(labels[:, None]), sp.eye_array(size)]),
        1.0,
        None,
        np.concatenate([np.full(words + 1, -np.inf), np.zeros(size)]),
    )


CLASSES: dict[str, Callable[[int, int], Program]] = {
    "svm_dual_rbf": generate.svm_dual_rbf,
    "svm_dual_linear": generate.svm_dual_linear,
    "ea_svm_cubic": ea_svm_cubic,
    "ea_svm_linear": ea_svm_linear,
    "med_dual": med_dual,
    "svm_primal": generate.svm_primal,
    "svm_primal_documents": svm_primal_documents,
    "bilevel": bilevel,
}


def _explained_points(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes that differ in the first half of the features, and the points with that half alone."""
    rng = np.random.default_rng(seed)
    points, labels = generate.two_classes(rng, size)
    important = np.arange(points.shape[1]) < max(1, points.shape[1] // 2)
    points[:, important] += labels[:, None] / np.sqrt(points.shape[1])
    return points, points * important, labels


def _ea_svm_dual(P: np.ndarray | qp.LowRank, labels: np.ndarray, C: float = 1.0, Q: float = 0.1) -> qp.QuadraticProgram:
    size = labels.size
    ones, zeros = np.ones(size), np.zeros(size)
    return qp.QuadraticProgram(
        P,
        np.concatenate([-ones, zeros]),
        np.concatenate([labels, zeros])[None, :],
        0.0,
        0.0,
        np.concatenate([zeros, -Q * ones]),
        np.concatenate([C * ones, Q * ones]),
    )


def documents(rng: np.random.Generator, size: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Binary documents of about eighty words, their labels, and prior means of the two classes, -1 first.

    The vocabulary grows with the documents (Heaps), words are as frequent as 1 / (rank + 10) (Zipf), each class
    prefers some of them, and the prior knows the frequencies up to a factor.
    """
    words = round(3000 * (size / 10) ** 0.213)
    labels = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    frequent = 1.0 / (np.arange(words) + 10.0)
    tilt = rng.normal(size=words)
    chances = []
    for side in (-0.5, 0.5):
        share = frequent * np.exp(side * tilt)
        chances.append(np.minimum(80.0 * share / share.sum(), 0.9))
    means = np.array(chances) * np.exp(0.3 * rng.normal(size=(2, words)))
    drawn = rng.random((size, words)) < np.where(labels[:, None] < 0, chances[0], chances[1])
    return sp.csr_array(drawn.astype(float)), labels, means
