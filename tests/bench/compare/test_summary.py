"""Means, counts, ratios and profiles, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from bench.compare.measurement import Measurement
from bench.compare.summary import Results, comparisons, profile, shifted_geometric_mean, summaries


def measured(program, solver, seconds, verdict="solved", form="", **more):
    status = "optimal" if verdict in ("solved", "WRONG") else "max_iterations"
    return Measurement(program, "class", 1, solver, form, status, verdict, seconds, **more)


def test_shifted_geometric_mean():
    assert shifted_geometric_mean([0.0, 0.03], 0.01) == pytest.approx(0.01)  # sqrt(0.01 * 0.04) - 0.01
    assert shifted_geometric_mean([2.0, 8.0], 0.0) == pytest.approx(4.0)
    assert shifted_geometric_mean([5.0]) == pytest.approx(5.0)
    assert math.isnan(shifted_geometric_mean([]))


@pytest.fixture
def results():
    return Results(
        [
            measured("a", "centralpath", 1.0, iterations=10, peak_megabytes=100.0),
            measured("b", "centralpath", 2.0, iterations=20, peak_megabytes=300.0),
            measured("c", "centralpath", 3.0, "failed"),
            measured("a", "fast", 0.5, iterations=5),
            measured("b", "fast", 9.0, "WRONG", iterations=7),
            measured("c", "fast", 4.0, iterations=9),
            measured("a", "forms", 8.0, form="product"),
            measured("a", "forms", 2.0, form="factored"),
            measured("b", "forms", 0.1, "failed", form="product"),
            measured("b", "forms", 11.0, form="factored"),  # verified, but beyond the limit
        ],
        limit=10.0,
        shift=0.0,
    )


def test_counts(results):
    lines = {line.solver: line for line in summaries(results)}
    assert list(lines) == ["centralpath", "fast", "forms"]
    counts = {name: (line.taken, line.solved, line.wrong, line.failed) for name, line in lines.items()}
    assert counts == {"centralpath": (3, 2, 0, 1), "fast": (3, 2, 1, 0), "forms": (2, 1, 0, 1)}


def test_failures_and_wrong_answers_count_the_limit(results):
    lines = {line.solver: line for line in summaries(results)}
    assert lines["centralpath"].mean == pytest.approx((1 * 2 * 10) ** (1 / 3))
    assert lines["fast"].mean == pytest.approx((0.5 * 10 * 4) ** (1 / 3))
    assert lines["forms"].mean == pytest.approx((2 * 10) ** 0.5)


def test_our_mean_is_over_what_the_other_takes(results):
    line = summaries(results)[2]
    assert line.our_mean == pytest.approx((1 * 2) ** 0.5)
    assert line.ratio == pytest.approx((2 / 20) ** 0.5)


def test_iterations_are_over_what_both_solved_and_memory_is_the_largest(results):
    ours, fast, _ = summaries(results)
    assert (fast.iterations, fast.our_iterations) == (5.0, 10.0)
    assert ours.iterations == 15.0 and ours.peak_megabytes == 300.0 and math.isnan(fast.peak_megabytes)


def test_the_better_form_counts_and_a_wrong_one_only_where_none_is_solved():
    def verdict(*forms):
        found = Results([measured("p", "s", t, v, form=str(k)) for k, (t, v) in enumerate(forms)], 10.0)
        return found.best["p", "s"].verdict, found.best["p", "s"].seconds

    assert verdict((1.0, "WRONG"), (5.0, "solved")) == ("solved", 5.0)
    assert verdict((3.0, "solved"), (2.0, "certified")) == ("certified", 2.0)
    assert verdict((1.0, "failed"), (5.0, "WRONG")) == ("WRONG", 5.0)


def test_comparison_with_the_fastest_peer(results):
    lines = {line.program: line for line in comparisons(results)}
    assert lines["a"].best.solver == "fast" and lines["a"].ratio == pytest.approx(2.0)
    assert lines["b"].best is None and math.isnan(lines["b"].ratio)  # nobody else solved it
    assert lines["c"].ratio == pytest.approx(10.0 / 4.0)  # our failure counts the limit


def test_profile(results):
    steps = profile(results)
    factors, shares = steps["centralpath"]
    assert np.allclose(factors, [1.0, 2.0]) and np.allclose(shares, [1 / 3, 2 / 3])
    factors, shares = steps["fast"]
    assert np.allclose(factors, [1.0, 1.0]) and np.allclose(shares, [1 / 3, 2 / 3])
    factors, shares = steps["forms"]
    assert np.allclose(factors, [4.0]) and np.allclose(shares, [1 / 3])


def test_nothing_measured():
    results = Results([], 10.0)
    assert summaries(results) == [] and comparisons(results) == [] and profile(results) == {}
