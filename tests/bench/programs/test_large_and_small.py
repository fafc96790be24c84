"""The sets `large` and `small`: objectives of many programs, their descriptions, and the sizes named there."""

import numpy as np

from bench.programs import catalogue, large, many, small


def test_objectives_of_many_are_around_the_given_one_in_its_size():
    v = np.linspace(-2.0, 1.0, 7)
    for scale, size in ((1.0, 2.0), (100.0, 200.0), (0.0, 1.0)):
        found, k, rng = many.drawn(scale * v)
        again = np.random.default_rng(0)
        np.testing.assert_allclose(found, scale * v + size * again.normal(size=(k, 7)), rtol=1e-13, atol=0.0)
        assert rng.random() == again.random()
    sizes = [many.drawn(np.ones(n))[1] for n in (1, 30, 10_000)]
    assert sizes == [many.MOST, int(many.WORK / 900), many.LEAST]


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
