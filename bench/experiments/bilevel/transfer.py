"""Generative against discriminative transfer through WordNet (Epshteyn and DeJong 2006, Figure 2.1).

A classifier is trained on one pair of newsgroups, compressed by the words' distances to the two labels, and used on
another pair, of which it has seen no post.  What the paper leaves open, and what is done here:

- The set-ups are its example of section 2, and experiments 1 and 4 of section 5.  In experiment 1 guns is the second
  label of the one task and the first of the other; which chi_i goes to which label is open, so a fourth set-up has the
  training task the other way.
- The test set is a random tenth of all posts, as far as they are of the test task; the training sample is drawn from
  the other nine tenths, up to all of them, with both groups present.
- What words and links there are was decided before any result was seen (see `nouns`).  Because the accuracies came out
  low, three variants were tried; a separate table shows them, and none of them was chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import SVC, DiscriminativeTransfer, GenerativeTransfer

from ...compare.tables import Table
from ..frame.experiment import Experiment, Parameters, Part, Protocol, Result, Verdict, verdict_of
from ..frame.shares import curves, draw_lines, grouped, mean_and_error, means_shown, panels
from .nouns import NounPosts, Task, noun_posts

PAIRS: tuple[tuple[Task, Task], ...] = (
    (("atheism", "guns"), ("atheism", "mideast")),
    (("atheism", "guns"), ("guns", "mideast")),
    (("guns", "atheism"), ("guns", "mideast")),
    (("guns", "mideast"), ("atheism", "mideast")),
)
VARIANTS = {
    "paper": "as above",
    "no common words": "words in less than a tenth of the posts",
    "is-a": "links of is-a alone",
    "unit length": "posts of unit length",
}
COMMON = 0.1
FAR = 5.0
"""Difference in accuracy, in points, from which on one classifier is not near the other."""
IS_A = ("@", "@i")
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, "all")
KINDS = {
    "generative": "generative (chi_i)",
    "discriminative": "discriminative (chi')",
    "best_b": "discriminative, best b",
}
LABELS = ("atheism", "guns", "mideast")


class Transfer(Experiment):
    """Experiment of Figure 2.1 of Epshteyn and DeJong 2006."""

    name = "transfer"
    rivals = ("generative", "discriminative")
    before = (
        "in part",
        "Nothing new: error bars are smaller at 61 % of the points.",
    )
    title = "Transfer through WordNet: generative against discriminative"
    source = "Epshteyn and DeJong 2006, Figure 2.1"
    claim = (
        "The generative classifier consistently outperforms the discriminative one, converges much faster and has "
        "smaller error bars; on two of three tasks the discriminative one does not come near even with 90 % of the "
        "training task's data."
    )
    protocol = Protocol(
        paper="Three pairs of tasks of three newsgroups; a random tenth of the posts to test, up to 90 % of the "
        "training task's data to train; 20 repeats; LDA with covariance I and chi_i, hard-margin SVM with chi'.",
        ours="The same in four set-ups.",
        differences="The figure's pairs are not named in the text: these are the three set-ups that it does name, and "
        "one of them the other way round. b stays that of the training task; what the best b gives is shown beside.",
    )
    repeats = 20
    few = 3

    def setups(self, quick: bool) -> list[Parameters]:
        sizes = (10, 100, 500) if quick else SIZES
        shapes = [("paper", size) for size in sizes] + [(name, sizes[-1]) for name in VARIANTS if name != "paper"]
        return [
            {"train": list(train), "test": list(test), "variant": variant, "size": size}
            for train, test in PAIRS
            for variant, size in shapes
        ]

    def prepare(self, data: str | None, quick: bool) -> dict[str, NounPosts]:
        return variants(noun_posts(data, LABELS), noun_posts(data, LABELS, IS_A))

    def run(self, prepared: dict[str, NounPosts], parameters: Parameters) -> Result:
        """Return the accuracies of both classifiers on the other task."""
        posts = prepared[parameters["variant"]]
        train, test = tuple(parameters["train"]), tuple(parameters["test"])
        fitted, held_out = split(posts, train, test, parameters["size"], parameters["seed"])
        X, y = posts.X[fitted], posts.signs(train, fitted)
        T, z = posts.X[held_out], posts.signs(test, held_out)
        near, far = posts.distances_of(train), posts.distances_of(test)
        w, b = GenerativeTransfer.from_samples(X, y, near).hyperplane(far)
        machine = SVC(C=np.inf, kernel="linear").fit(X, y)
        transferred = DiscriminativeTransfer(machine.coef_[0], machine.intercept_[0], near)
        v, c = transferred.hyperplane(far)
        return {
            "samples": int(fitted.size),
            "tested": int(held_out.size),
            "generative": float(np.mean((T @ w + b > 0.0) == (z > 0))),
            "discriminative": float(np.mean((T @ v + c > 0.0) == (z > 0))),
            "best_b": best_accuracy(T @ v, z),
        }

    def tables(self, runs: list[Result]) -> list[Table]:
        found = []
        for pair, own in _by_pair(runs).items():
            rows = [
                [
                    f"{np.mean([run['samples'] for run in group]):.0f}",
                    *means_shown(group, KINDS, 100.0),
                    str(len(group)),
                ]
                for group in grouped(own, "size").values()
            ]
            note = "Accuracy in %, mean and 95 % confidence interval. The best b is chosen with the answers known."
            found.append(Table(_words(pair), ["training samples", *KINDS.values(), "repeats"], rows, note))
        rows = []
        for pair, own in grouped(runs, "train", "test").items():
            for variant, words in VARIANTS.items():
                *_, group = grouped(grouped(own, "variant")[variant], "size").values()
                rows.append([_words(pair), words, *means_shown(group, KINDS, 100.0)])
        heads, note = ["set-up", "variant", *KINDS.values()], "Accuracy in % with the largest sample."
        return [*found, Table("What else was tried", heads, rows, note, left=("variant",))]

    def figure(self, runs: list[Result]) -> Any:
        pairs = _by_pair(runs)
        figure, places = panels(1, len(pairs), (4.6 * len(pairs), 4.0), "accuracy on the test task, %", sharey=True)
        for axes, ((train, test), own) in zip(places.flat, pairs.items()):
            lines: dict[str, Any] = dict(zip(KINDS.values(), curves(own, "size", KINDS, "samples", 100.0).values()))
            lines[KINDS["best_b"]] = [point[:2] for point in lines[KINDS["best_b"]]]
            draw_lines(axes, lines, ("o-", "s--", ":"), xscale="log", xlabel="training samples of the training task")
            axes.set_title(f"trained on {' vs. '.join(train)}\ntested on {' vs. '.join(test)}", fontsize=10)
        figure.axes[0].legend(fontsize=8)
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        pairs = _by_pair(runs)
        points = [
            [mean_and_error(100.0 * run[kind] for run in group) for kind in ("generative", "discriminative")]
            for own in pairs.values()
            for group in grouped(own, "size").values()
        ]
        sizes = len(points) // len(pairs)
        behind = sum(ours[0] - other[0] > FAR for ours, other in points[sizes - 1 :: sizes]) / len(pairs)
        ahead, smaller = (
            float(np.mean([sign * (a[k] - b[k]) > 0.0 for a, b in points])) for k, sign in ((0, 1), (1, -1))
        )
        far = f"the other stays {FAR:g} points behind on two of three: share of the set-ups"
        return verdict_of(
            [
                Part("the generative classifier is consistently ahead: share of the points", ahead, ">=", 0.9),
                Part("its error bars are smaller: share of the points", smaller, ">=", 0.9),
                Part(far, behind, ">=", 2.0 / 3.0),
            ],
            "Why the error bars differ less was not found. Most of the discriminative classifier's loss is its b: with "
            "the best b it comes near or ahead.",
        )


def variants(posts: NounPosts, by_is_a: NounPosts) -> dict[str, NounPosts]:
    """Return the posts as they are, and in the variants that were tried, by name."""
    shares = np.asarray(posts.X.mean(axis=0)).ravel()
    lengths = np.sqrt(np.asarray(posts.X.sum(axis=1)).ravel())
    scaled = sp.csr_array(sp.diags_array(1.0 / lengths) @ posts.X)
    return {
        "paper": posts,
        "no common words": posts.only(shares < COMMON),
        "is-a": by_is_a,
        "unit length": replace(posts, X=scaled),
    }


def split(posts: NounPosts, train: Task, test: Task, size: int | str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of the training sample and of the test set; samples of one seed are nested."""
    order = np.random.default_rng(seed).permutation(posts.label.size)
    tenth = posts.label.size // 10
    held_out = posts.of(test, order[:tenth])
    pool = posts.of(train, order[tenth:])
    signs = posts.signs(train, pool)
    first = np.sort([np.flatnonzero(signs == sign)[0] for sign in (-1, 1)])  # a post of each group
    pool = pool[np.concatenate([first, np.delete(np.arange(pool.size), first)])]
    return (pool if size == "all" else pool[: int(size)]), held_out


def best_accuracy(values: np.ndarray, signs: np.ndarray) -> float:
    """Return the highest accuracy of values > threshold, over all thresholds.

    Examples
    --------
    >>> best_accuracy(np.array([5.0, 7.0, 6.0, 9.0]), np.array([-1, -1, 1, 1]))
    0.75
    """
    order = np.argsort(values, kind="stable")
    values, right = values[order], signs[order]
    hits = np.concatenate([[np.sum(right > 0)], np.sum(right > 0) - np.cumsum(right)])
    between = np.concatenate([[True], values[1:] > values[:-1], [True]])  # Equal values are on one side.
    return float(hits[between].max() / values.size)


def _by_pair(runs: list[Result]) -> dict[tuple[Task, Task], list[Result]]:
    """Return the runs of the variant "paper" by pair of tasks."""
    return grouped([run for run in runs if run["variant"] == "paper"], "train", "test")


def _words(pair: tuple[Task, Task]) -> str:
    return f"Trained on {' vs. '.join(pair[0])}, tested on {' vs. '.join(pair[1])}"
