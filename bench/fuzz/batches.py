"""Batches of programs: each answer is judged on its own data, and no bit depends on neighbours, order or threads.

A batch is solved in its order by one thread, then by two threads, reversed, shuffled, in part, and one program alone.
All answers of a program must be equal to the bit, whether they come from lanes or from solvers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import qp
import socp
from socp import NonNeg

from ..answers.answer import from_solution
from ..answers.program import engine_of, parts_of
from ..programs.catalogue import multiplied_out
from . import planting, points
from .campaign import Campaign
from .case import Case, Planted
from .judge import EXCEPTION, FAILURES, Verdict, judge
from .points import any_style, matrix, vector

Generator = np.random.Generator
Drawn = tuple[list[Case], tuple[str, ...]]
IN_LANES = 128  # largest number of variables of a program that is solved in lanes


def quadratic(rng: Generator, k: int, n: int, m: int) -> Drawn:
    """Draw k quadratic programs with one P and A or each with its own; return them and the names of shared matrices."""
    style, own = any_style(rng, 0.1), rng.random() < 0.5
    P, A = points.any_hessian(rng, n, style), matrix(rng, m, n, style)
    cases = []
    for _ in range(k):
        kind = rng.random()
        if own and m and kind < 0.3:
            draw = planting.quadratic_infeasible if kind < 0.15 else planting.quadratic_unbounded
            case = draw(rng, n, m, style)
        elif kind < 0.3:  # sides of rows and bounds around two independent points
            (l, u, _), (lb, ub, _) = (planting.sides(rng, vector(rng, size, style), style) for size in (m, n))
            case = Case(qp.QuadraticProgram(P, vector(rng, n, style), A, l, u, lb, ub), Planted(), hard=True)
        elif own:
            case = planting.any_quadratic_optimal(rng, n, m, style)
        else:
            case = planting.quadratic_optimal(rng, P, A, style)
        cases.append(case)
    return cases, () if own else ("P", "A")[: int(rng.integers(0, 3))]


def conic(rng: Generator, k: int, n: int, m: int) -> Drawn:
    """Draw k cone programs as in `quadratic`; with one G, rows of orthants may be bounds or absent (infinite h)."""
    style, own, p = any_style(rng, 0.1), rng.random() < 0.5, int(rng.integers(0, max(1, n // 3)))
    cones = [*points.some_cones(rng, m), NonNeg(n)]
    P, A, G = points.any_hessian(rng, n, style), matrix(rng, p, n, style), matrix(rng, m + n, n, style)
    G[m:] = np.diag(rng.choice([-1.0, 1.0, 0.5, 2.0, 0.0], n))
    cases = []
    for _ in range(k):
        kind = rng.random()
        if own and kind < 0.3:
            case = (planting.cone_infeasible if kind < 0.15 else planting.cone_unbounded)(rng, n, p, cones, style)
        elif kind < 0.3:
            c, b, h = (vector(rng, size, style) for size in (n, p, m + n))
            h[m:][rng.random(n) < 0.3] = np.inf
            case = Case(socp.ConeProgram(c, G, h, cones, A, b, P), Planted(), hard=True)
        elif own:
            case = planting.any_cone_optimal(rng, n, p, cones, style)
        else:
            case = planting.cone_optimal(rng, P, A, G, cones, style)
        cases.append(case)
    return cases, () if own else ("P", "A", "G")[: int(rng.integers(0, 4))]


def draw(rng: Generator) -> tuple[str, list[Case], tuple[str, ...]]:
    """Draw a batch; return its name, its programs, and the names of the matrices that the programs share."""
    is_large, is_long = rng.random() < 0.3, rng.random() < 0.1
    n = int(rng.integers(IN_LANES + 1, IN_LANES + 12) if is_large else rng.integers(1, 4 if is_long else 13))
    k = int(rng.integers(2, 6) if is_large else rng.integers(130, 200) if is_long else rng.integers(2, 40))
    is_conic = rng.random() < 0.5
    cases, shared = (conic if is_conic else quadratic)(rng, k, n, int(rng.integers(0, 30 if is_large else 2 * n + 1)))
    name = f"{'cone' if is_conic else 'qp'} {'one by one' if is_large else 'in lanes'}, {'shared' if shared else 'own'}"
    return name, cases, shared


def solve(cases: Sequence[Case], shared: tuple[str, ...], threads: int, start: Any = None) -> Any:
    """Solve the programs as a batch."""
    first, parts = cases[0].program, [parts_of(case.program) for case in cases]
    for part in parts:
        part["P"] = np.zeros(2 * (first.n,)) if part["P"] is None else part["P"]
    given = {
        name: parts[0][name] if name in (*shared, "cones") else [part[name] for part in parts] for name in parts[0]
    }
    more = {} if isinstance(first, socp.ConeProgram) else {"warm_start": start}
    return engine_of(first).solve_many(**given, **more, threads=threads)


def bits(many: Any, i: int) -> tuple[Any, ...]:
    """Return status, iterations, vectors and numbers of answer `i` for a comparison of their bits."""
    fields = (np.asarray(getattr(many, name)[i]).tobytes() for name in (*many.vectors, *many.numbers))
    return (many.status[i].value, int(many.iterations[i]), i in many.alone, *fields)


def differences(rng: Generator, cases: list[Case], shared: tuple[str, ...], first: Any) -> list[str]:
    """Solve a batch in other ways; return a message for each way that changes bits of answers."""
    k, found, warm = len(cases), [], None
    some, shuffled = np.flatnonzero(rng.random(k) < 0.5), rng.permutation(k)
    ways: dict[str, tuple[np.ndarray, int]] = {
        "by two threads": (np.arange(k), 2), "reversed": (np.arange(k)[::-1], 1), "shuffled": (shuffled, 2),
        "in part": (some, 2), "by itself": (rng.integers(0, k, 1), 1),
    }  # fmt: skip
    if not isinstance(cases[0].program, socp.ConeProgram):
        warm = solve(cases, shared, 1, first)
    for what, (order, threads) in ways.items():
        if not order.size:
            continue
        chosen = [cases[i] for i in order]
        many = solve(chosen, shared, threads)
        compared = [(what, many, first)]
        if warm is not None and what == "shuffled":
            compared.append(("shuffled, from the last answers", solve(chosen, shared, threads, many), warm))
        for way, other, expected in compared:
            wrong = [int(i) for place, i in enumerate(order) if bits(other, place) != bits(expected, i)]
            found += [f"other bits {way}: programs {wrong} of {k}"] if wrong else []
    return found


def run(
    seed: int, seconds: float, programs: int | None, only: int | None = None, tell: Callable[[str], Any] = print
) -> tuple[Campaign, int]:
    """Try batches until `programs` or `seconds` are reached; return the verdicts and how many batches differ."""
    campaign, differing, number, until = Campaign(), 0, only or 0, time.monotonic() + seconds
    while time.monotonic() < until and (programs is None or campaign.programs < programs):
        rng = np.random.default_rng([seed, number])
        name, cases, shared = draw(rng)
        counts, truths = campaign.counts.setdefault(name, Counter()), campaign.truths.setdefault(name, [])
        again = f"python -m bench fuzz --batches --seed {seed} --only {number}"
        try:
            many = solve(cases, shared, 1)
            # `solve_many` converts a low-rank P to an array, whose rounded entries define the program.
            formed = [replace(case, program=multiplied_out(case.program)) for case in cases]
            verdicts = [judge(case, from_solution(found, 0.0)) for case, found in zip(formed, many)]
            found = differences(rng, cases, shared, many)
        except Exception as error:  # any exception is a failure to report
            verdicts, found = [Verdict(EXCEPTION, f"{type(error).__name__}: {error}")], []
        differing += bool(found)
        counts.update(verdict.name for verdict in verdicts)
        truths += [verdict.truth for verdict in verdicts if verdict.truth is not None]
        campaign.expected += sum(verdict.expected for verdict in verdicts)
        found += [f"{v.name}, program {i}: {v.why}" for i, v in enumerate(verdicts) if v.name in FAILURES]
        for line in found:
            tell(f"{again}    {line}")
        if only is not None:
            break
        number += 1
    return campaign, differing
