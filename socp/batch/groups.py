"""Group of programs for the lanes: programs with finite, infinite and equal sides in common rows."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..compiled.threads import WORK, blas_threads
from ..method.rays import repaired_certificate
from ..problem.settings import Settings
from ..problem.status import Status
from .deadline import Deadline
from .driver import NOT_STARTED, OPTIMAL, PRIMAL_INFEASIBLE, Batch, Shape, lanes_for, run, take_matrices
from .spans import ordered_spans

LANES_UP_TO = 128  # limit of the variables, and a quarter of the limit of the rows; larger programs are solved alone

Task = tuple[int, int]


def fits_lanes(n: int, m: int) -> bool:
    """Return True if programs with `n` variables and `m` rows are small enough for the lanes."""
    return 0 < n <= LANES_UP_TO and m <= 4 * LANES_UP_TO


def alike(kinds: np.ndarray, k: int) -> list[np.ndarray]:
    """Group the numbers 0..k-1 of programs by their row of `kinds`; a single row belongs to all programs."""
    if (kinds == kinds[0]).all():
        return [np.arange(k)]
    _, which = np.unique(kinds, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [np.flatnonzero(which == kind) for kind in range(which.max() + 1)]


def kinds_of(l: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return a code for each pair of sides: 4 if equal, else 1 for a finite lower plus 2 for a finite upper side."""
    return np.where(l == u, 4, np.isfinite(l) + 2 * np.isfinite(u))


def solve_batch(
    many: Any, groups: Sequence[Group], new_solver: Callable[[], Callable[[int, Settings], Any]], settings: Settings,
    started: float,
) -> None:  # fmt: skip
    """Solve the programs of a batch in groups, and those that fail or are in no group one by one.

    In each thread ``new_solver()`` returns the function (i, settings) that solves program i alone.
    """
    deadline, is_left, many._settings = Deadline(settings.time_limit), np.ones(len(many), np.bool_), settings
    many.setup_time = time.perf_counter() - started
    for group in groups:
        deadline.work(group.tasks(), group.worker, settings.threads)
    for group in groups:
        is_left[group.chosen] = False
        is_left[group.collect(many)] = True
    left = np.flatnonzero(is_left)
    if left.size:
        many.allocate()

    def worker() -> Callable[[int], None]:
        solve = new_solver()

        def alone(i: int) -> None:
            solution = solve(i, dataclasses.replace(settings, threads=1, time_limit=deadline.seconds_left()))
            many.take(i, solution)
            deadline.note(solution.status)

        return alone

    with blas_threads(1) if left.size else contextlib.nullcontext():  # BLAS rounds differently with more threads.
        deadline.work(left.tolist(), worker, settings.threads)
    if deadline.reason is not None:
        many.status[many.status == Status.NUMERICAL_ERROR] = deadline.reason
    many.solve_time = time.perf_counter() - started - many.setup_time


class Group:
    """Programs with finite, infinite and equal sides in common rows.

    A subclass tests the answers in `verifier` and returns them in `vectors`.

    Parameters
    ----------
    programs : BatchData
        Programs of the whole batch.
    chosen : array of int
        Numbers of the group's programs in the whole batch.
    data : dict of arrays
        P, A, q, l, u, x_start, y_start as in `Batch`, with three axes for matrices.
    bound : array of bool, shape (m + n,)
        True for variables, and for rows with a residual relative to their own side.
    rows : array of int
        Rows of A that the lanes use as rows; rows that are bounds of variables may be left out.
    cone_start : array of int
        Second-order cone k has cone_start[k]:cone_start[k + 1] of `rows`.
    settings : Settings

    Attributes
    ----------
    equalities_apart : bool
        True if the stopping test has a separate block of equalities.
    uses_lanes : bool
        False if `worker` is overridden and needs no `shape`.
    batch : Batch
    shape : Shape
    """

    equalities_apart, uses_lanes = False, True

    def __init__(
        self,
        programs: Any,
        chosen: np.ndarray,
        data: dict[str, np.ndarray],
        bound: np.ndarray,
        rows: np.ndarray,
        cone_start: np.ndarray,
        settings: Settings,
    ) -> None:
        self.programs, self.chosen, self.settings = programs, chosen, settings
        if not programs.share_matrices and len(data["P"]) == 1 == len(
            data["A"]
        ):  # A single P and A would count as shared.
            data["P"] = np.repeat(data["P"], 2, axis=0)
        k, m, n = chosen.size, data["A"].shape[1], data["P"].shape[1]
        flat = {"P": data["P"].reshape(-1, n * n), "A": data["A"].reshape(len(data["A"]), m * n)}
        self.batch = Batch(m=m, n=n, count=k, **{**data, **flat, "s": np.empty((k, 0))})
        if not self.uses_lanes:
            return
        spans = ordered_spans(data["P"], data["A"], rows, cone_start)
        l, u = data["l"][0, spans.rows], data["u"][0, spans.rows]
        finite_u = np.isfinite(u)
        finite_u[: cone_start[-1]] = False
        self.shape = Shape(l == u, np.isfinite(l), finite_u, bound[spans.rows], spans, cone_start)

    def tasks(self) -> list[Task]:
        """Return ranges of programs, one per compiled call, the last ones small so that all threads end together."""
        m, n, k, threads = self.batch.m, self.batch.n, self.batch.count, self.settings.threads
        most, share, ends = WORK / (n * n * (m + n / 3.0) + 8.0 * n * (m + n) + 100.0 * (m + n)), 2 * threads, [0]
        while ends[-1] < k:
            left = k - ends[-1]
            ends.append(min(ends[-1] + max(64, int(min(most, left / share if threads > 1 else left))), k))
        return list(pairwise(ends))

    def worker(self) -> Callable[[Task], None]:
        """Return a function that solves a range of programs; each thread needs its own."""
        batch = self.batch
        lanes, verify = lanes_for(batch, self.shape, self.settings, self.equalities_apart), self.verifier()
        if lanes.shared:
            take_matrices(batch, lanes, 0)

        def solve(task: Task) -> None:
            run(batch, lanes, *task)
            verify(task)

        return solve

    def verifier(self) -> Callable[[Task], None]:
        """Return a function that marks answers begin:end as failed where the stopping test does not hold."""
        raise NotImplementedError

    def collect(self, many: Any) -> np.ndarray:
        """Write the answers that pass to `many`; return the numbers of the programs that must be solved alone."""
        batch, chosen = self.batch, self.chosen
        good = batch.code == OPTIMAL
        all_good = bool(good.all()) and chosen.size == len(many)
        at = slice(None) if all_good else chosen[good]
        many.status[at] = Status.OPTIMAL
        for name, answers in {**self.vectors(), **dict(zip(many.numbers, batch.numbers))}.items():
            if all_good:  # The arrays of the batch are used, not copied.
                setattr(many, name, answers)
            else:
                getattr(many, name)[at] = answers[good]
        many.iterations[chosen] = batch.iterations
        done = good | (batch.code == NOT_STARTED)
        for i in np.flatnonzero(batch.code == PRIMAL_INFEASIBLE).tolist():
            done[i] = self._certifies(many, i)
        return chosen[~done]

    def _certifies(self, many: Any, i: int) -> bool:
        """Write the certificate of program `i` of the group to `many` if it holds; return whether it does."""
        at, vectors = self.chosen[i], self.vectors()
        names = many.vectors[1:3]
        given = (np.ascontiguousarray(vectors[name][i]) for name in names)
        found = repaired_certificate(self.programs.program(at), self.settings, *given)
        if found is None:
            return False
        ray, error = found
        many.status[at], many.primal_residual[at] = Status.PRIMAL_INFEASIBLE, error
        for name, multipliers in zip(names, ray):
            getattr(many, name)[at] = multipliers
        return True

    def vectors(self) -> dict[str, np.ndarray]:
        """Return the vectors of all answers by name, a row for each program."""
        raise NotImplementedError
