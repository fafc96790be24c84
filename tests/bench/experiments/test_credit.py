"""The lecture's credit card example: on made-up customers, and its table on the real ones."""

import numpy as np

from bench.data import Default
from bench.experiments.credit import SEEN, UNSEEN, CreditDefault


def made_up():
    rng = np.random.default_rng(0)
    defaulted = rng.random(600) < 0.2
    balance = rng.normal(800.0 + 700.0 * defaulted, 300.0)
    return Default(defaulted, rng.random(600) < 0.3, balance, rng.normal(30000.0, 5000.0, 600))


def test_halves_are_random_and_the_same_for_every_model():
    runs = CreditDefault().runs(10, quick=False)
    assert {(run["judged"], run["seed"]) for run in runs} == {(SEEN, 0), *((UNSEEN, seed) for seed in range(10))}
    prepared = made_up()
    areas = [CreditDefault().run(prepared, run)["area"] for run in runs if run["model"] == "LDA"]
    assert len(set(areas)) == 11
