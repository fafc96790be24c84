"""Structures have equal fields in Python and in kernels."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from socp.compiled.kernels import INTERPRETED, address_of, inner, kernel, kernel_type
from socp.compiled.signatures import Floats
from socp.compiled.structures import (
    Structure,
    dimension,
    flag,
    floats,
    integer,
    integers,
    matrix,
    number,
    records,
    structure,
)

RECORD = np.dtype([("count", np.int64), ("value", np.float64)])


class Part(Structure):
    n = integer()
    weight = number()
    x = floats("n")
    apply_address = integer()


class Scaled(Part):
    factor = number()
    y = floats("2 * n")


class Whole(Structure):
    part = structure(Part)
    done, scale = flag(), number()
    order, places = integers("n + 1"), integers("n")
    given = floats()
    table = matrix("n, 3")
    rows = records(RECORD, "n")


@inner
def scale_part(part: Part, factor: float) -> float:
    x = part.x
    for i in range(part.n):
        x[i] *= factor
    part.weight += factor
    return part.weight


@kernel_type
def call(address: int, part: Part, factor: float) -> float:
    """Call the kernel at `address`."""


@inner
def apply_scaled(part: Scaled, factor: float) -> float:
    part.y[0] = factor * part.factor
    return scale_part(part, factor)


@kernel
def work(whole: Whole) -> float:
    part, table, rows = whole.part, whole.table, whole.rows
    weight = call(part.apply_address, part, whole.scale)
    for i in range(part.n):
        whole.order[i] = i + whole.order.size
        whole.places[i] = i
        table[i, 2] = whole.given[i]
        rows[i]["count"] = i
        rows[i]["value"] = weight
    whole.done = weight > 1.0
    return weight


class Table(Structure):
    rows, columns = dimension(), dimension()
    entries, values = floats("rows * columns"), floats()


@kernel
def last_value(table: Table) -> float:
    return table.values[table.values.size - 1] + table.rows * table.columns


def made(n=3):
    part = Scaled(n=n)
    part.n, part.weight, part.factor = n, 0.5, 10.0
    part.x[:] = np.arange(n) + 1.0
    part.apply_address = address_of(apply_scaled)
    whole = Whole(n=n)
    whole.part, whole.scale, whole.given = part, 2.0, np.full(n, 7.0)
    return whole


def test_kernels_read_and_write_what_python_sees():
    whole = made()
    assert work(whole) == 2.5
    np.testing.assert_array_equal(whole.part.x, [2.0, 4.0, 6.0])
    assert whole.part.weight == 2.5 and whole.done is True and whole.part.n == 3
    np.testing.assert_array_equal(whole.order, [4, 5, 6, 0])
    np.testing.assert_array_equal(whole.places, np.arange(3))
    np.testing.assert_array_equal(whole.table, [[0, 0, 7.0]] * 3)
    np.testing.assert_array_equal(whole.rows["count"], [0, 1, 2])
    np.testing.assert_array_equal(whole.rows["value"], 2.5)
    assert whole.part.y[0] == 20.0


def test_arrays_of_a_structure_do_not_overlap():
    whole = Whole(n=5)
    arrays = [whole.order, whole.places, whole.table, whole.rows]
    for k, array in enumerate(arrays):
        assert not array.view(np.uint8).any()
        for other in arrays[k + 1 :]:
            assert not np.shares_memory(array, other)
    whole.scale, whole.done = -1.0, True
    assert not any(array.view(np.uint8).any() for array in arrays)


def test_an_array_that_is_bound_is_kept_alive_and_may_be_bound_anew():
    whole = made()
    for value in (1.0, 2.0):
        whole.given = np.full(3, value)
        work(whole)
        np.testing.assert_array_equal(whole.table[:, 2], value)
    whole.given = [1, 2, 3] * np.ones((1, 3), np.int64)[0]  # another type is copied
    assert whole.given.dtype == np.float64


def test_dimensions_and_arrays_are_given_by_name():
    given = np.arange(4.0)
    table = Table(rows=2, columns=3, values=given)
    assert table.rows == 2 and table.columns == 3 and table.entries.size == 6
    assert table.values is given and last_value(table) == 3.0 + 6.0


def test_what_does_not_fit_is_refused():
    whole = Whole(n=2)
    with pytest.raises(AttributeError, match=r"Whole\.given is not set"):
        whole.given  # noqa: B018
    with pytest.raises(TypeError, match=r"Whole\.given has 1 axes, but 2 came"):
        whole.given = np.ones((2, 2))
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(whole)
    kinds = Part, Scaled, Whole  # a kernel accepts structures that begin with its own structure's fields
    taken = [one.numba_type.can_convert_to(None, other.numba_type) is not None for one in kinds for other in kinds]
    assert taken == [True, False, False, True, True, False, False, False, True]


def test_no_entries():
    whole = Whole(n=0)
    assert whole.order.size == 1 and whole.table.shape == (0, 3) and whole.rows.size == 0


@inner
def first(x: Floats) -> tuple[float, float]:
    return x[0], x[1]


def test_tests_may_call_an_inner_kernel():
    assert first(np.array([1.0, 2.0])) == (1.0, 2.0)
    assert INTERPRETED or first.kind == "inner"
