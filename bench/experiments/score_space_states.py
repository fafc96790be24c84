"""score-space-states: accuracy by the number of hidden states and the share to train on (Li et al. 2013, Figure 1).

Written before the samples were drawn.  The vowels have nine machines and therefore fewer rounds and partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models import DiscreteHMM, FisherScore, FreeEnergyScore, MaxMarginScoreSpace, SufficientStatistics

from ..compare.tables import Table
from .experiment import Experiment, Parameters, Part, Protocol, Result, Verdict, verdict_of
from .score_space import (
    DATA,
    Cells,
    Sample,
    ScoreSpaces,
    accuracy_by_svm,
    by_setup,
    gain_part,
    halves_of,
    shown_accuracy,
)
from .shares import panels

STATES, PERCENTS = (2, 3, 4, 6, 8, 10), (10, 20, 30, 50, 70, 90)
FEW, MANY, HALF = 3, 10, 50
METHODS = ("FS", "FESS", "SS", "MSS")
REPEATS = {"promoters": 10, "vowels": 5}
ROUNDS = {"promoters": 40, "vowels": 10}
EM_STEPS = 10


class StatesAndShares(Experiment):
    """Figure 1."""

    name = "score-space-states"
    title = "Score spaces by the number of states and the share of training samples"
    source = "Li, Wang, Liu and Lee 2013, Figure 1 and section 5.3"
    claim = (
        "MSS works well with a few hidden states, fewer than the other score spaces need, and is above them whatever "
        "the share of the samples that is trained on."
    )
    protocol = Protocol(
        paper="Chicken pieces (five classes), binary problems averaged; accuracy by the number of hidden states, and "
        "by the share of training samples; FS, FESS, SS and MSS.",
        ours="Promoters (10 random partitions) and Japanese vowels (5): 2 to 10 states with half to train on; 10 to "
        "90 % to train on with 3 and 10 states. Near-uniform start, 10 EM steps; MSS with a model for each class, 40 "
        "rounds on promoters and 10 on vowels.",
        differences="Other data, as the paper's are not to be had; all classes at once; the start and the EM steps, "
        "which the paper does not print, are those where SS is as printed.",
    )
    repeats = 10

    def runs(self, repeats: int, quick: bool) -> list[Parameters]:
        if quick:
            return [{"data": "promoters", "seed": 0, "states": S, "percent": p} for S, p in ((2, 50), (3, 50), (3, 90))]
        setups = [(S, HALF) for S in STATES] + [(S, p) for p in PERCENTS if p != HALF for S in (FEW, MANY)]
        return [
            {"data": name, "seed": seed, "states": states, "percent": percent}
            for name in sorted(REPEATS, reverse=True)
            for seed in range(min(repeats, REPEATS[name]))
            for states, percent in setups
        ]

    def prepare(self, data: str | None, quick: bool) -> dict[str, Sample]:
        return ScoreSpaces().prepare(data, quick)

    def run(self, prepared: dict[str, Sample], parameters: Parameters) -> Result:
        name, seed = parameters["data"], parameters["seed"]
        (X, y, new, truth), K = halves_of(prepared[name], (2031, seed), parameters["percent"] / 100.0)
        settings: dict[str, Any] = {"init": "near_uniform", "max_iter": EM_STEPS, "tol": 0.0, "random_state": seed}
        model = DiscreteHMM(parameters["states"], K, **settings)
        spaces = {"FS": FisherScore(model), "FESS": FreeEnergyScore(model), "SS": SufficientStatistics(model)}
        first = spaces["SS"].fit(X, y)
        learned = MaxMarginScoreSpace(model, per_class=True, max_iter=ROUNDS[name], tol=0.0, n_init=1).fit(X, y)
        spaces["MSS"] = SufficientStatistics(model)
        found = {}
        for method, space in spaces.items():
            space.models_ = learned.models_ if method == "MSS" else first.models_
            found[method] = accuracy_by_svm(space.transform(X), y, space.transform(new), truth)
        return {"accuracy": found}

    def tables(self, runs: list[Result]) -> list[Table]:
        cells, found = by_setup(runs, "data", "states", "percent"), []
        note = "Accuracy in percent, and the standard error of its mean over the random partitions."
        for name in sorted({run["data"] for run in runs}):
            own = _chosen(cells, name, None, None).items()
            rows = [
                [str(S), str(percent), *(shown_accuracy(cell[m]) for m in METHODS)] for (_, S, percent), cell in own
            ]
            found.append(Table(DATA[name], ["states", "% to train on", *METHODS], rows, note))
        return found

    def figure(self, runs: list[Result]) -> Any:
        cells = by_setup(runs, "data", "states", "percent")
        names = sorted({run["data"] for run in runs})
        figure, places = panels(len(names), 2, (9.0, 3.0 * len(names) + 0.5), sharey="row")
        for row, name in zip(places, names):
            for method in METHODS:
                few = FEW if method == "MSS" else MANY
                for axes, pick, place in ((row[0], (None, HALF), 0), (row[1], (few, None), 1)):
                    points = {key[1 + place]: cell[method].mean() for key, cell in _chosen(cells, name, *pick).items()}
                    where = sorted(points)
                    axes.plot(where, [points[x] for x in where], marker="o", markersize=3, label=method)
            row[0].set(xlabel="states", ylabel="accuracy (%)", title=DATA[name])
            row[1].set(xlabel=f"% to train on (MSS {FEW} states, others {MANY})", title=DATA[name])
        figure.axes[0].legend(fontsize="small")
        return figure

    def verdict(self, runs: list[Result]) -> Verdict:
        cells, parts = by_setup(runs, "data", "states", "percent"), []
        for name in sorted({run["data"] for run in runs}):
            half = _chosen(cells, name, None, HALF)
            few, many = half.get((name, FEW, HALF)), half.get((name, MANY, HALF))
            if few and many:
                gain = few["MSS"] - np.max([many[m] for m in METHODS[:-1]], axis=0)
                words = f"{DATA[name]}: MSS with {FEW} states above the others with {MANY}: least gain in"
                parts.append(gain_part(words, gain))
            wins, total = _wins(cells, name)
            if total:
                words = f"{DATA[name]}: so in the mean at every share of training samples: share"
                parts.append(Part(words, wins / total, "==", 1.0))
        return verdict_of(
            parts, "More states go on helping MSS, too; what it gains depends on the start of EM (score-space-tilt)."
        )


def _chosen(cells: Cells, name: str, states: int | None, percent: int | None) -> Cells:
    return {
        key: cell
        for key, cell in cells.items()
        if key[0] == name and states in (None, key[1]) and percent in (None, key[2])
    }


def _wins(cells: Cells, name: str) -> tuple[int, int]:
    """At how many shares, of how many, MSS with few states is above all others with many, in the mean."""
    won = []
    for percent in PERCENTS:
        few, many = cells.get((name, FEW, percent)), cells.get((name, MANY, percent))
        if few and many:
            won.append(few["MSS"].mean() > max(many[m].mean() for m in METHODS[:-1]))
    return sum(won), len(won)
