"""Data for the tests of support vector machines, all deterministic."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine


def scaled(X):
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def two_classes(samples=60, features=4, noise=0.5, seed=0):
    """Return samples and labels of two classes separated by a plane, with some samples on the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features))
    w = rng.normal(size=features)
    return X, np.where(X @ w / np.linalg.norm(w) + noise * rng.normal(size=samples) > 0.1, 1, -1)


def separable(samples=40, features=3, gap=0.5, seed=0):
    """Return samples and labels of two classes, with no sample nearer than `gap` to the separating plane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features))
    X[:, 0] += np.where(X[:, 0] > 0, gap, -gap)
    return X, np.where(X[:, 0] > 0, 1, -1)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scaled(X), y


def wine(classes=2):
    X, y = load_wine(return_X_y=True)
    return scaled(X[y < classes]), y[y < classes]


def digits(*which):
    X, y = load_digits(return_X_y=True)
    rows = np.isin(y, which)
    return X[rows] / 16.0, y[rows]
