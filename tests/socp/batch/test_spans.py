"""Bands: an order that finds them, spans that hold every entry, factors within them."""

import itertools

import numpy as np
import pytest

from socp.batch.dense import (
    assemble_own,
    assemble_shared,
    eliminate,
    multiply_shared,
    multiply_transposed_shared,
    solve,
)
from socp.batch.spans import narrow_band, ordered_spans, spans_of
from socp.compiled.vec import LANES, lane_rows


def chain(steps, rng, states=3, inputs=1):
    """Return P and A with the pattern of an optimal control problem, its variables and rows in random order."""
    n, m = steps * (states + inputs), (steps - 1) * states
    A = np.zeros((m, n))
    for t in range(steps - 1):
        here = (states + inputs) * t
        rows = slice(states * t, states * (t + 1))
        A[rows, here : here + states + inputs] = rng.normal(size=(states, states + inputs))
        A[rows, here + states + inputs : here + 2 * states + inputs] = np.eye(states)
    columns = rng.permutation(n)
    return np.diag(rng.uniform(1.0, 2.0, n))[:, columns][columns], A[rng.permutation(m)][:, columns]


def inside(spans, A, T):
    """Return True if all entries of A and T lie inside the spans."""
    i, j = np.nonzero(A)
    rows = (spans.row_first[i] <= j) & (j < spans.row_end[i])
    columns = (spans.column_first[j] <= i) & (i < spans.column_end[j])
    i, j = np.nonzero(np.abs(np.tril(T)) > 1e-14)
    return rows.all() and columns.all() and ((spans.begin[i] <= j) & (i < spans.end[j])).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_band_is_found_and_holds_every_entry(seed):
    P, A = chain(12, np.random.default_rng(seed))
    spans = ordered_spans(P[None], A[None], np.arange(33))
    P2, A2 = P[np.ix_(spans.columns, spans.columns)], A[np.ix_(spans.rows[:33], spans.columns)]
    factor = np.linalg.cholesky(P2 + A2.T @ A2)
    assert inside(spans, A2, factor) and (np.arange(48) - spans.begin).max() <= 12
    for name in ("row_first", "row_end", "column_first", "column_end", "begin", "end"):
        assert (np.diff(getattr(spans, name)) >= 0).all()
    assert sorted(spans.rows) == list(range(81)) and (spans.rows[33:] == 33 + spans.columns).all()


def staircase(pattern):
    """Return the first columns and the ends of the rows, widened so that neither decreases from one row to the next."""
    n = pattern.shape[1]
    first = [min((j for row in pattern[i:] for j in np.flatnonzero(row)), default=n) for i in range(len(pattern))]
    return first, [max((j + 1 for row in pattern[: i + 1] for j in np.flatnonzero(row)), default=0)
                   for i in range(len(pattern))]  # fmt: skip


@pytest.mark.parametrize("n, m", [(6, 9), (1, 1), (5, 0), (0, 3), (9, 4)])
@pytest.mark.parametrize("density", [0.0, 0.15, 0.5])
def test_spans_are_the_least_that_hold_every_entry(n, m, density):
    rng = np.random.default_rng(n)
    for start in ([0], [0, 0], [0, m // 2], [0, m // 3, m]):
        P, A = (rng.random(shape) < density for shape in ((n, n), (m, n)))
        spans = spans_of(P * 1.0, A * 2.0, np.array(start))
        assert (spans.row_first.tolist(), spans.row_end.tolist()) == staircase(A)
        assert (spans.column_first.tolist(), spans.column_end.tolist()) == staircase(A.T)
        factor, cones = P | P.T | np.eye(n, dtype=bool), [A[i:j].any(axis=0) for i, j in itertools.pairwise(start)]
        for row in [*cones, *A[start[-1] :]]:
            factor |= np.outer(row, row)
        assert spans.begin.tolist() == staircase(np.tril(factor))[0]
        assert spans.end.tolist() == [sum(begin <= j for begin in spans.begin) for j in range(n)]
        used = [np.flatnonzero(cone) for cone in cones]
        assert spans.cone_first.tolist() == [one.min(initial=n) for one in used]
        assert spans.cone_end.tolist() == [(one + 1).max(initial=0) for one in used]


def test_a_band_is_worth_an_order_up_to_its_share():
    for width, is_narrow in ((2, True), (4, True), (5, False), (9, False)):  # of 45 entries 17, 30, 35, all
        P = (np.abs(np.subtract.outer(np.arange(10), np.arange(10))) <= width) * 1.0
        assert (narrow_band(P, np.zeros((0, 10))) is not None) == is_narrow
        if is_narrow:
            columns, rows = narrow_band(P, np.eye(10)[::-1])
            assert columns.tolist() in ([*range(10)], [*range(9, -1, -1)]) and (9 - rows == columns).all()


def test_dense_matrices_keep_their_order():
    rng = np.random.default_rng(0)
    P, A = rng.normal(size=(1, 6, 6)), rng.normal(size=(1, 4, 6))
    spans = ordered_spans(P, A, np.array([2, 0]))
    assert list(spans.rows) == [2, 0, *range(4, 10)] and (spans.columns == np.arange(6)).all()
    assert spans.row_first.size == 2 and (spans.begin == 0).all()
    assert narrow_band(np.zeros((5, 5)), np.ones((1, 5))) is None


@pytest.mark.parametrize(("n", "m"), [(1, 0), (2, 1), (7, 3), (16, 5)])
@pytest.mark.parametrize("banded", [False, True])
def test_factors_solve_with_the_assembled_matrix(n, m, banded):
    rng = np.random.default_rng(n)
    P, A = np.eye(n) + 0.1, rng.normal(size=(m, n))
    if banded:
        P = np.diag(rng.uniform(1.0, 2.0, n))
        A[np.abs(np.subtract.outer(np.arange(m) * max(n // max(m, 1), 1), np.arange(n))) > 2] = 0.0
    spans = spans_of(P, A)
    w, C, T, pivots, b = (lane_rows(size) for size in (m + n, n * n, n * n, n, n))
    w[:], b[:] = rng.uniform(0.5, 2.0, size=w.shape), rng.normal(size=b.shape)
    given = b.copy()
    for kind in ("shared", "own"):
        C[:] = T[:] = 0.0
        b[:] = given
        if kind == "shared":
            assemble_shared(m, n, P.ravel(), A.ravel(), spans, w, C)
        else:
            own = [np.ascontiguousarray(np.repeat(part.reshape(-1, 1), LANES, axis=1)) for part in (P, A)]
            assemble_own(m, n, *own, spans, w, C)
        eliminate(n, spans, C, T, pivots)
        solve(n, spans, T, pivots, b)
        for lane in range(LANES):
            H = P + A.T @ np.diag(w[:m, lane]) @ A + np.diag(w[m:, lane])
            assert np.allclose(H @ b[:, lane], given[:, lane], rtol=1e-10, atol=1e-10)


def test_products_within_spans():
    rng = np.random.default_rng(1)
    P, A = chain(5, rng)
    (m, n), spans = A.shape, ordered_spans(P[None], A[None], np.arange(len(A)))
    A2 = A[np.ix_(spans.rows[:m], spans.columns)]
    x, v, out = lane_rows(n), lane_rows(m + n), lane_rows(m + n)
    x[:], v[:] = rng.normal(size=x.shape), rng.normal(size=v.shape)
    multiply_shared(m, n, A2.ravel(), spans.row_first, spans.row_end, x, out)
    assert np.allclose(out[:m], A2 @ x)
    multiply_transposed_shared(m, n, A2.ravel(), spans.column_first, spans.column_end, v, x)
    assert np.allclose(x, A2.T @ v[:m] + v[m:])
