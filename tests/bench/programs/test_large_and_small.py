"""The sets `large` and `small`: the same bits for the same seed, solvable, and of the sizes that they name."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from bench.answers import answer
from bench.answers.verify import verify
from bench.programs import catalogue, large, many, small

ALL = {
    **{f"large {name}": f for name, f in large.CLASSES.items()},
    **{f"small {n}": f for n, f in small.FUNCTIONS.items()},
}


@pytest.mark.parametrize("size", [2, 3, 40])
@pytest.mark.parametrize("name", ALL)
def test_every_program_has_an_optimum(name, size):
    program = ALL[name](size, 1)
    solution = answer.solve(program)
    assert solution.status is socp.Status.OPTIMAL
    assert verify(program, solution.x, solution.y, solution.z).solved(1e-6)


@pytest.mark.parametrize("name", small.FUNCTIONS)
def test_small_programs_have_about_as_many_variables_as_they_say(name):
    for size in (30, 100, 300):
        assert 0.7 * size <= small.FUNCTIONS[name](size, 0).n <= 1.3 * size


def test_objectives_of_many_are_around_the_given_one_in_its_size():
    v = np.linspace(-2.0, 1.0, 7)
    for scale, size in ((1.0, 2.0), (100.0, 200.0), (0.0, 1.0)):
        found, k, rng = many.drawn(scale * v)
        again = np.random.default_rng(0)
        np.testing.assert_allclose(found, scale * v + size * again.normal(size=(k, 7)), rtol=1e-13, atol=0.0)
        assert rng.random() == again.random()
    sizes = [many.drawn(np.ones(n))[1] for n in (1, 30, 10_000)]
    assert sizes == [many.MOST, int(many.WORK / 900), many.LEAST]


def test_rows_of_large_programs_have_five_entries():
    for made in (large.banded, large.random_rows):
        A = made(1000, 0).A
        per_row = np.diff(sp.csr_array(A).indptr)
        assert A.shape == (500, 1000) and per_row.max() == 5 and per_row.mean() > 4.9
    dense = np.diff(sp.csr_array(large.dense_rows(1000, 0).A).indptr)
    assert (dense[-4:] == 1000).all() and dense[:-4].max() == 5


def test_a_sum_of_norms_is_the_function_in_its_line():
    program, rng = large.random_cones(40, 2), np.random.default_rng(0)
    x = rng.normal(size=40)
    s = program.h - program.G @ np.concatenate([x, np.zeros(10)])
    lengths = np.linalg.norm(s.reshape(10, 3)[:, 1:], axis=1)
    point = np.concatenate([x, lengths])
    inside = (program.h - program.G @ point).reshape(10, 3)
    np.testing.assert_allclose(inside[:, 0], np.linalg.norm(inside[:, 1:], axis=1), rtol=1e-14)
    np.testing.assert_array_equal(program.P @ point, np.concatenate([x, np.zeros(10)]))


def test_the_sets_by_size():
    names = [case.name for case in catalogue.cases("large", "small")]
    assert names == [f"{name}_{catalogue.SIZES['large'][name][0]}" for name in large.CLASSES]
    cases = catalogue.cases("small", "10")
    assert {case.group for case in cases} == set(small.CLASSES) and {case.size for case in cases} == {10}
    assert all(("clarabel" in case.peers) != (case.group == "control_loop") for case in cases)
