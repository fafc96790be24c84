"""score-space-topics: score spaces of topic models on text (Li et al. 2013, Table 3 and Figure 2).

Written before the posts were drawn.  The words are the most frequent of those that at most a quarter of the training
posts have.  Max-margin topics (MedLDA) and the SVM on the words are compared with the paper's methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from models import (
    FisherScore,
    FreeEnergyScore,
    LatentDirichletAllocation,
    MaxMarginScoreSpace,
    MedLDA,
    SufficientStatistics,
)

from ...compare.tables import Table
from ...data.newsgroups import SOURCE, newsgroups
from ...data.text import cached_tokens, tokenize
from ..frame.experiment import Experiment, Parameters, Part, Protocol, Result, Trial, Verdict, verdict_of
from ..frame.shares import draw_lines, panels
from .score_space import Cells, accuracy_by_svm, by_setup, gain_part, gain_shown, scored, shown_accuracy, tuned

GROUPS = ("sci.crypt", "sci.electronics", "sci.med", "sci.space")
WORDS, LARGEST_SHARE = 300, 0.25
POSTS, TESTED, SIZES = 50, 100, (10, 25)
TOPICS, LEARNED, FEW, MANY = (5, 10, 20, 50, 100), 20, 10, 50
METHODS = ("words", "Med-LDA", "FS", "FESS", "SS", "MSS", "MSS pair")
PRINTED = {"Med-LDA": "81.05", "FS": "78.68", "FESS": "81.92", "SS": "79.25", "MSS": "83.64"}
Posts = tuple[sp.csr_array, np.ndarray]


class TopicScores(Experiment):
    """Experiment of Table 3 and Figure 2 of Li et al. 2013, on text."""

    name = "score-space-topics"
    rivals = METHODS
    before = (
        "in part",
        "All methods choose their topics alike, by the other samples; five samples have Student's t.",
    )
    title = "Score spaces of topic models"
    source = "Li, Wang, Liu and Lee 2013, Table 3 and Figure 2"
    claim = (
        "With latent Dirichlet allocation MSS with 10 topics is the best of all methods on three sets of images; SS "
        "with 50 is slightly below the free energy and slightly above the Fisher score. MSS works well with few topics."
    )
    protocol = Protocol(
        paper="Images of 8 to 15 scenes as 200 visual words; 20 rounds of random training sets (70 or 100 images a "
        "class, or 5 %); topics by collapsed Gibbs sampling; 10 topics for MSS, 50 for the others; libsvm.",
        ours="Posts of four newsgroups as 300 words; 5 random training sets of 50 posts a class, 100 a class to test; "
        "5 to 100 topics (MSS to 20), and 10 to 50 posts a class; variational inference.",
        differences="Text, as the images are not to be had; MSS by exact tilts of the variational posterior, with one "
        "model of all classes and with one for each class.",
    )
    repeats, few = 5, 1

    def setups(self, quick: bool) -> list[Parameters]:
        setups = [(topics, POSTS) for topics in reversed(TOPICS)] + [(FEW, size) for size in SIZES]
        return [{"topics": topics, "size": size} for topics, size in ([(3, 10), (5, 10)] if quick else setups)]

    def prepare(self, data: str | None, quick: bool) -> Posts:
        posts = newsgroups(data, GROUPS)
        texts = (tokenize(f"{subject}\n{body}") for subject, body in zip(posts.subjects, posts.bodies))
        tokens = cached_tokens("topics-sci", SOURCE, data, texts)
        return tokens.counts(), posts.groups

    def run(self, prepared: Posts, parameters: Parameters) -> Result:
        seed, topics, size = parameters["seed"], parameters["topics"], parameters["size"]
        X, y, new, truth = halves = drawn(prepared, seed, size)
        model = LatentDirichletAllocation(topics, random_state=seed)
        first = SufficientStatistics(model).fit(X, y)
        found = {"words": accuracy_by_svm(X.toarray(), y, new.toarray(), truth)}
        for name, kind in (("FS", FisherScore), ("FESS", FreeEnergyScore), ("SS", SufficientStatistics)):
            space = kind(model)
            space.n_features_in_ = first.n_features_in_
            found[name] = scored(space, halves, first.models_)
        if topics <= LEARNED:
            for name, per_class in (("MSS", False), ("MSS pair", True)):
                found[name] = scored(MaxMarginScoreSpace(model, per_class=per_class, n_init=1).fit(X, y), halves)
        found["Med-LDA"] = 100.0 * MedLDA(topics, random_state=seed).fit(X, y).score(new, truth)
        return {"accuracy": found}

    def tables(self, runs: list[Result]) -> list[Table]:
        rows = [
            [str(topics), str(size), *(shown_accuracy(cell.get(m)) for m in METHODS)]
            for (topics, size), cell in by_setup(runs, "topics", "size").items()
        ]
        printed = ", ".join(f"{name} {value}" for name, value in PRINTED.items())
        note = (
            f"Accuracy in percent, and the standard error of its mean. Printed for Scene-15: {printed} (50 topics, "
            "MSS 10)."
        )
        return [Table("Accuracy", ["topics", "posts a class", *METHODS], rows, note)]

    def figure(self, runs: list[Result]) -> Any:
        cells = by_setup(runs, "topics", "size")
        most = max(size for _, size in cells)
        figure, ((left, right),) = panels(1, 2, (8.5, 3.6), "accuracy (%)", sharey=True)
        seen = sorted((t, n, m, cell[m].mean()) for (t, n), cell in cells.items() for m in METHODS if m in cell)
        by_topics = {m: [(t, y) for t, n, of, y in seen if (n, of) == (most, m)] for m in METHODS}
        by_posts = {m: [(n, y) for t, n, of, y in seen if (t, of) == (FEW, m)] for m in METHODS}
        draw_lines(left, by_topics, marker=3, xlabel="topics", xscale="log")
        draw_lines(right, by_posts, marker=3, xlabel=f"training posts a class ({FEW} topics)")
        left.legend(fontsize="x-small")
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        cells = by_setup(runs, "topics", "size")
        few, many = cells.get((FEW, POSTS)), cells.get((MANY, POSTS))
        if not few or not many:
            return Verdict("in part", "The short form has no 10 and 50 topics.")
        own = chosen(cells)
        parts = [
            gain_part(f"MSS with {FEW} topics above {m} with {MANY}: gain in", few["MSS pair"] - many[m])
            for m in ("FS", "FESS", "SS")
        ]
        parts += [
            gain_part(f"MSS above {m}, topics chosen alike: gain in", own["MSS pair"] - own[m])
            for m in ("FS", "FESS", "SS", "Med-LDA")
        ]
        for one, other in (("FESS", "SS"), ("SS", "FS")):
            gain = float((many[one] - many[other]).mean())
            parts.append(Part(f"{one} above {other}, {MANY} topics: mean gain, points", gain, ">", 0.0))
        return verdict_of(
            parts,
            "Other data than the paper's. Above means by Student's t of the five samples, two-sided. With 50 topics "
            "the other scores have more than 200 posts can fill: with five, the Fisher score is the best of all.",
        )

    def trials(self, runs: list[Result]) -> list[Trial]:
        """Return what comes of one model of all classes, and of the topics with the best test accuracy."""
        cells = by_setup(runs, "topics", "size")
        if (MANY, POSTS) not in cells:
            return []
        own, few = chosen(cells), cells[FEW, POSTS]
        one = [f"{m} {gain_shown(own['MSS'] - own[m])}" for m in ("FS", "FESS", "SS", "Med-LDA")]
        best = {
            m: max((cell[m].mean(), topics) for (topics, size), cell in cells.items() if size == POSTS and m in cell)
            for m in METHODS[1:]
        }
        words = [gain_shown(few[m] - few["words"]) for m in ("MSS", "MSS pair")]
        return [
            Trial("MSS with one model of all classes, topics chosen alike: gain over", "; ".join(one)),
            Trial(
                "each method's topics by its test accuracy",
                "; ".join(f"{m} {mean:.1f} ({topics})" for m, (mean, topics) in best.items()),
            ),
            Trial(f"the SVM on words: gain of MSS with one model, and for each class, {FEW} topics", "; ".join(words)),
        ]


def chosen(cells: Cells) -> dict[str, np.ndarray]:
    """Return the accuracies of each method by the number of topics that is best on the other samples."""
    methods = [m for m in METHODS if m != "words"]
    return {m: tuned([cell[m] for (_, size), cell in cells.items() if size == POSTS and m in cell]) for m in methods}


def drawn(posts: Posts, seed: int, size: int) -> tuple[sp.csr_array, np.ndarray, sp.csr_array, np.ndarray]:
    """Return counts and groups of `size` training posts a group and of test posts; smaller sets lie in larger ones."""
    counts, groups = posts
    rng = np.random.default_rng((2033, seed))
    order = [rng.permutation(np.flatnonzero(groups == group)) for group in GROUPS]
    train = np.concatenate([own[:size] for own in order])
    test = np.concatenate([own[POSTS : POSTS + TESTED] for own in order])
    share = (counts[train] > 0).sum(axis=0) / train.size
    allowed = np.flatnonzero((share > 0.0) & (share <= LARGEST_SHARE))
    total = counts[train].sum(axis=0)[allowed]
    words = np.sort(allowed[np.argsort(-total, kind="stable")[:WORDS]])
    return counts[train][:, words], groups[train], counts[test][:, words], groups[test]
