"""Runs, watched from Python."""

import numpy as np

import socp


def test_an_iterate_can_still_be_looked_at_when_the_run_is_over(hard):
    iterates = []
    solution = socp.solve(hard, callback=iterates.append)
    for name in ("x", "y", "z", "s"):  # its point is the run's, which went on
        np.testing.assert_array_equal(getattr(iterates[-1], name), getattr(solution, name))
    assert [iterate.iteration for iterate in iterates] == list(range(len(iterates)))
