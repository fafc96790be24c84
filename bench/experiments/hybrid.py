"""Raina, Shen, Ng, McCallum 2003: naive Bayes, the hybrid and logistic regression on six pairs of newsgroups.

What the paper leaves open:

    words               of the training posts, for all methods; a post that is held out for the leave-one-out likelihood
                        may have words that no other training post has.  `LEAKED` has two methods with the words of all
                        posts, test posts too: naive Bayes then smooths over words that it never sees
    regions             subject and body, with shared word probabilities (eqs. 5 and 6)
    logistic regression has the counts of subject and body together for its features
    significant         p < 0.05 in the paired t-test over the splits
    theta               where the leave-one-out likelihood has no maximum, the limit as `models.HybridNaiveBayes` has it
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import HybridNaiveBayes, LogisticRegression, MultinomialNaiveBayes

from ..compare.tables import Table
from ..data.newsgroups import SOURCE, newsgroups
from ..data.text import cached_tokens, stem_words, tokenize
from ..metrics import accuracy_at, mean_interval, paired_p, training_order
from .frame.experiment import Experiment, Parameters, Part, Protocol, Result, Verdict, verdict_of
from .frame.shares import LEVEL, draw_lines, grid, grouped, panels, significant

PAIRS = {
    "atheism vs religion.misc": ("alt.atheism", "talk.religion.misc"),
    "pc.hardware vs mac.hardware": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "graphics vs mideast": ("comp.graphics", "talk.politics.mideast"),
    "atheism vs sci.med": ("alt.atheism", "sci.med"),
    "autos vs motorcycles": ("rec.autos", "rec.motorcycles"),
    "hockey vs christian": ("rec.sport.hockey", "soc.religion.christian"),
}
QUICK_PAIRS = ("atheism vs religion.misc", "autos vs motorcycles")
SIZES = (20, 50, 100, 200, 300, 500, 750, 1000, 1200)
QUICK_SIZES = (50, 300)
COVERAGES = tuple(k / 50 for k in range(1, 51))
BAYES, LOGISTIC = "naive Bayes", "logistic regression"
HYBRID, HYBRID_1 = "hybrid", "hybrid, 1 region"
PLAIN_HYBRID, PLAIN_HYBRID_1 = "hybrid, not normalized", "hybrid, 1 region, not normalized"
LEAKED = {"naive Bayes, all posts' words": BAYES, "hybrid, all posts' words": HYBRID}
SMALL, VERY_NEAR, DRAMATIC = (
    100,
    0.02,
    2.0 / 3.0,
)  # posts of "small training sets", error of "very near", ratio of errors
STYLES: dict[str, dict[str, Any]] = {
    LOGISTIC: {"color": "r", "linestyle": "--"},
    BAYES: {"color": "b", "linestyle": ":"},
    HYBRID: {"color": "k", "linestyle": "-"},
    HYBRID_1: {"color": "k", "linestyle": "-"},
}


@dataclass(frozen=True)
class Pair:
    """Posts of two groups: y is 0 or 1, the subjects and bodies are counts of a shared vocabulary."""

    y: np.ndarray
    subjects: sp.csr_array
    bodies: sp.csr_array


class OnPairs(Experiment):
    """Base of both experiments: the posts of the pairs as counts."""

    repeats = 10
    rivals = (HYBRID, HYBRID_1, PLAIN_HYBRID, PLAIN_HYBRID_1, BAYES, LOGISTIC, *LEAKED)
    methods: tuple[str, ...]

    def prepare(self, data: str | None, quick: bool) -> dict[str, Pair]:
        names = QUICK_PAIRS if quick else PAIRS
        groups = sorted({group for name in names for group in PAIRS[name]})
        posts = newsgroups(data, groups)
        texts = (stem_words(tokenize(text)) for part in (posts.subjects, posts.bodies) for text in part)
        counts = cached_tokens(f"regions-{len(groups)}-{groups[0]}", SOURCE, data, texts).counts()
        return {name: _pair(posts.groups, counts, *PAIRS[name]) for name in names}

    def tables_of(self, runs: list[Result], what: str) -> dict[str, np.ndarray]:
        """Return the errors or accuracies (`what`) of each method, one row per split."""
        return {method: np.array([run[what][method] for run in runs]) for method in self.methods}


def _pair(groups: np.ndarray, counts: sp.csr_array, first: str, second: str) -> Pair:
    own = np.flatnonzero((groups == first) | (groups == second))
    subjects, bodies = counts[own], counts[own + groups.size]
    words = np.flatnonzero((subjects.sum(axis=0) + bodies.sum(axis=0)) > 0.0)
    return Pair((groups[own] == second).astype(np.int64), subjects[:, words], bodies[:, words])


def log_odds(method: str, pair: Pair, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return log P(1 | x) / P(0 | x) of test posts, and True if the fit's likelihood had no maximum."""
    y, all_words, method = pair.y[train], method in LEAKED, LEAKED.get(method, method)
    regions = 2 if method in (HYBRID, PLAIN_HYBRID) else 1
    parts = (pair.subjects + pair.bodies,) if regions == 1 else (pair.subjects, pair.bodies)
    if not all_words:
        words = np.flatnonzero(sum(part[train].sum(axis=0) for part in parts))
        parts = tuple(part[:, words] for part in parts)
    X = sp.csr_array(sp.hstack(parts))
    model: Any = HybridNaiveBayes(regions=regions, normalize=method in (HYBRID, HYBRID_1))
    if method == LOGISTIC:
        model = LogisticRegression(C=1.0)
    elif method == BAYES:
        model = MultinomialNaiveBayes()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*the leave-one-out likelihood has no maximum")
        model.fit(X[train], y)
    logs = model.predict_log_proba(X[test])
    return logs[:, 1] - logs[:, 0], hasattr(model, "theta_") and bool(model.C_ < np.inf)


class HybridCurves(OnPairs):
    """Experiment of Figure 1 of Raina, Shen, Ng, McCallum 2003."""

    name = "hybrid-curves"
    before = (
        "confirmed",
        "Naive Bayes has the words of the training posts alone; dramatically and almost always are parts.",
    )
    title = "Hybrid of naive Bayes and logistic regression: test error by the size of the training set"
    source = "Raina, Shen, Ng, McCallum 2003, Figure 1 and section 3"
    claim = (
        "The normalized hybrid with two regions has a test error that is the lowest, or very near it, in every "
        "experiment and for all sizes; it almost always outperforms naive Bayes, dramatically for small training sets. "
        "Two regions outperform one; normalizing generally helps."
    )
    protocol = Protocol(
        paper="Six pairs of newsgroups, subject and body as two regions, 10 random splits, training sets up to 1,500 "
        "posts, test error; headers but the subject left out, NUMBER, EMAILADDR, Porter's stems.",
        ours="The same, training sets of 20 to 1,200 posts; the words are those of the training posts.",
        differences="A post out of the largest training set tests, and training sets are nested; the Gaussian prior "
        "of logistic regression has variance 1. That two regions and normalizing help is told there without numbers. "
        "The paper does not name its vocabulary: two columns have the words of all posts, test posts too. Xue and "
        "Titterington (Interpretation of hybrid generative/discriminative algorithms, Neurocomputing 2009) doubt the "
        "advantage of the hybrid; the parts on naive Bayes are where such a doubt is decided here.",
    )
    methods = (BAYES, HYBRID, LOGISTIC, HYBRID_1, PLAIN_HYBRID, *LEAKED)

    def setups(self, quick: bool) -> list[Parameters]:
        return grid(pair=QUICK_PAIRS if quick else PAIRS, sizes=[list(QUICK_SIZES if quick else SIZES)])

    def run(self, prepared: dict[str, Pair], parameters: Parameters) -> Result:
        pair, sizes = prepared[parameters["pair"]], parameters["sizes"]
        rng = np.random.default_rng([parameters["seed"], list(PAIRS).index(parameters["pair"])])
        order = training_order(pair.y, rng)
        test = order[max(sizes) :]
        errors: dict[str, list[float]] = {method: [] for method in self.methods}
        unbounded = 0
        for size in sizes:
            for method in self.methods:
                odds, without = log_odds(method, pair, order[:size], test)
                errors[method].append(float(((odds > 0.0) != pair.y[test]).mean()))
                unbounded += without and method == HYBRID
        return {"test": int(test.size), "errors": errors, "unbounded": unbounded}

    def tables(self, runs: list[Result]) -> list[Table]:
        found = []
        for pair, own in grouped(runs, "pair").items():
            curves = [mean_interval(errors) for errors in self.tables_of(own, "errors").values()]
            rows = [
                [str(size), *(f"{100 * mean[k]:.2f} ± {100 * half[k]:.2f}" for mean, half in curves)]
                for k, size in enumerate(own[0]["sizes"])
            ]
            note = f"per cent, mean of {len(own)} splits with its 95 % interval"
            found.append(Table(f"Test error, {pair}", ["training posts", *self.methods], rows, note))
        return found

    def figure(self, runs: list[Result]) -> Any:
        groups = grouped(runs, "pair")
        figure, places = _six(len(groups))
        for axes, (pair, own) in zip(places, groups.items()):
            sizes, errors = own[0]["sizes"], self.tables_of(own, "errors")
            lines = {name: np.transpose([sizes, *mean_interval(errors[name])]) for name in (LOGISTIC, BAYES, HYBRID)}
            draw_lines(axes, lines, map(STYLES.get, lines), xlabel="size of training set", ylabel="test error")
            axes.set(title=pair, xlim=(0, 1500 if max(sizes) > 300 else None), ylim=(0.0, None))
        places[0].legend()
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        """Return the verdict over all places; a place is a pair and a size.

        A difference is significant if Student's paired test over the splits says so at LEVEL after Holm's correction
        for the number of places.
        """
        excess, small, two_regions, normalized = [], [], [], []
        above_best, above_bayes, below_bayes = [], [], []  # p-values of one side
        ratio, leaked_ratio, best_ratio = [], [], []
        for own in grouped(runs, "pair").values():
            by_method = self.tables_of(own, "errors")
            for k, size in enumerate(own[0]["sizes"]):
                errors = {method: table[:, k] for method, table in by_method.items()}
                mean = {method: float(values.mean()) for method, values in errors.items()}
                best = min((BAYES, HYBRID, LOGISTIC), key=mean.__getitem__)
                excess.append(mean[HYBRID] - mean[best])
                above_best.append(_p_above(errors[HYBRID] - errors[best]))
                above_bayes.append(_p_above(errors[HYBRID] - errors[BAYES]))
                below_bayes.append(_p_above(errors[BAYES] - errors[HYBRID]))
                two_regions.append(mean[HYBRID] < mean[HYBRID_1])
                normalized.append(mean[HYBRID] < mean[PLAIN_HYBRID])
                ratio.append(mean[HYBRID] / mean[BAYES])
                bayes_leaked, hybrid_leaked = (mean[name] for name in LEAKED)
                leaked_ratio.append(hybrid_leaked / bayes_leaked)
                best_ratio.append(min(mean[HYBRID], hybrid_leaked) / min(mean[BAYES], bayes_leaked))
                small.append(size <= SMALL)
        places, are_small = len(excess), np.array(small)
        dramatic, leaked, favoured = (
            float(np.mean(np.array(some)[are_small] <= DRAMATIC)) for some in (ratio, leaked_ratio, best_ratio)
        )
        return verdict_of(
            [
                Part("the hybrid is the lowest or within 2 points of it: largest excess", max(excess), "<=", VERY_NEAR),
                Part("it is significantly above the lowest: places", significant(above_best), "==", 0),
                Part("it is below naive Bayes: share of places", float(np.mean(np.array(ratio) < 1.0)), ">=", 0.9),
                Part("it is significantly above naive Bayes: places", significant(above_bayes), "==", 0),
                Part(
                    f"up to {SMALL} posts it has at most 2/3 of naive Bayes' error: share of places", dramatic, ">", 0.5
                ),
                Part("two regions beat one: share of places", float(np.mean(two_regions)), ">", 0.5),
                Part("normalizing helps: share of places", float(np.mean(normalized)), ">", 0.5),
            ],
            f"It is significantly below naive Bayes at {significant(below_bayes)} of {places} places (by Holm's rule "
            f"for {places} comparisons). With the words of all posts, test posts too, the share of dramatic places "
            f"would be {leaked:.2f}, since naive Bayes then smooths over words that it never sees; with the words that "
            f"suit each method best it is {favoured:.2f}.",
        )


def _p_above(differences: np.ndarray) -> float:
    """Return the p-value of the one-sided paired test that the mean difference is above 0."""
    half = paired_p(differences) / 2.0
    return half if differences.mean() > 0.0 else 1.0 - half


class HybridCoverage(OnPairs):
    """Experiment of Figure 2 of Raina, Shen, Ng, McCallum 2003."""

    name = "hybrid-coverage"
    before = (
        "in part",
        "Significance by Holm's rule and with the variance of random halves.",
    )
    title = "Hybrid of naive Bayes and logistic regression: accuracy by coverage"
    source = "Raina, Shen, Ng, McCallum 2003, Figure 2 and section 5"
    claim = (
        "The normalized hybrid with one region does significantly better than naive Bayes, with accuracy/coverage "
        "curves that are higher almost everywhere; on atheism vs religion.misc it covers over 40 % at 95 % accuracy, "
        "where naive Bayes covers nothing. Without the normalization it performs about as naive Bayes does."
    )
    protocol = Protocol(
        paper="Six pairs of newsgroups, 10 random halves, one region, four curves of accuracy against coverage.",
        ours="The same; confidence is the difference of the two log posteriors, which does not round to 1.",
        differences="Significance by the paired t-test with the variance corrected for the dependence of random "
        "splits; the paper does not name its test.",
    )
    methods = (HYBRID_1, BAYES, PLAIN_HYBRID_1, LOGISTIC)

    def setups(self, quick: bool) -> list[Parameters]:
        return grid(pair=QUICK_PAIRS if quick else PAIRS)

    def run(self, prepared: dict[str, Pair], parameters: Parameters) -> Result:
        pair = prepared[parameters["pair"]]
        rng = np.random.default_rng([parameters["seed"], list(PAIRS).index(parameters["pair"]), 2])
        train, test = np.array_split(training_order(pair.y, rng), 2)
        accuracies: dict[str, list[float]] = {}
        for method in self.methods:
            odds, _ = log_odds(method, pair, train, test)
            right = (odds > 0.0) == (pair.y[test] == 1)
            accuracies[method] = accuracy_at(COVERAGES, right, np.abs(odds)).tolist()
        return {"test": int(test.size), "accuracies": accuracies}

    def tables(self, runs: list[Result]) -> list[Table]:
        shown = [COVERAGES.index(c) for c in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)]
        rows = [
            [pair, method, *(f"{100 * mean[k]:.2f}" for k in shown), f"{100 * _covered(mean):.0f}"]
            for pair, own in grouped(runs, "pair").items()
            for method, mean in self._means(own).items()
        ]
        heads = ["pair", "method", *(f"{100 * COVERAGES[k]:g} %" for k in shown), "coverage at 95 %"]
        note = "accuracy in per cent at a coverage, mean of the splits; the largest coverage where that mean is 95 %"
        return [Table("Accuracy by coverage", heads, rows, note, left=("method",))]

    def figure(self, runs: list[Result]) -> Any:
        groups = grouped(runs, "pair")
        figure, places = _six(len(groups))
        styles = STYLES | {BAYES: {"color": "m", "linestyle": "-."}, PLAIN_HYBRID_1: {"color": "b", "linestyle": ":"}}
        for axes, (pair, own) in zip(places, groups.items()):
            for method, mean in self._means(own).items():
                axes.plot(COVERAGES, mean, label=method, **styles[method])
            axes.set(title=pair, xlabel="coverage", ylabel="accuracy", xlim=(0.0, 1.0))
        places[0].legend(loc="lower left")
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        """Return the verdict; equal curves count as higher, because on easy pairs both are at 100 %."""
        pairs = grouped(runs, "pair")
        means = {pair: self._means(own) for pair, own in pairs.items()}
        higher = [float((mean[HYBRID_1] >= mean[BAYES]).mean()) for mean in means.values()]
        p_values = [self._against_bayes(own, HYBRID_1) for own in pairs.values()]
        plain = len(pairs) * min(self._against_bayes(own, PLAIN_HYBRID_1) for own in pairs.values())
        parts = [
            Part("higher than naive Bayes' almost everywhere: share of coverages", float(np.mean(higher)), ">=", 0.9),
            Part("significantly better: pairs", significant(p_values), ">", len(pairs) / 2),
            Part("not normalized it differs from naive Bayes on no pair: least p x pairs", plain, ">=", LEVEL),
        ]
        if QUICK_PAIRS[0] in means:
            ours, bayes = (_covered(means[QUICK_PAIRS[0]][m]) for m in (HYBRID_1, BAYES))
            parts += [
                Part(f"{QUICK_PAIRS[0]}: over 40 % covered at 95 % accuracy: share", float(ours), ">", 0.4),
                Part("by naive Bayes nothing: share", float(bayes), "==", 0.0),
            ]
        return verdict_of(
            parts,
            f"Without a correction for {len(pairs)} comparisons it is significantly better on "
            f"{sum(p < LEVEL for p in p_values)} pairs; with the variance of independent splits, which random halves "
            f"are not, on {sum(paired_p(self._gain(own, HYBRID_1)) < LEVEL for own in pairs.values())}.",
        )

    def _means(self, runs: list[Result]) -> dict[str, np.ndarray]:
        return {method: rows.mean(axis=0) for method, rows in self.tables_of(runs, "accuracies").items()}

    def _gain(self, runs: list[Result], method: str) -> np.ndarray:
        """Return by how much the mean accuracy over all coverages is above that of naive Bayes, by split."""
        means = {name: rows.mean(axis=1) for name, rows in self.tables_of(runs, "accuracies").items()}
        return means[method] - means[BAYES]

    def _against_bayes(self, runs: list[Result], method: str) -> float:
        """Return the p-value of equal mean accuracies over all coverages of a method and of naive Bayes."""
        return paired_p(self._gain(runs, method), test_to_train=1.0)


def _covered(accuracy: np.ndarray, goal: float = 0.95) -> float:
    """Return the largest coverage with an accuracy of at least `goal`, or 0."""
    return max((c for c, a in zip(COVERAGES, accuracy) if a >= goal), default=0.0)


def _six(count: int) -> tuple[Any, Any]:
    """Return a figure with one panel per pair, three in a row, and its axes."""
    rows = -(-count // 3)
    figure, places = panels(rows, min(count, 3), (12, 3.6 * rows))
    for axes in places.flat[count:]:
        axes.set_axis_off()
    return figure, places.ravel()
