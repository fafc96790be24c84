"""The worked examples under docs/examples run, and what they claim holds."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.data import data_folder
from tests.test_docs import DOCS, module_of_the_docs


def example(name):
    return module_of_the_docs(f"examples/{name}")


def test_the_controller_brings_the_cart_to_rest_within_its_force():
    path = example("mpc_loop").main()
    assert np.abs(path[:, 2]).max() <= 1.0 + 1e-6 and np.abs(path[-1, :2]).max() < 0.05


def test_the_frontier_trades_risk_for_return():
    frontier = example("portfolio_frontier").main()
    assert np.all(np.diff(frontier, axis=0) > 0.0)


def test_robust_least_squares_has_the_smaller_worst_residual():
    worst, solution = example("robust_least_squares").main()
    assert worst["robust"] < worst["plain"] and solution.objective == pytest.approx(worst["robust"], rel=1e-6)


def test_the_machine_is_the_program_that_is_written_down():
    machine, difference = example("support_vectors").main()
    assert machine.solution_.status == "optimal" and difference < 1e-3


@pytest.mark.full
def test_fifteen_fits_reach_the_loss_of_a_grid():
    found, best = example("svm_by_gradient").main()
    assert len(found.trace) == 15 and found.loss <= best


def test_the_certificate_adds_up_to_a_contradiction():
    left, right = example("certificate").main()
    assert left < 1e-7 and right == pytest.approx(-1.0, abs=1e-7)


def test_cvxpy_finds_the_same_optimum():
    pytest.importorskip("cvxpy")
    values = example("cvxpy_swap").main()
    assert values["CENTRALPATH"] == pytest.approx(values["CLARABEL"], rel=1e-6)


def test_many_rows_give_the_rule_that_drew_them():
    for name, (model, cosine) in example("many_rows").main(30_000, 7_000).items():
        assert cosine > 0.99, name
        assert model.coef_.shape == (1, 20)


@pytest.mark.full
def test_the_search_runs_on_workers():
    pytest.importorskip("distributed")
    pytest.importorskip("sklearn")
    search, solutions = example("dask_search").main()
    assert search.best_score_ > 0.8 and all(solution.status == "optimal" for solution in solutions)


@pytest.mark.full
def test_both_classifiers_tell_two_newsgroups_apart(monkeypatch):
    folder = data_folder("")
    if not (folder / "20news-bydate.tar.gz").is_file():
        pytest.skip(f"no 20news-bydate.tar.gz in {folder}")
    monkeypatch.setenv("CENTRALPATH_DATA", str(folder))
    accuracy = example("bilevel_newsgroups").main()
    assert min(accuracy.values()) > 0.6


def test_a_prior_helps_where_samples_are_few():
    assert example("prior_from_a_table").gains(6, 10).mean() > 0.02


@pytest.mark.full
def test_a_prior_helps_less_the_more_samples_there_are():
    found = example("prior_from_a_table").main()
    assert found[6].mean() > 0.02 and found[20].mean() > 0.01 and abs(found[160].mean()) < 0.01


@pytest.mark.full
def test_marked_words_help_and_marked_halves_of_digits_do_not():
    found = {name: gain.mean(axis=0) for name, gain in example("marked_words").main().items()}
    assert min(found["texts", 20][0], found["texts", 80][0], found["texts", 160][0]) > 0.05
    assert found["texts", 80][1] > 0.05 and found["texts", 160][1] < 0.0 and found["digits", 20][0] < 0.01


@pytest.mark.full
def test_a_score_space_of_many_sequences_sees_what_pairs_do_not():
    found = {samples: gain.mean(axis=0) for samples, gain in example("how_long_states_last").main().items()}
    assert found[200].min() > 0.02 and found[20].max() < 0.01


def test_every_example_is_on_the_page_and_tested():
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    tests = Path(__file__).read_text(encoding="utf-8")
    names = sorted(path.stem for path in (DOCS / "examples").glob("*.py"))
    assert len(names) == 13
    for name in names:
        assert f"examples/{name}.py" in page and f'example("{name}")' in tests
