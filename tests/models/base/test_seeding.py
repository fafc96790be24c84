"""Rows that are drawn far from each other: the odds of k-means++, rows that are all alike, and means of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp

from models.base.seeding import cluster_means, spread_rows

ROWS = np.array([[0.0, 1.0], [3.0, 1.0], [0.0, 5.0], [0.0, 1.0], [-1.0, -1.0]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 3.0, 1.5])])
def test_rows_are_drawn_by_weight_times_squared_distance_to_the_nearest_drawn_before(kind, weights):
    plain, asked = np.ones(5) if weights is None else weights, []

    class Recorded(np.random.Generator):
        def choice(self, size, p):
            asked.append(p)
            return super().choice(size, p=p)

    for seed in range(20):
        asked.clear()
        chosen = spread_rows(kind(ROWS), 4, Recorded(np.random.PCG64(seed)), weights)
        for k, p in enumerate(asked[-3:], 1):
            nearest = ((ROWS[:, None] - ROWS[chosen[:k]]) ** 2).sum(axis=2).min(axis=1)
            np.testing.assert_allclose(p, plain * nearest / (plain @ nearest), atol=1e-15)
        if weights is not None:
            np.testing.assert_allclose(asked[0], weights / weights.sum())
    far = 1e3 + np.random.default_rng(1).random((30, 9))  # where rounding leaves a distance to the row itself
    asked.clear()
    chosen = spread_rows(kind(far), 20, Recorded(np.random.PCG64(0)), np.ones(30))
    assert all(not p[chosen[:k]].any() for k, p in enumerate(asked)) and len(set(chosen)) == 20
    assert sorted(set(spread_rows(kind(ROWS[[0, 3]]), 9, np.random.default_rng(0)))) == [0, 1]
    weights = np.array([1.0, 0.0])  # all rows of positive weight are drawn
    assert spread_rows(kind(ROWS[:2]), 3, np.random.default_rng(0), weights).tolist() == [0, 0, 0]


def test_means_of_clusters_are_those_of_the_rows_nearest_to_them():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    rows = np.repeat(centres, 7, axis=0) + rng.uniform(-1.0, 1.0, (21, 2))
    means = cluster_means(rows, 3, rng)
    expected = rows.reshape(3, 7, 2).mean(axis=1)
    np.testing.assert_allclose(means[np.lexsort(means.round().T[::-1])], expected[np.lexsort(centres.T[::-1])])
    alike = cluster_means(np.ones((4, 2)), 3, rng)  # a mean of no row stays
    np.testing.assert_array_equal(alike, np.ones((3, 2)))
