"""What an opponent tries against a verdict, on made-up races."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import experiments
from bench.experiments.frame import conduct, opponent
from bench.experiments.frame.experiment import Experiment, Part, Protocol, Trial, verdict_of
from bench.experiments.frame.shares import significant

KEPT = sorted((Path(__file__).parents[3] / "docs" / "results" / "experiments").glob("*/summary.json"))


class Race(Experiment):
    name, title, source, claim = "race", "A race", "folklore", "the hare is faster"
    protocol = Protocol("by foot", "by generator", "none")
    repeats, rivals = 20, ("hare", "tortoise")

    def setups(self, quick):
        return [{"field": name} for name in ("grass", "sand", "snow")]

    def prepare(self, data, quick):
        return None

    def run(self, prepared, parameters):
        return {}

    def tables(self, runs):
        return []

    def figure(self, runs):
        return None

    def verdict(self, runs):
        gains = [run["hare"] - run["tortoise"] for run in runs]
        snow = [run["hare"] - run["tortoise"] for run in runs if run["field"] == "snow"]
        both = [run["hare"] + run["tortoise"] for run in runs]
        return verdict_of(
            [
                Part("faster: mean gain", float(np.mean(gains)), ">", 0.2),
                Part("on snow, too: mean gain", float(np.mean(snow)), ">", 0.2),
                Part("they move: least sum", min(both), ">", 0.0),
                Part("hares tire: first gain", gains[0], ">", 0.2),
            ]
        )

    def trials(self, runs):
        return [Trial("another hare", "as fast")]


def races(gain=1.0, seeds=20):
    rng = np.random.default_rng(0)
    fields = {"grass": gain, "sand": gain, "snow": gain}
    return [
        {"field": name, "seed": k, "hare": 5.0 + more + 0.1 * rng.normal(), "tortoise": 5.0}
        for name, more in fields.items()
        for k in range(seeds)
    ]


def test_a_sure_claim_stands_and_its_empty_part_is_found():
    draws, units, spoiled, own = opponent.trials(Race(), races())
    assert draws.outcome == units.outcome == "every part is decided as before"
    assert units.tried.startswith("each of 3 units")
    assert "hare, tortoise" in spoiled.tried and spoiled.outcome.startswith("1 of the 4 parts")
    assert spoiled.outcome.endswith(": they move: least sum") and own == ("another hare", "as fast")


def test_a_claim_of_one_unit_or_of_half_of_the_draws_is_found():
    runs = races()
    for run in runs:
        run["hare"] -= 1.5 * (run["field"] == "sand")  # gains of 1, -.5 and 1: .5 in the mean, .25 without one of the 1
    found = opponent.units_left_out(Race(), runs, Race().verdict(runs).parts)
    assert found.outcome == "decided otherwise: hares tire: first gain (without field grass)"
    for run in runs:
        run["hare"] -= 0.6 * (run["field"] == "grass")
    found = opponent.units_left_out(Race(), runs, Race().verdict(runs).parts)
    assert "faster: mean gain (without field snow)" in found.outcome and "field sand" not in found.outcome
    runs = races()
    for run in runs:
        run["hare"] -= 0.9 * (run["seed"] % 2)
    draws = opponent.other_draws(Race(), runs, Race().verdict(runs).parts)
    assert "faster: mean gain (odd)" in draws.outcome and "(even)" not in draws.outcome


def test_set_ups_are_exchanged_where_no_rivals_are_named(monkeypatch):
    monkeypatch.setattr(Race, "rivals", ())
    runs = races()
    other = list(opponent._exchanged(Race(), runs, np.random.default_rng(0)))
    assert [(run["field"], run["seed"]) for run in other] == [(run["field"], run["seed"]) for run in runs]
    for k in range(20):
        before, after = (sorted(run["hare"] for run in some if run["seed"] == k) for some in (runs, other))
        assert before == after
    assert [run["hare"] for run in other] != [run["hare"] for run in runs]


def test_rivals_are_exchanged_in_nested_results_and_in_lists():
    rng = np.random.default_rng(0)
    run = {"seed": 0, "accuracy": {"a": 1.0, "b": 2.0, "c": 3.0}, "b": [1, 2, 3, 4]}
    found = [opponent._renamed(run, ("a", "b"), rng) for _ in range(20)]
    assert {one["accuracy"]["c"] for one in found} == {3.0} and {one["seed"] for one in found} == {0}
    assert {(one["accuracy"]["a"], one["accuracy"]["b"]) for one in found} == {(1.0, 2.0), (2.0, 1.0)}
    assert all(sorted(one["b"]) == [1, 2, 3, 4] for one in found) and len({tuple(one["b"]) for one in found}) > 3


def test_one_draw_has_no_halves_and_what_cannot_be_judged_decides_nothing():
    runs = races(seeds=1)
    assert opponent.other_draws(Race(), runs, Race().verdict(runs).parts) is None
    assert opponent.judged(Race(), []) == []


def test_holm_is_between_bonferroni_and_no_correction():
    p = np.random.default_rng(0).uniform(0.0, 0.02, 12)
    assert (p < 0.05 / p.size).sum() <= significant(p) <= (p < 0.05).sum()


@pytest.mark.full
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_every_page_tells_what_was_tried_against_it(path):
    """A page has at least two trials, which its kept runs give again, and tells its former verdict."""
    summary = json.loads(path.read_text())
    experiment = experiments.find(summary["name"])
    runs = conduct.kept(experiment, path.parent, summary["repeats"])[1]
    found = [trial._asdict() for trial in opponent.trials(experiment, runs)]
    assert found == summary["trials"] and len(found) >= 2
    before, decided = experiment.before
    assert before in ("confirmed", "in part", "not", "new") and decided and summary["before"] == [before, decided]
    page = (path.parent / "page.html").read_text("utf-8")
    assert "What would overturn this, and what was tried" in page and "Its verdict would be another by" in page
