"""Two-class machines of shared samples and one kernel, all solved in one call.

`solve_series` solves `programs.margins.signed_dual`: in u_i = alpha_i y_i the duals share one kernel matrix K, and
each dual has the samples of its classes:

    minimize    1/2 u'Ku - y'u
    subject to  1'u = 0,   u_i between 0 and y_i C_i

With nu in place of C there is no linear term, and the u of each class have a given sum; the answer divided by rho is
the machine with the prices C / rho.  A regression has each sample twice, from above and from below; y is then -q, and
with nu, -rho is half the width of the tube.  Where the tube has no width, one variable per sample, between -C_i and
C_i, is enough.  All machines are computed together from the answers, as `margin.machine_of` computes one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qp
from socp.compiled.memory import free_memory

from ..kernel_machines.series import SeriesSolutions, solve_series
from ..kernels.kernel import Kernel
from ..programs.margins import dual_program
from ..programs.nu import nu_dual
from .machines import Machines, Problem, intercept_of
from .margin import low_rank_pays
from .multipliers import SETTLED, tell_apart

MOST_SAMPLES = 2500  # most samples of a machine; beyond, rows in single precision (`KernelMatrix`) are faster
MOST_SIDES = 800  # most variables of a machine with two variables per sample, which read each row twice
RANKS = 3  # with several machines, a low rank pays only from this many times as many samples per feature
MEGABYTE = 2.0**20
VECTORS, RIDGE = 2.4, 1e-10  # support vectors of a machine per sample on the wrong side of least squares
DEAR = 1000.0  # mean C k(x, x) above which descent takes too many steps
MOST_RESERVED = 2000.0  # megabytes of address space for the matrix, of which only the rows that are read take memory
OFTEN = 0.9  # with nu from here on the tube often has no width, and the machine without one is tried first
LEAST = 1e-6  # |rho| relative to the size of f up to which nu machines are solved one by one: it may be zero


class Joined(NamedTuple):
    """Vectors of all problems, concatenated: problem k has the places begins[k] : begins[k + 1].

    `which` is the sample of each variable, and `linear` the linear term in u.
    """

    begins: np.ndarray
    which: np.ndarray
    signs: np.ndarray
    C: np.ndarray
    linear: np.ndarray


def joined(problems: list[Problem]) -> Joined:
    """Return the vectors of all problems."""
    begins = np.concatenate([[0], np.cumsum([one.signs.size for one in problems])])
    which = np.concatenate([np.tile(one.rows, one.sides) for one in problems])
    signs, C, q = (np.concatenate([getattr(one, name) for one in problems]) for name in ("signs", "C", "q"))
    return Joined(begins, which, signs, C, signs * q)


def fits_in_series(kernel: Kernel, X: Any, most: int, several: bool, cache_size: float, sides: int = 1) -> bool:
    """Return True if `solve_series` suits machines of at most `most` variables, one machine or `several`.

    Samples must be dense, the kernel named and semidefinite, and the matrix of one machine fit in `cache_size`.
    """
    if not kernel.is_semidefinite or not isinstance(kernel.kernel, str) or sp.issparse(X):
        return False
    if most > (MOST_SAMPLES if sides == 1 else MOST_SIDES) or 8.0 * most**2 > cache_size * MEGABYTE:
        return False
    rank = kernel.rank(X)
    return rank is None or not low_rank_pays(most, rank * (RANKS if several else 1))


def reads_for_few(kernel: Kernel, X: Any, problem: Problem, cache_size: float) -> float:
    """Return how many rows of its kernel a machine may read before its low rank is the faster way; 0 for none.

    A least squares fit in the features of the low rank counts the samples on the wrong side; a machine has some
    `VECTORS` times as many support vectors.
    """
    n = problem.rows.size
    if problem.sides == 2 or problem.total is not None or sp.issparse(X):
        return 0.0
    if 8.0 * n**2 > min(MOST_RESERVED * MEGABYTE, free_memory()):
        return 0.0
    F = kernel.explicit(X[problem.rows]) if kernel.is_semidefinite else None
    if F is None or float(problem.C.max()) * float((F**2).sum()) > DEAR * n:
        return 0.0
    rank, F = F.shape[1], np.column_stack([F, np.ones(n)])
    low_rank = 1.3e-3 + n * (1.7e-6 + 1.6e-7 * rank)  # seconds of either way, measured
    most = (low_rank - 6.5e-4) / (n * (15e-9 + 4e-9 * rank))
    G = F.T @ F
    G[np.diag_indices(rank + 1)] += RIDGE * (np.trace(G) / (rank + 1) or 1.0)
    wrong = np.count_nonzero(problem.signs * (F @ np.linalg.solve(G, F.T @ problem.signs)) <= 0.0)
    vectors = VECTORS * wrong + rank
    reads = (4.0 + 2.0 * rank) * (10.0 + 2.0 * vectors)
    return reads if vectors <= most and 8.0 * n * min(reads, n) <= cache_size * MEGABYTE else 0.0


def solve_in_series(
    kernel: Kernel, X: np.ndarray, problems: list[Problem], bias: bool, settings: dict[str, Any], cache_size: float,
    most_read: float = np.inf,
) -> Machines | None:  # fmt: skip
    """Solve all machines in one call; return None if one is not solved accurately enough, or reads too many rows."""
    matrix, data, last = kernel.matrix(X, np.ones(X.shape[0]), cache_size), joined(problems), problems[-1]
    found = None
    if last.may_lack_tube and (last.total is None or last.total >= 0.5 * OFTEN * last.C.sum()):
        found = solve_without_tube(matrix, last, bias, settings)
    if found is None:
        found = solve_together(matrix, problems, data, bias, settings, most_read)
        y = found.multipliers
        if last.may_lack_tube and np.ptp(y) <= LEAST * (1.0 + np.abs(y).max()):
            found = solve_without_tube(matrix, last, bias, settings) or found
    return machines_of(found, kernel, X, last, data, bias, settings, cache_size)


def solve_together(
    matrix: Any, problems: list[Problem], data: Joined, bias: bool, settings: dict[str, Any], most_read: float
) -> SeriesSolutions:
    """Solve the programs of all machines."""
    bounds, sides, splits = data.signs * data.C, np.zeros((len(problems), int(bias))), None
    if problems[-1].total is not None:
        sides = np.outer([one.total for one in problems], [0.5, -0.5])
        splits = np.array([np.count_nonzero(one.signs > 0.0) for one in problems])
    return solve_series(
        matrix, data.which, data.begins, data.linear, np.minimum(bounds, 0.0), np.maximum(bounds, 0.0), sides=sides,
        splits=splits, tol=settings["tol"], most_read=most_read, verbose=settings.get("verbose", False),
    )  # fmt: skip


def solve_without_tube(matrix: Any, problem: Problem, bias: bool, settings: dict[str, Any]) -> SeriesSolutions | None:
    """Solve with epsilon = 0 in one variable u_i per sample; the two multipliers are max(u_i, 0) and -min(u_i, 0).

    With nu, the variables must have a larger sum: equal parts are added to both variables of samples with |u_i| < C_i,
    on which f is equal to the target.  Return None if the sum must be smaller, since then the tube has a width.
    """
    n, missing, both = problem.rows.size, 0.0, 0.0
    C = problem.C[:n]
    found = solve_series(
        matrix, problem.rows, np.array([0, n]), problem.q[:n], -C, C, sides=np.zeros((1, int(bias))),
        tol=settings["tol"], verbose=settings.get("verbose", False),
    )  # fmt: skip
    if problem.total is not None:
        room, missing = C - np.abs(found.x), 0.5 * (problem.total - np.abs(found.x).sum())
        both = room * (missing / max(room.sum(), 1e-300))
    x = np.concatenate([np.maximum(found.x, 0.0) + both, np.minimum(found.x, 0.0) - both])
    has_width = missing < 0.0 and found.rounds[0] > 0
    return None if has_width else replace(found, x=x, gradient=np.tile(found.gradient, 2))


def machines_of(
    found: SeriesSolutions, kernel: Kernel, X: np.ndarray, last: Problem, data: Joined, bias: bool,
    settings: dict[str, Any], cache_size: float,
) -> Machines | None:  # fmt: skip
    """Return the machines of the answers, or None if one of them is not accurate enough; `last` is the last problem."""
    begins, which, signs, C, q = data
    count, scaled = begins.size - 1, found
    rhos, machine, own = np.ones(count), np.repeat(np.arange(count), np.diff(begins)), np.ones(signs.size)
    if found.multipliers.shape[1] == 2:
        rhos = 0.5 * (found.multipliers[:, 1] - found.multipliers[:, 0])
        if not (np.abs(rhos) > LEAST * found.residuals[:, 6]).all():
            return None
        units = np.where(rhos > 0.0, rhos, 1.0)
        own, C = units[machine], C / units[machine]
        x, gradient = found.x / own, (found.gradient - signs * rhos[machine]) / own
        b = found.multipliers.mean(axis=1) / units
        scaled = replace(found, x=x, gradient=gradient, multipliers=b[:, None])
    if not is_settled(found, settings, np.minimum(np.abs(rhos), 1.0)):
        return None
    kinds, alpha, intercepts = sort_out_series(scaled, begins, signs, C, bias)
    if (alpha != signs * scaled.x).any():
        return None
    squared = np.add.reduceat(scaled.x * (found.gradient - q) / own, begins[:-1])
    shape = count, X.shape[0]
    places, all_kinds = machine * X.shape[0] + which, np.zeros(shape, kinds.dtype)
    coefficients = np.bincount(places, scaled.x, shape[0] * shape[1]).reshape(shape)
    all_kinds.reshape(-1)[places] = kinds

    def answer() -> tuple[qp.QuadraticProgram, qp.Solution]:
        P = kernel.matrix(X[last.rows], last.signs, cache_size)
        program: Any  # a `KernelProgram`, as P is a `KernelMatrix`
        if last.total is None:
            program = dual_program(P, last.signs, last.C, bias, last.q)
        else:
            program = nu_dual(P, last.signs, last.C, last.total, last.q)
        all_rows = replace(found, multipliers=found.multipliers + np.zeros(program.m))
        return program, all_rows.solution(count - 1, slice(begins[-2], begins[-1]), program)

    with np.errstate(divide="ignore"):
        margins = 1.0 / np.sqrt(np.maximum(squared, 0.0))
    return Machines(coefficients, all_kinds, intercepts, margins, rhos, int(found.rounds.max()), answer)


def is_settled(found: SeriesSolutions, settings: dict[str, Any], unit: np.ndarray | float = 1.0) -> bool:
    """Return True if all programs are solved and support vectors lie on the margin, which has the size `unit`."""
    slopes, scales = found.residuals[:, 2], found.residuals[:, 6]
    solved = (found.rounds > 0) & (found.rounds <= settings["max_iter"])
    return bool((solved & (slopes <= max(SETTLED, settings["tol"]) * scales * unit)).all())


def sort_out_series(
    found: SeriesSolutions, begins: np.ndarray, signs: np.ndarray, C: np.ndarray, bias: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (kinds, alpha with exact zeros and bounds, intercepts), as `tell_apart` and `intercept_of` define them.

    The gradient g gives y_i - (f(x_i) - b) = -g_i, and b is the multiplier of the equality.
    """
    machine, alpha = np.repeat(np.arange(begins.size - 1), np.diff(begins)), signs * found.x
    violation = -signs * (found.gradient + found.multipliers.sum(axis=1)[machine])
    kinds, alpha = tell_apart(alpha, C, violation, np.maximum.reduceat(alpha, begins[:-1])[machine])
    intercepts = np.zeros(begins.size - 1)
    for k in range(intercepts.size if bias else 0):
        at = slice(begins[k], begins[k + 1])
        intercepts[k] = intercept_of(-found.gradient[at], signs[at], kinds[at])
    return kinds, alpha, intercepts
