"""Cone programs in the form of the lanes, and their answers on the caller's data.

The rows are ordered as second-order cones, equalities and other rows of orthants.  A row of an orthant with one entry
is a bound if no earlier row bounds the variable on that side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..derivatives.batch import side_by_side
from ..problem.program import Cone, NonNeg, SecondOrder, layout_of
from ..problem.settings import Settings
from .checks import ConePrograms, rows_at
from .groups import Group, Task, alike
from .verify import verifier_for, verify

SEVERAL, LARGE = range(-2, 0)  # codes of rows that are not bounds of the lanes; see `ConeRows.codes`


class ConeRows:
    """Classification of the rows of G.

    Attributes
    ----------
    in_cones : array of bool, shape (m,)
        True for the rows of second-order cones.
    ranges : array of int
        Second-order cone k has the rows ranges[2 k]:ranges[2 k + 1] of G.
    starts : array of int
        Second-order cone k has starts[k]:starts[k + 1] of the rows of second-order cones.
    codes : array of int, shape (1 or k, m)
        2 j or 2 j + 1 if a row of an orthant has one entry and is a lower or an upper bound of variable j; `LARGE` if
        the entry is above 1 in size, so that a violation of the bound would grow in the row; `SEVERAL` for other rows.
    values : array, shape (1 or k, m)
        Entry of each row with one entry; the values of other rows are not used.
    """

    def __init__(self, cones: Sequence[Cone], G: np.ndarray) -> None:
        ends = np.cumsum([0, *(cone.dim for cone in cones)])
        second = [k for k, cone in enumerate(cones) if isinstance(cone, SecondOrder) and cone.dim > 1]
        self.ranges = np.array([(ends[k], ends[k + 1]) for k in second], np.int64).reshape(-1)
        self.starts = np.cumsum([0, *(cones[k].dim for k in second)]).astype(np.int64)
        self.in_cones = np.zeros(G.shape[1], bool)
        for k in second:
            self.in_cones[ends[k] : ends[k + 1]] = True
        entries, orthant = G != 0.0, np.repeat([isinstance(cone, NonNeg) for cone in cones], [c.dim for c in cones])
        is_single = (entries.sum(axis=2) == 1) & orthant.astype(bool)
        where, values = _first_entries(entries[:1], G)
        if (is_single & (values == 0.0)).any():  # The entry's column depends on the program.
            where, values = _first_entries(entries, G)
        self.values = values
        is_bound = is_single & (np.abs(values) <= 1.0)
        self.codes = np.where(is_bound, 2 * where + (values > 0.0), np.where(is_single, LARGE, SEVERAL))

    def bounds_of(self, program: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are bounds in a program, the first one of each bound, and their codes."""
        codes = self.codes[min(program, len(self.codes) - 1)]
        rows = np.flatnonzero(codes >= 0)
        slots, first = np.unique(codes[rows], return_index=True)
        return rows[first], slots


def _first_entries(entries: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the first `entries` of all rows, and the values of G there."""
    where = entries.argmax(axis=2)
    return where, np.take_along_axis(G, np.broadcast_to(where[:, :, None], (*G.shape[:2], 1)), 2)[..., 0]


class ConeGroup(Group):
    """Group of cone programs with infinite entries of h in common rows; `batch` has the rows [A; G], sides (b, h)."""

    equalities_apart = True

    def __init__(self, programs: ConePrograms, rows: ConeRows, chosen: np.ndarray, settings: Settings) -> None:
        some: Any = slice(None) if chosen.size == programs.k else chosen
        singles, slots = rows.bounds_of(chosen[0])
        data = (programs.G, programs.h, programs.A, programs.b, programs.P, programs.c, rows.values[:, singles])
        G, h, A, b, P, c, values = (rows_at(array, some) for array in data)
        n, p, m = c.shape[1], b.shape[1], h.shape[1]
        bounds = np.broadcast_to(np.tile([-np.inf, np.inf], n), (max(len(h), len(values)), 2 * n)).copy()
        bounds[:, slots] = h[:, singles] / values
        held = {
            "P": P, "A": side_by_side(A, G), "q": c, "l": side_by_side(b, np.full((1, m), -np.inf), bounds[:, ::2]),
            "u": side_by_side(b, h, bounds[:, 1::2]),
            "x_start": np.zeros((0, n)), "y_start": np.zeros((0, p + m + n)),
        }  # fmt: skip
        is_single = rows.codes[min(chosen[0], len(rows.codes) - 1)] != SEVERAL
        self._bound = np.concatenate([np.zeros(p, bool), is_single, np.ones(n, bool)])
        others = ~rows.in_cones
        others[singles] = False
        cones, others = np.flatnonzero(rows.in_cones), np.flatnonzero(others)
        taken = np.concatenate([p + cones, np.arange(p), p + others])
        super().__init__(programs, chosen, held, self._bound, taken, rows.starts, settings)
        self.batch.s = np.empty((chosen.size, m))
        self._rows = {
            "orthant": (~rows.in_cones).astype(np.int64), "singles": singles, "slots": slots, "values": values,
        }  # fmt: skip

    def verifier(self) -> Callable[[Task], None]:
        test, layout = (
            verifier_for(self.batch, self._bound, self.settings, **self._rows),
            layout_of(self.programs.cones),
        )
        return lambda task: verify(self.batch, test, *layout, *task)

    def vectors(self) -> dict[str, np.ndarray]:
        p, y = self.programs.b.shape[1], self.batch.y
        return {"x": self.batch.x, "y": y[:, :p], "z": y[:, p : self.batch.m], "s": self.batch.s}


def groups_of(programs: ConePrograms, settings: Settings) -> list[ConeGroup]:
    """Return programs with equal sets of bounds, of absent rows, and of bounds with lower = upper as groups."""
    rows, groups = ConeRows(programs.cones, programs.G), []
    kinds = np.isfinite(programs.h).astype(int)
    if len(rows.codes) > 1:
        kinds = side_by_side(kinds, rows.codes)
    for chosen in alike(kinds, programs.k):
        singles, slots = rows.bounds_of(chosen[0])
        pairs = np.flatnonzero(np.diff(slots // 2) == 0)  # lower bounds of variables with an upper bound
        h, values = (rows_at(array, chosen)[:, singles] for array in (programs.h, rows.values))
        bounds = h / values
        equal = alike(bounds[:, pairs] == bounds[:, pairs + 1], chosen.size) if pairs.size else [slice(None)]
        groups += [ConeGroup(programs, rows, chosen[some], settings) for some in equal]
    return groups
