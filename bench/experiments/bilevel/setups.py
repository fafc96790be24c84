"""Set-ups of the bilevel classifier's experiments (Epshteyn and DeJong 2006, section 5) and the posts that a run draws.

A set-up is a training task, from which the prior is learned through WordNet, and a test task, of which a few posts are
given.  What the paper leaves open, and what is done here:

- The labels of a task stand in the order in which the paper lists the newsgroups; class 1 of the training task lends
  its chi_1 to class 1 of the test task, and class 2 to class 2.
- Posts are drawn at random from both parts of the by-date split.  If a sample has posts of one class only, the first
  post of the other class replaces its last.  A post that belongs to both tasks may be used for the prior and tested
  on: the prior keeps only averages over classes of words.

The text "with Newsgroups:" was added after results on the by-date text were seen, to find out why they differ from the
paper: the by-date copy has no header line that names the newsgroup.  No constant was chosen on either text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import SVC, BilevelClassifier, GenerativePrior, GenerativeTransfer

from ..frame.experiment import Experiment
from .nouns import GROUPS, NounPosts, Task, noun_posts

BY_DATE, WITH_LINE = "by-date", "with Newsgroups:"
TEXTS = (BY_DATE, WITH_LINE)

FIRST: tuple[Task, Task] = (("atheism", "guns"), ("guns", "mideast"))
"""Tasks of experiment 1, on which the paper chose its constants."""

CONSTANTS: dict[str, Any] = {"beta": 0.2, "phi": 0.01, "C1": 1.0, "C2": 1.0}
"""Constants of the bilevel classifier; C_3 is infinite."""

UNUSED = 1000
"""First seed of the draws on which constants are chosen."""

Hyperplane = tuple[np.ndarray, float]

SHARE_OF_TRAINING = 0.9
C_OF_MACHINE = 0.5
"""C of the SVM: 1 / (2 C_1) with C_1 = 1 as in (5.1), where C_1 weights the margin and not the error."""


@dataclass(frozen=True)
class Draw:
    """Posts of one run: posts of the training task, and fitted and held-out posts of the test task."""

    posts: NounPosts
    train: Task
    test: Task
    trained: np.ndarray
    fitted: np.ndarray
    held_out: np.ndarray

    @property
    def samples(self) -> tuple[Any, np.ndarray]:
        """Fitted posts and their signs."""
        return self.posts.X[self.fitted], self.posts.signs(self.test, self.fitted)

    def prior(self) -> GenerativePrior:
        """Return t_i = chi_i, Omega_i = diag(sigma_i) and Sigma_i = I, carried from the training to the test task."""
        X, y = self.posts.X[self.trained], self.posts.signs(self.train, self.trained)
        transfer = GenerativeTransfer.from_samples(X, y, self.posts.distances_of(self.train))
        return transfer.prior(self.posts.distances_of(self.test))

    def fit_bilevel(self, prior: GenerativePrior, **constants: float) -> Hyperplane:
        """Return w and b of the bilevel classifier, with the paper's constants where none are given."""
        model = BilevelClassifier(prior, **{**CONSTANTS, **constants}).fit(*self.samples)
        return model.coef_[0], float(model.intercept_[0])

    def fit_machine(self) -> Hyperplane:
        """Return w and b of the support vector machine (5.1)."""
        machine = SVC(C=C_OF_MACHINE, kernel="linear").fit(*self.samples)
        return machine.coef_[0], float(machine.intercept_[0])

    def accuracy(self, hyperplane: Hyperplane) -> float:
        """Return `accuracy` on the posts that were not fitted."""
        return accuracy(self.posts, self.test, self.held_out, hyperplane)


class OnNewsgroups(Experiment):
    """Base of the bilevel classifier's experiments: the posts of some labels in both texts."""

    repeats = 100
    labels: tuple[str, ...] = ("atheism", "guns", "mideast")

    def prepare(self, data: str | None, quick: bool) -> dict[str, NounPosts]:
        posts = noun_posts(data, self.labels)
        return {BY_DATE: posts, WITH_LINE: with_newsgroups_line(posts)}


def setups(labels: tuple[str, ...]) -> list[tuple[Task, Task]]:
    """Return all pairs of different tasks: thirty for four labels, six for three.

    Examples
    --------
    >>> len(setups(("a", "b", "c", "d"))), setups(("a", "b", "c"))[0]
    (30, (('a', 'b'), ('a', 'c')))
    """
    tasks = list(combinations(labels, 2))
    return [(train, test) for train in tasks for test in tasks if train != test]


def with_newsgroups_line(posts: NounPosts) -> NounPosts:
    """Return the posts with the words of their newsgroup's name added, if they are nouns of the vocabulary."""
    place = {word: k for k, word in enumerate(posts.nouns.tolist())}
    pairs = [
        (row, place[word])
        for row, label in enumerate(posts.label.tolist())
        for word in GROUPS[label].split(".")
        if word in place
    ]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    X = sp.csr_array(posts.X + sp.csr_array((np.ones(rows.size), (rows, columns)), shape=posts.X.shape))
    X.data[:] = 1.0
    return replace(posts, X=X)


def draw(posts: NounPosts, train: Task, test: Task, size: int | float, seed: int) -> Draw:
    """Draw a share or number of the test task's posts to fit, the rest to test, and 90 % of the training task's posts.

    The samples of one seed are nested.
    """
    rng = np.random.default_rng(seed)
    everything = rng.permutation(posts.label.size)
    trained = posts.of(train, everything)
    trained = trained[: round(SHARE_OF_TRAINING * trained.size)]
    pool = posts.of(test, rng.permutation(posts.label.size))
    count = size if isinstance(size, int) else round(size * pool.size)
    signs = posts.signs(test, pool)
    if abs(signs[:count].sum()) == count:
        other = int(np.flatnonzero(signs != signs[0])[0])
        pool[[count - 1, other]] = pool[[other, count - 1]]
    return Draw(posts, train, test, trained, pool[:count], pool[count:])


def accuracy(posts: NounPosts, test: Task, tested: np.ndarray, hyperplane: Hyperplane) -> float:
    """Return the share of posts on their side of the hyperplane, in percent."""
    w, b = hyperplane
    return 100.0 * float(np.mean((posts.X[tested] @ w + b > 0.0) == (posts.signs(test, tested) > 0)))


def in_words(train: Task, test: Task) -> str:
    """Return a set-up as a title.

    Examples
    --------
    >>> in_words(*FIRST)
    'atheism/guns to guns/mideast'
    """
    return f"{'/'.join(train)} to {'/'.join(test)}"
