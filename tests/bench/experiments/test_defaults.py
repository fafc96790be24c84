"""The knowledge of the page of defaults is what is published, and its numbers are those of the models."""

import numpy as np
import pytest

from bench.experiments.defaults import (
    BILEVEL,
    Defaults,
    drawn,
    lead,
    likely_letters,
    p_of,
    prior_of,
)
from bench.experiments.frame.experiment import perform
from tests.support.data import data_folder


def test_the_words_of_a_theory_are_at_their_places():
    donors = likely_letters("donors")  # MAG|GTRAGT, the junction before place 30
    assert donors[30].tolist() == [0, 0, 1, 0] and donors[31].tolist() == [0, 0, 0, 1]
    assert donors[27].tolist() == [0.5, 0.5, 0, 0] and donors.any(axis=1).sum() == 9
    acceptors = likely_letters("acceptors")  # YAG|G
    assert acceptors[28].tolist() == [1, 0, 0, 0] and acceptors[29].tolist() == [0, 0, 1, 0]
    assert not acceptors[26].any()  # N says nothing
    sums = likely_letters("promoters").sum(axis=1)
    assert sums.max() == pytest.approx(1.0) and sums[:13].max() == 0.0


def test_a_prior_of_a_theory_has_shares_as_means():
    prior = prior_of("promoters")
    shares = prior.t.reshape(2, 57, 4)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    assert shares[0].std() == 0.0 and shares[1].min() > 0.0 and shares[1].max() == pytest.approx(0.7)


def test_draws_are_of_all_classes_and_leave_the_rest():
    y = np.repeat([0, 1, 2], 50)
    train, test = drawn(y, 30, 1)
    assert np.bincount(y[train]).tolist() == [10, 10, 10] and not set(train) & set(test) and test.size == 120


def test_leads_are_judged_in_pairs():
    runs = [{"ours": 90.0 + k, "plain": 89.5 + k, "other": 91.0} for k in range(4)]
    assert lead(runs, "plain") == 0.5 and p_of(runs, "plain") == 0.0
    assert lead(runs, "other") == 0.5 and p_of(runs, "other") > 0.4


def test_a_run_has_the_three_accuracies():
    parameters = {"model": BILEVEL, "data": "promoters", "seed": 0}
    found = perform(Defaults(), str(data_folder("uci").parent), True, parameters)
    assert found["ours"] > 80.0 and found["other"] > 80.0 and 50.0 < found["plain"] <= 100.0
