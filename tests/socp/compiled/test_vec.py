"""The vector type: every operation in every lane, also with scalars."""

import numpy as np

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Matrix
from socp.compiled.structures import Structure
from socp.compiled.vec import (
    LANES,
    absolute,
    lane_numbers,
    lane_rows,
    largest,
    load,
    root,
    select,
    smallest,
    splat,
    store,
)


@kernel
def every_operation(a: Matrix, c: Floats, out: Matrix) -> None:
    v, w, number = load(a, 0), load(a, 1), load(c, 1)
    store(out, 0, v + w * number - 2.0)
    store(out, 1, 1.0 / v + w / v)
    store(out, 2, -v)
    store(out, 3, select((v > w) & (v < 3.0), v, 0.0))
    store(out, 4, select((v <= w) | (v >= 3.0), 1.0, w))
    store(out, 5, largest(v, w))
    store(out, 6, smallest(v, 0.5))
    store(out, 7, absolute(v) + root(absolute(w)))
    total = splat(0.0)
    for i in range(2):
        total += load(a, i)
    store(out, 8, total)


def test_every_operation_works_lane_by_lane():
    rng = np.random.default_rng(0)
    a, out, c = 2.0 * rng.normal(size=(2, LANES)), lane_rows(9), np.array([7.0, 3.0])
    every_operation(a, c, out)
    v, w = a
    expected = [
        v + 3.0 * w - 2.0, 1.0 / v + w / v, -v, np.where((v > w) & (v < 3), v, 0.0),
        np.where((v <= w) | (v >= 3), 1.0, w), np.maximum(v, w), np.minimum(v, 0.5), np.abs(v) + np.sqrt(np.abs(w)),
        v + w,
    ]  # fmt: skip
    assert np.allclose(out, expected, rtol=1e-14)


def test_a_nan_stays_in_its_lane():
    a, out = np.ones((2, LANES)), lane_rows(9)
    every_operation(a, np.array([0.0, 3.0]), out)
    clean = out.copy()
    a[:, 3] = np.nan
    every_operation(a, np.array([0.0, 3.0]), out)
    others = np.arange(LANES) != 3
    assert np.isnan(out[0, 3]) and np.array_equal(out[:, others], clean[:, others])


def test_a_number_for_each_lane_is_a_field():
    class Pair(Structure):
        one, two = lane_numbers(), lane_numbers()

    pair, values = Pair(), np.arange(1.0, 1.0 + LANES)
    pair.one, pair.two = values, 3.0
    kept = pair.one
    pair.one = -values
    assert kept.tolist() == values.tolist() and pair.one.tolist() == (-values).tolist()
    assert pair.two.tolist() == [3.0] * LANES


def test_rows_of_lanes_begin_at_a_line_of_the_cache():
    rows = lane_rows(5)
    assert rows.shape == (5, LANES) and rows.ctypes.data % 64 == 0 and not rows.any()
