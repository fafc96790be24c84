"""The coordinates of step 1 preserve inner products and lengths, whatever the groups and vectors."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import GenerativePrior
from models.bilevel import span as module
from models.bilevel.span import Features, Span, choose_coordinates


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_products_and_lengths_are_those_of_the_features(form):
    rng = np.random.default_rng(0)
    variances = rng.permutation(np.repeat([1.0, 2.0, 0.5], [40, 3, 17]))
    X = rng.normal(size=(4, 60)) * (rng.random((4, 60)) < 0.5)
    prior = GenerativePrior(rng.normal(size=(2, 60)), (1.0, 1.0), (variances, 3.0))
    span = choose_coordinates(form(X), prior)
    assert isinstance(span, Span) and span.size == 6 + 3 + 6  # of three features there is no basis
    for mu in (rng.normal(size=(2, 60)), np.array([X[0], X[1] + X[2]]), rng.normal(size=(1, 60)), prior.t):
        found, u = span.means(np.array(mu)), rng.normal(size=span.size)
        w = span.weights(u)
        np.testing.assert_allclose(span.documents @ u, X @ w, atol=1e-12)
        np.testing.assert_allclose(found @ u, np.array(mu) @ w, atol=1e-12)
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(u), rel=1e-12)
    for root, deviations in zip(span.roots, (np.sqrt(variances), np.sqrt(3.0))):
        other = root * u if np.isscalar(root) else root @ u
        assert np.linalg.norm(other) == pytest.approx(np.linalg.norm(deviations * w), rel=1e-12)


def test_a_basis_is_chosen_where_it_pays(monkeypatch):
    def chosen(samples, n, form=np.ones, Sigma=(1.0, 1.0), vectors=2):
        X = sp.csr_array(np.ones((samples, n))) if form == "sparse" else np.ones((samples, n))
        return type(choose_coordinates(X, GenerativePrior(np.zeros((2, n)), (1.0, 1.0), Sigma), vectors))

    assert chosen(4, 12) is Span and chosen(4, 11) is Features and chosen(4, 12, vectors=4) is Features
    assert chosen(4, 12, Sigma=(np.eye(12) + 0.1, 1.0)) is Features
    assert chosen(2, 12, Sigma=(np.repeat([1.0, 2.0], 6), 1.0)) is Features  # four of each, together more than half
    for name, most, less in (("MOST_SPARSE", 4, 3), ("MOST_DENSE", 48, 47)):
        monkeypatch.setattr(module, name, most)
        assert chosen(4, 12, "sparse") is Span
        monkeypatch.setattr(module, name, less)
        assert chosen(4, 12, "sparse") is Features and chosen(4, 12) is Span
        monkeypatch.undo()
