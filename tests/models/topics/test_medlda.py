"""Max-margin topics: tilted posteriors by definition, the dual against cvxpy, topics that tell classes apart."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import digamma

import qp
from models import LatentDirichletAllocation, MedLDA
from models.base.copies import merge_copies
from models.topics import medlda
from models.topics.medlda import Margins
from tests.support.topic_models import bound_by_definition

cvxpy = pytest.importorskip("cvxpy")


def labelled(documents=60, classes=2, seed=0, words=20, topics=4, length=30):
    """Return documents of which a fifth of the words is drawn from their class, the rest from common topics; labels."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(words, 0.5), topics)
    own = rng.dirichlet(np.full(words, 0.2), classes)
    y = np.arange(documents) % classes
    shares = rng.dirichlet(np.full(topics, 0.3), documents)
    return np.array([rng.multinomial(length, 0.8 * s @ common + 0.2 * own[c]) for s, c in zip(shares, y)]), y


@pytest.mark.parametrize("classes, documents", [(2, 12), (2, 60), (4, 16), (3, 60)])
def test_the_dual_is_the_machine_of_crammer_and_singer(classes, documents):
    rng = np.random.default_rng(1)
    shares, codes = rng.dirichlet(np.ones(3), documents), np.arange(documents) % classes
    dual = Margins(shares, codes, classes, C=2.0)
    eta, slack = cvxpy.Variable((classes, 3)), cvxpy.Variable(documents, nonneg=True)
    margins = [
        (eta[c] - eta[y]) @ share >= 1 - slack[d]
        for d, (share, c) in enumerate(zip(shares, codes))
        for y in range(classes)
        if y != c
    ]
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(eta) + 2.0 * cvxpy.sum(slack)), margins)
    problem.solve(solver=cvxpy.CLARABEL)
    assert dual.primal(dual.eta) == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(dual.eta, eta.value, atol=1e-4)
    d = 1
    differences = [dual.multipliers[k] * (dual.eta[codes[d]] - dual.eta[dual.other[k]]) for k in range(len(dual.owner))]
    np.testing.assert_allclose(
        dual.directions()[d], sum(v for v, own in zip(differences, dual.owner) if own == d), atol=1e-12
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_learning_lowers_the_objective_and_topics_tell_the_classes_apart(classes):
    X, y = labelled(120, classes)
    train, test = slice(0, None, 2), slice(1, None, 2)
    if classes == 2:  # every second document would be of one class
        train, test = slice(0, 60), slice(60, None)
    model = MedLDA(5, random_state=0).fit(X[train], y[train])
    assert model.objectives_.min() < model.objectives_[0] - 1.0
    plain = LatentDirichletAllocation(5, random_state=0).fit(X[train])
    documents = plain._documents(X[train].astype(float))
    shares = (plain._infer(documents)[0] - plain.doc_topic_prior_) / 30
    dual = Margins(shares, y[train], classes, 10.0)
    accuracy = (dual.codes == (shares @ dual.eta.T).argmax(axis=1)).mean()
    assert model.score(X[train], y[train]) >= accuracy
    assert model.score(X[test], y[test]) > 1.3 / classes
    assert model.decision_function(X).shape == ((120,) if classes == 2 else (120, 3))


def test_the_first_objective_is_that_of_plain_topics():
    X, y = labelled()
    model = MedLDA(3, max_iter=1, random_state=0).fit(X, y)
    first, _, _ = merge_copies(X, y, np.ones(len(y)))  # the start depends on the order of the documents
    assert first.size == len(y)
    X, y = X[first], y[first]
    plain = LatentDirichletAllocation(3, random_state=0)._fit(X, np.ones(len(y)))
    documents = plain._documents(X.astype(float))
    gamma, _, _ = plain._infer(documents)
    topics, prior, bound = plain.components_, plain.doc_topic_prior_, 0.0
    for counts, own in zip(X, gamma):  # the objective by its definition, and the machine by another solver
        phi = np.exp(digamma(own)) * topics.T
        bound += bound_by_definition(counts, topics, prior, own, phi / phi.sum(axis=1, keepdims=True))
    shares, eta = (gamma - prior) / 30, cvxpy.Variable((2, 3))
    gains = cvxpy.multiply(np.where(y == 1, 1.0, -1.0), shares @ (eta[1] - eta[0]))
    loss = 0.5 * cvxpy.sum_squares(eta) + model.C * cvxpy.sum(cvxpy.pos(1 - gains))
    machine = cvxpy.Problem(cvxpy.Minimize(loss)).solve(solver=cvxpy.CLARABEL)
    prior_of_topics = plain.topic_word_prior * np.log(topics).sum()
    assert model.objectives_[0] == pytest.approx(machine - bound - prior_of_topics, rel=1e-6)
    assert model.objectives_.size == 2


def test_the_tilt_is_the_slope_of_the_machine_in_the_counts_of_a_document(monkeypatch):
    X, y = labelled()
    X[::3] *= 2  # documents of unlike lengths
    weights, seen, made, infer = 1.0 + np.arange(60) % 4, [], [], LatentDirichletAllocation._infer

    class Kept(Margins):
        def __init__(self, *given):
            super().__init__(*given)
            made.append((self, given))

    def kept(topics, documents, *given, tilt=None, **more):
        seen.append((documents, given, tilt))
        return infer(topics, documents, *given, **more) if tilt is None else infer(topics, documents, *given, tilt=tilt)

    monkeypatch.setattr(medlda, "Margins", Kept)
    monkeypatch.setattr(LatentDirichletAllocation, "_infer", kept)
    MedLDA(3, max_iter=1, random_state=0).fit(X, y, sample_weight=weights)
    documents, (_, own), tilt = seen[-1]
    shares, codes, classes, C, _ = made[0][1]
    direction, step = np.random.default_rng(0).normal(size=shares.shape), 1e-6
    ends = [Margins(shares + side * step * direction, codes, classes, C) for side in (1.0, -1.0)]
    slope = (ends[0].primal(ends[0].eta) - ends[1].primal(ends[1].eta)) / (2.0 * step)
    lengths = np.asarray(documents.sum(axis=1)).ravel()
    assert -((own * lengths)[:, None] * tilt * direction).sum() == pytest.approx(slope, rel=1e-4)
    assert np.unique(own).size == 4 and np.unique(lengths).size > 1


def test_a_machine_that_stays_short_is_told_of(monkeypatch):
    stopped = lambda *given, **settings: qp.Solver(*given, **{**settings, "max_iter": 1})  # noqa: E731
    monkeypatch.setattr("models.margins.dual.qp", SimpleNamespace(**{**vars(qp), "Solver": stopped}))
    with pytest.warns(UserWarning, match="MedLDA: the program ended as 'max_iterations'"):
        MedLDA(3, max_iter=1, random_state=0).fit(*labelled())
