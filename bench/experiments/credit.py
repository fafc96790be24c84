"""The lecture's credit card example: linear discriminants on the balance and the student status of 10,000 customers."""

from __future__ import annotations

from typing import Any

import numpy as np

from models import LinearDiscriminant, LogisticRegression, MixedNaiveBayes, QuadraticDiscriminant

from ..compare.tables import Table
from ..data import Default, default
from ..metrics import Rates, mean_interval, roc, training_order
from .frame.experiment import Experiment, Parameters, Part, Protocol, Result, Verdict, verdict_of
from .frame.shares import grid, panels

LDA = "LDA"
SEEN, UNSEEN = "fitted customers", "other customers"
THRESHOLDS = tuple(k / 200 for k in range(1, 201))
SHOWN = (0.5, 0.2, 0.1, 0.05)
FALSE_ALARMS = tuple(k / 200 for k in range(201))
LECTURE = [[9644, 252], [23, 81]]
"""Table of confusion as printed in the lecture."""


def classifiers() -> dict[str, Any]:
    """Return the models of the lecture by name."""
    return {
        LDA: LinearDiscriminant(),
        "QDA": QuadraticDiscriminant(),
        "naive Bayes": MixedNaiveBayes(["gaussian", "bernoulli"], binarize=0.5),
        "logistic regression": LogisticRegression(C=np.inf),
    }


class CreditDefault(Experiment):
    """The lecture's tables of confusion and rates, the errors by threshold, and the ROC curve."""

    name = "credit-default"
    before = (
        "confirmed",
        "Nothing new.",
    )
    title = "Credit card default by discriminants, naive Bayes and logistic regression"
    source = "Lecture notes on generative models, sections on credit card default (after James et al., ISL)"
    claim = (
        "LDA on balance and student status, at the threshold 0.5, predicts 9644 + 252 customers not to default and "
        "23 + 81 to default: a training error of 2.75 %, a sensitivity of 24.3 %, a specificity of 99.8 %. A threshold "
        "of 0.1 or less reduces the false negative rate."
    )
    protocol = Protocol(
        paper="LDA with the maximum likelihood fit on balance and student status of 10,000 customers, judged on them.",
        ours="The same; beside it QDA, naive Bayes and logistic regression, and random halves that the fit has not "
        "seen, one a seed.",
        differences="None in what the lecture prints.",
    )
    repeats = 10

    def setups(self, quick: bool) -> list[Parameters]:
        return grid(judged=(SEEN, UNSEEN), model=classifiers())

    def seeds(self, setup: Parameters, repeats: int) -> range:
        return range(1 if setup["judged"] == SEEN else repeats)

    def prepare(self, data: str | None, quick: bool) -> Default:
        return default(data)

    def run(self, prepared: Default, parameters: Parameters) -> Result:
        X = np.column_stack([prepared.balance, prepared.student])
        y = prepared.defaulted.astype(np.int64)
        fit = test = np.arange(y.size)
        if parameters["judged"] == UNSEEN:
            fit, test = np.array_split(training_order(y, np.random.default_rng(parameters["seed"])), 2)
        model = classifiers()[parameters["model"]].fit(X[fit], y[fit])
        curve = roc(y[test], model.predict_proba(X[test])[:, 1])
        rates = [curve.rates(threshold) for threshold in THRESHOLDS]
        return {
            "counts": [[r.true_negatives, r.false_negatives, r.false_positives, r.true_positives] for r in rates],
            "area": curve.area,
            "true_positive_rate": np.interp(FALSE_ALARMS, curve.false_positive_rate, curve.true_positive_rate).tolist(),
        }

    def tables(self, runs: list[Result]) -> list[Table]:
        table = _confusion(_own(runs, LDA, SEEN)[0], 0.5)
        table = np.column_stack([np.vstack([table, table.sum(axis=0)]), [*table.sum(axis=1), table.sum()]])
        lines = [[name, *(f"{count:g}" for count in row)] for name, row in zip(("No", "Yes", "total"), table)]
        heads = ["predicted default", "No", "Yes", "total"]
        note = "columns are the true status; threshold 0.5, the customers that LDA was fitted to"
        rates = [_rates_table(runs, judged) for judged in (SEEN, UNSEEN) if _own(runs, LDA, judged)]
        return [Table("Confusion of LDA", heads, lines, note), *rates]

    def figure(self, runs: list[Result]) -> Any:
        figure, ((left, right),) = panels(1, 2, (10, 4.2))
        own = _own(runs, LDA, SEEN)[0]
        rates = [_rates(own, threshold) for threshold in THRESHOLDS]
        left.plot(THRESHOLDS, [r["error"] for r in rates], "k-", label="overall error")
        for name, style in (("false negative rate", "b--"), ("false positive rate", "r:")):
            left.plot(THRESHOLDS, [r[name] for r in rates], style, label=name)
        left.set(title="LDA", xlabel="threshold", ylabel="error rate", xlim=(0.0, 0.5), ylim=(0.0, None))
        left.legend()
        for model in classifiers():
            run = _own(runs, model, SEEN)[0]
            right.plot(FALSE_ALARMS, run["true_positive_rate"], label=f"{model} (area {run['area']:.3f})")
        right.plot([0, 1], [0, 1], ":", color="0.6")
        right.set(title="ROC curve", xlabel="false positive rate", ylabel="true positive rate")
        right.legend(loc="lower right")
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        own = _own(runs, LDA, SEEN)[0]
        missed = float(np.abs(_confusion(own, 0.5) - LECTURE).sum())
        low = max(_rates(own, threshold)["false negative rate"] for threshold in THRESHOLDS if threshold <= 0.1)
        saved = low - _rates(own, 0.5)["false negative rate"]
        return verdict_of(
            [
                Part("the table of confusion: customers elsewhere", missed, "==", 0.0),
                Part("a threshold of 0.1 or less has fewer false negatives: change of their rate", saved, "<", 0.0),
            ]
        )


def _own(runs: list[Result], model: str, judged: str) -> list[Result]:
    return [run for run in runs if run["model"] == model and run["judged"] == judged]


def _rates(run: Result, threshold: float) -> dict[str, float]:
    tn, fn, fp, tp = run["counts"][THRESHOLDS.index(threshold)]
    return Rates(tp, fp, fn, tn).named()


def _confusion(run: Result, threshold: float) -> np.ndarray:
    """Return the confusion matrix: rows are predictions, columns the truth."""
    return np.reshape(run["counts"][THRESHOLDS.index(threshold)], (2, 2))


def _rates_table(runs: list[Result], judged: str) -> Table:
    names = ("error", "sensitivity", "specificity", "precision", "negative predictive value", "f1")
    rows = []
    for model in classifiers():
        own = _own(runs, model, judged)
        area, half = mean_interval([run["area"] for run in own])
        for threshold in SHOWN:
            rates = [_rates(run, threshold) for run in own]
            cells = [f"{100.0 * float(np.mean([r[name] for r in rates])):.2f}" for name in names]
            spread = "" if np.isnan(half) else f" ± {half:.4f}"
            rows.append([model, f"{threshold:g}", *cells, f"{area:.4f}{spread}"])
    heads = ["model", "threshold", "error", "sensitivity", "specificity", "precision", "neg. pred.", "F1", "AUC"]
    of_halves = "; means of random halves, the area with its 95 % interval" if judged == UNSEEN else ""
    return Table(f"Rates, {judged}", heads, rows, f"per cent but for the area{of_halves}")
