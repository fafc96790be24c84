"""Six set-ups of three newsgroups: accuracy against the posts of the test task (Figure 5.2); see `setups`.

The multi-task machine of Evgeniou and Pontil, (5.3)-(5.5), has nine tenths of the training task's posts.  Linear
discriminant analysis has nine tenths of the *test* task's posts and is a horizontal line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import MultiTaskSVC, class_means, discriminant

from ...compare.tables import Table
from ...metrics import paired_p
from ..frame.experiment import Parameters, Part, Protocol, Result, Verdict, verdict_of
from ..frame.shares import LEVEL, curves, draw_lines, grid, grouped, means_shown, panels, shown, standard_errors
from .nouns import NounPosts, Task
from .setups import (
    FIRST,
    SHARE_OF_TRAINING,
    TEXTS,
    UNUSED,
    Draw,
    Hyperplane,
    OnNewsgroups,
    accuracy,
    draw,
    in_words,
    setups,
)

SHARES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
KINDS = {"bilevel": "bilevel gen/discr", "svm": "SVM", "multitask": "multi-task SVM", "lda": "LDA on 90 %"}
STYLES = {"bilevel": "o-", "svm": "s--", "multitask": "^:"}
MULTITASK: dict[str, Any] = {"C1": 1.0, "C2": 1000.0, "tol": 1e-8}
C2_VALUES = (0.1, 0.5, 1.0, 2.0, 10.0, 1000.0, 1e5, 1e10)
NEAR_MARGIN, MARGIN_TOL = 0.02, 1e-6
EXCEPTED: tuple[Task, Task] = (("guns", "mideast"), ("atheism", "mideast"))
"""Tasks of experiment 4, which the claim excludes."""


@dataclass(frozen=True)
class Prepared:
    """Posts in both texts, and results of `needed_alone` for draws of the training task, each used by twelve runs."""

    texts: dict[str, NounPosts]
    needed: dict[tuple[str, Task, int], np.ndarray] = field(default_factory=dict)


class Curves(OnNewsgroups):
    """Experiment of Figure 5.2 of Epshteyn and DeJong 2006."""

    name = "bilevel-curves"
    rivals = tuple(KINDS)
    before = (
        "confirmed",
        "A range of sizes is two neighbours, each by two standard errors: 3 of 6 set-ups, none with Newsgroups.",
    )
    title = "The bilevel classifier with more and more training posts"
    source = "Epshteyn and DeJong 2006, Figure 5.2"
    claim = (
        "The bilevel classifier improves with the training set and is ahead of the SVM and the multi-task SVM on small "
        "ones, except in experiment 4 (guns vs. mideast to atheism vs. mideast); the curves converge. In four of six "
        "set-ups the SVM ends above LDA trained on 90 % of the test task, and for a range of sizes the bilevel "
        "classifier is above both."
    )
    protocol = Protocol(
        paper="Six set-ups of three newsgroups, growing shares of the test task, 100 repeats; C_1 = 1 and C_2 = 1000 "
        "of the multi-task machine chosen on experiment 1; LDA on 90 % of the test task.",
        ours="The same with sizes that double from 0.5 % to 16 % of the test task.",
        differences="The figure's sizes are not given. Two texts: the by-date copy lacks headers of the original "
        "collection, so the words of the group's name are put back in the second. A range of sizes is two neighbouring "
        "ones, each by two standard errors.",
    )
    few = 1

    def setups(self, quick: bool) -> list[Parameters]:
        shares = SHARES[:1] + SHARES[3:4] if quick else SHARES
        return [
            {**own, "train": list(train), "test": list(test), **other}
            for own in grid(text=TEXTS[: 1 if quick else 2])
            for train, test in setups(self.labels)[: 3 if quick else None]
            for other in grid(share=shares)
        ]

    def prepare(self, data: str | None, quick: bool) -> Any:
        return Prepared(super().prepare(data, quick))

    def run(self, prepared: Prepared, parameters: Parameters) -> Result:
        """Return the accuracies in percent."""
        posts, seed = prepared.texts[parameters["text"]], parameters["seed"]
        train, test = tuple(parameters["train"]), tuple(parameters["test"])
        drawn = draw(posts, train, test, parameters["share"], seed)
        at = parameters["text"], train, seed
        if at not in prepared.needed:
            prepared.needed[at] = needed_alone(posts, train, drawn.trained)
        hyperplanes = {
            "bilevel": drawn.fit_bilevel(drawn.prior()),
            "svm": drawn.fit_machine(),
            "multitask": fit_multitask(drawn, prepared.needed[at]),
        }
        found = {name: drawn.accuracy(plane) for name, plane in hyperplanes.items()}
        return {"samples": int(drawn.fitted.size), **found, "lda": discriminant_on_most(posts, test, seed)}

    def tables(self, runs: list[Result]) -> list[Table]:
        heads = ["set-up", "training posts", *KINDS.values(), "repeats"]
        found = []
        for text, own in grouped(runs, "text").items():
            rows = [
                [in_words(*setup), str(samples), *means_shown(group, KINDS), str(len(group))]
                for (*setup, samples), group in grouped(own, "train", "test", "samples").items()
            ]
            found.append(Table(f"Text: {text}", heads, rows, "Accuracy in %, mean and 95 % confidence interval."))
        return found

    def figure(self, runs: list[Result]) -> Any:
        rows = 2 * len(grouped(runs, "text"))
        figure, places = panels(rows, 3, (11.0, 3.0 * rows), "accuracy, %", sharey=True)
        for axes, ((text, *setup), group) in zip(places.flat, grouped(runs, "text", "train", "test").items()):
            lines = dict(zip(KINDS.values(), curves(group, "samples", KINDS).values()))
            line = np.mean([y for _, y, _ in lines.pop(KINDS["lda"])])
            draw_lines(axes, lines, STYLES.values(), xscale="log")
            axes.axhline(line, color="gray", label=KINDS["lda"])
            axes.set_xlabel("training posts of the test task")
            axes.set_title(f"{in_words(*setup)} ({text})", fontsize=9)
        places.flat[0].legend(fontsize=8)
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        """Return the verdict, on every text separately; a curve is a list of points, posts first, one per size."""
        parts = []
        for text, own in grouped(runs, "text").items():
            setups = grouped(own, "train", "test").items()
            ends = {setup: curves(group, "samples", KINDS) for setup, group in setups}
            leads = [
                end["bilevel"][0][1] - end[kind][0][1]
                for setup, end in ends.items()
                for kind in ("svm", "multitask")
                if setup != EXCEPTED
            ]
            lines = [float(np.mean([point[1] for point in end["lda"]])) for end in ends.values()]
            above = [end["svm"][-1][1] > line for end, line in zip(ends.values(), lines)]
            both = [_is_above_both(group) for _, group in setups]
            last = min(_lead(group, -1, "svm") for _, group in setups)
            fall = standard_errors(_falls(own))
            grown = min(end["bilevel"][-1][1] - end["bilevel"][0][1] for end in ends.values())
            found = [
                Part("it improves with the training set: least growth", grown, ">", 0.0),
                Part("it is ahead on the smallest set but in experiment 4: least lead", min(leads), ">", 0.0),
                Part("the curves converge: fall of the leads in standard errors", fall, ">", 2.0),
                Part(
                    "at the largest set it is nowhere behind the SVM: least lead in standard errors", last, ">=", -2.0
                ),
                Part("the SVM ends above LDA in four of six: share", float(np.mean(above)), ">=", 2.0 / 3.0),
                Part("for a range of sizes it is above both: share", float(np.mean(both)), ">=", 2.0 / 3.0),
            ]
            if EXCEPTED in ends:
                end = ends[EXCEPTED]
                harm = max(end["bilevel"][0][1] - end[kind][0][1] for kind in ("svm", "multitask"))
                found.append(Part("in experiment 4 the prior does not help: largest lead", harm, "<=", 0.0))
            parts += [part._replace(words=f"{text.rstrip(':')}: {part.words}") for part in found]
        return verdict_of(
            parts,
            "Above both at one size by the means are more set-ups than by two standard errors at two neighbours. "
            "At the largest set the prior, held as firmly as at the smallest, costs up to half a point.",
        )


class MultiTaskConstant(OnNewsgroups):
    """Experiment on the choice of C_2 in section 5.3 of Epshteyn and DeJong 2006."""

    name = "multitask-c2"
    rivals = ("multitask",)
    before = (
        "in part",
        "Nothing new: the difference is .15 points.",
    )
    title = "The constant C_2 of the multi-task SVM"
    source = "Epshteyn and DeJong 2006, section 5.3"
    claim = "Of .1, .5, 1, 2, 10, 1000, 10^5 and 10^10, C_2 = 1000 is the best in experiment 1 with .05 % of its posts."
    protocol = Protocol(
        paper="C_1 = 1, C_2 from the set by the accuracy in experiment 1 after .05 % of the test task.",
        ours="The same with 9 posts, 0.5 %, as .05 % is one post; draws that no other experiment has; both texts.",
        differences="The number of posts and of draws; the by-date copy lacks headers of the original collection.",
    )
    repeats = 20

    def setups(self, quick: bool) -> list[Parameters]:
        return grid(text=TEXTS)

    def seeds(self, setup: Parameters, repeats: int) -> range:
        return range(UNUSED, UNUSED + repeats)

    def run(self, prepared: dict[str, NounPosts], parameters: Parameters) -> Result:
        """Return the accuracies in percent, one per value of C_2, and the accuracy of the plain machine."""
        posts = prepared[parameters["text"]]
        drawn = draw(posts, *FIRST, SHARES[0], parameters["seed"])
        planes = [fit_multitask(drawn, needed_alone(posts, FIRST[0], drawn.trained, C2), C2) for C2 in C2_VALUES]
        return {"multitask": list(map(drawn.accuracy, planes)), "svm": drawn.accuracy(drawn.fit_machine())}

    def tables(self, runs: list[Result]) -> list[Table]:
        texts = grouped(runs, "text")
        rows = [
            [f"{C2:g}", *(shown(run["multitask"][k] for run in own) for own in texts.values())]
            for k, C2 in enumerate(C2_VALUES)
        ]
        rows.append(["plain SVM", *(shown(run["svm"] for run in own) for own in texts.values())])
        return [Table("Accuracy by C_2", ["C_2", *texts], rows, "In %, mean and 95 % confidence interval.")]

    def figure(self, runs: list[Result]) -> Any:
        figure, ((axes,),) = panels(1, 1, (5.4, 3.6))
        for text, own in grouped(runs, "text").items():
            axes.semilogx(C2_VALUES, np.mean([run["multitask"] for run in own], axis=0), "o-", label=text)
        axes.set(xlabel="C_2", ylabel="accuracy, %")
        axes.legend()
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        """Return the verdict by the paired p of the best mean against C_2 = 1000, times seven, the other values."""
        k, parts = C2_VALUES.index(MULTITASK["C2"]), []
        for text, own in grouped(runs, "text").items():
            found = np.array([run["multitask"] for run in own])
            best = int(found.mean(axis=0).argmax())
            p_value = min(1.0, (len(C2_VALUES) - 1) * paired_p(found[:, best] - found[:, k]))
            words = f"{text.rstrip(':')}: no value is significantly better than 1000: p"
            parts.append(Part(words, p_value, ">=", LEVEL))
        return verdict_of(parts, "10^5 is better by a tenth or two of a point; both are nearly the plain machine.")


def fit_multitask(drawn: Draw, needed: np.ndarray, C2: float = MULTITASK["C2"]) -> Hyperplane:
    """Return w and b of the test task, learned together with the training task.

    Posts that are no support vectors have no effect; the posts that the training task alone does not need are left out
    (`needed_alone`).  Left-out posts on the wrong side of the margin are added until there are none.
    """
    posts, (fitted, signs) = drawn.posts, drawn.samples
    X = sp.csr_array(sp.vstack([posts.X[drawn.trained], fitted]))
    y = np.concatenate([posts.signs(drawn.train, drawn.trained), signs])
    tasks = np.repeat([0, 1], [drawn.trained.size, signs.size])
    used = np.concatenate([needed, np.ones(signs.size, dtype=bool)])
    while True:
        machine = MultiTaskSVC(**{**MULTITASK, "C2": C2}).fit(X[used], y[used], tasks=tasks[used])
        short = y * machine.decision_function(X, tasks=tasks) < 1.0 - MARGIN_TOL
        if not (short & ~used).any():
            return machine.coef_[1], float(machine.intercept_[1])
        used |= short


def needed_alone(posts: NounPosts, train: Task, trained: np.ndarray, C2: float = MULTITASK["C2"]) -> np.ndarray:
    """Return the mask of posts that the training task alone needs: posts at the margin or on its wrong side."""
    y = posts.signs(train, trained)
    machine = MultiTaskSVC(**{**MULTITASK, "C2": C2}).fit(posts.X[trained], y)
    return y * machine.decision_function(posts.X[trained]) < 1.0 + NEAR_MARGIN


def discriminant_on_most(posts: NounPosts, test: Task, seed: int) -> float:
    """Return the accuracy on a tenth of the test task of section 2's classifier, trained on the other posts."""
    pool = posts.of(test, np.random.default_rng(seed).permutation(posts.label.size))
    most = round(SHARE_OF_TRAINING * pool.size)
    hyperplane = discriminant(class_means(posts.X[pool[:most]], posts.signs(test, pool[:most])))
    return accuracy(posts, test, pool[most:], hyperplane)


def _is_above_both(runs: list[Result]) -> bool:
    """Return True if at two neighbouring sizes the bilevel classifier is above LDA and the SVM by two standard errors.

    A range of sizes has two at least; the runs of one set-up are compared seed by seed.
    """
    sizes = range(len(grouped(runs, "samples")))
    ahead = [min(_lead(runs, k, kind) for kind in ("svm", "lda")) > 2.0 for k in sizes]
    return any(one and other for one, other in pairwise(ahead))


def _lead(runs: list[Result], place: int, kind: str) -> float:
    """Return the lead over `kind` at a place of the sizes in their order, in standard errors."""
    groups = grouped(runs, "samples")
    return standard_errors(np.array([run["bilevel"] - run[kind] for run in groups[sorted(groups)[place]]]))


def _falls(runs: list[Result]) -> np.ndarray:
    """Return, by seed, how much smaller the bilevel classifier's lead is with the most posts than with the fewest.

    The result is the mean over set-ups and other classifiers, each lead times the sign of its mean.
    """
    found = []
    for group in grouped(runs, "train", "test").values():
        sizes = sorted({run["samples"] for run in group})
        for kind in ("svm", "multitask"):
            ends = (
                {run["seed"]: run["bilevel"] - run[kind] for run in group if run["samples"] == n}
                for n in (sizes[0], sizes[-1])
            )
            first, last = ([lead[seed] for seed in sorted(lead)] for lead in ends)
            found.append(np.sign(np.mean(first)) * np.array(first) - np.sign(np.mean(last)) * np.array(last))
    return np.asarray(np.mean(found, axis=0))
