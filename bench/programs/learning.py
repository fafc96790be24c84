"""Generated programs of machine learning, reproducible to the bit from size and seed.

The size is the number of points or documents.  `models` formulates and solves such programs, and their data are drawn
here; the support vector machines on points are in `bench.programs.generate`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

import qp
import socp
from models.explanations.dual import Products
from models.kernels.kernel import Kernel
from models.programs.bilevel import Constants, Samples, hyperplane_program
from models.programs.discrimination import med_program
from models.programs.explanations import explained_dual
from models.programs.margins import primal_program

from . import generate

CONSTANTS = Constants(beta=0.2, phi=0.01, C1=1.0, C2=1.0, C3=math.inf)
"""Constants of the bilevel classifier in the paper's experiments."""


def ea_svm_cubic(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """Return the dual of the explanation-augmented SVM with the kernel (1 + u'v / d)^3; 2 size variables, P dense.

    An explained point v_i keeps the important features of x_i; the others are zero.
    """
    points, explained, labels = _explained_points(size, seed)
    every, kernel = np.arange(size), Kernel("poly", gamma=1.0 / points.shape[1], degree=3, coef0=1.0)
    return _ea_svm_dual(Products(points, explained, every, kernel).hessian(every, every, labels), labels)


def ea_svm_linear(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """Return the dual of the explanation-augmented SVM with phi(x) = x: P is LowRank with F = (diag(y) X; X - V)."""
    points, explained, labels = _explained_points(size, seed)
    return _ea_svm_dual(qp.LowRank(np.vstack([points * labels[:, None], points - explained])), labels)


def bilevel(size: int, seed: int = 0) -> socp.ConeProgram:
    """Return step 1 of the bilevel classifier on `size` sparse binary documents: fixed prior means, unit covariances.

    It has one second-order cone with one row more than words; 10 documents have 3,000 words, 1,000 have 8,000.
    """
    texts, labels, means = documents(np.random.default_rng(seed), size)
    samples = Samples(texts, labels, np.ones(size))
    return hyperplane_program(samples, means, (1.0, 1.0), CONSTANTS)[0].program()


def med_dual(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """Return the dual of maximum entropy discrimination for fixed E[gamma]: P of low rank.

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
    return med_program(qp.LowRank(statistics * labels[:, None]), np.ones(size), margins, c)


def svm_primal_documents(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """Return the primal of `models.SVC` with C = 1 on the documents of `bilevel`."""
    texts, labels, _ = documents(np.random.default_rng(seed), size)
    return primal_program(texts, labels, np.ones(size), bias=True)


CLASSES = generate.by_name(
    generate.svm_dual_rbf, generate.svm_dual_linear, ea_svm_cubic, ea_svm_linear, med_dual, generate.svm_primal,
    svm_primal_documents, bilevel,
)  # fmt: skip


def _explained_points(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two classes that differ in the first half of the features; return points, that half alone, and labels."""
    rng = np.random.default_rng(seed)
    points, labels = generate.two_classes(rng, size)
    important = np.arange(points.shape[1]) < max(1, points.shape[1] // 2)
    points[:, important] += labels[:, None] / np.sqrt(points.shape[1])
    return points, points * important, labels


def _ea_svm_dual(P: np.ndarray | qp.LowRank, labels: np.ndarray) -> qp.QuadraticProgram:
    one = np.ones(labels.size)
    return explained_dual(P, labels, one, 0.1 * one, "l1", bias=True)


def documents(rng: np.random.Generator, size: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Draw binary documents of about eighty words, their labels, and prior means of the two classes, -1 first.

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
