"""Families that try how the solver is called: settings at their limits, data in all containers, bad arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp
from socp import NonNeg

from ..answers.program import changed
from . import cone_families, points, quadratic_families
from .case import Case, Refusal

Generator = np.random.Generator


def settings_of_cone_programs(rng: Generator) -> Case:
    """One to three settings at their limits."""
    return _with_settings(rng, cone_families.any_planted(rng))


def settings_of_quadratic_programs(rng: Generator) -> Case:
    """The same, those of presolve and of the active set among them."""
    case = quadratic_families.boxed(rng) if rng.random() < 0.1 else quadratic_families.any_planted(rng)
    return _with_settings(rng, case)


def _with_settings(rng: Generator, case: Case) -> Case:
    drawn: list[dict[str, Any]] = [
        {"tol": _log_uniform(rng, -13, -2)},
        {"tol_abs": _log_uniform(rng, -12, 0)},
        {"tol_infeasible": _log_uniform(rng, -12, -7)},
        {"kkt": str(rng.choice(["ldl", "dense"]))},
        {"equilibrate": False},
        {"step_fraction": float(rng.choice([0.05, 0.5, 0.9, 0.9999, 1.0 - 1e-12]))},
        {"regularization": _log_uniform(rng, -15, -2)},
        {"refinement_steps": int(rng.integers(0, 3))},
        {"max_iter": int(rng.integers(0, 6))},
        {"time_limit": float(rng.choice([0.0, 1e-9, 1e-4]))},
        {"threads": 2},
        {"callback": _stop_at(int(rng.integers(0, 8)))},
    ]
    if isinstance(case.program, qp.QuadraticProgram):
        drawn += [{"presolve": False}, {"active_set": False}, {"check_convexity": False}]
    chosen = rng.choice(len(drawn), int(rng.integers(1, 4)), replace=False)
    settings: dict[str, Any] = {}
    for k in chosen:
        settings |= drawn[k]
    return replace(case, hard=True, settings=settings)


def _log_uniform(rng: Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _stop_at(count: int) -> Callable[[Any], bool]:
    """A callback that stops the solve when it is called for the `count`-th time."""
    calls: list[None] = []

    def callback(iterate: Any) -> bool:
        calls.append(None)
        return len(calls) > count

    return callback


def containers_of_cone_programs(rng: Generator) -> Case:
    """Whole numbers in lists, arrays of all types and layouts, and sparse matrices of all formats."""
    case = cone_families.tiny(rng)
    return _in_containers(rng, case, ("P", "c", "G", "h", "cones", "A", "b"))


def containers_of_quadratic_programs(rng: Generator) -> Case:
    """The same of quadratic programs."""
    return _in_containers(rng, quadratic_families.tiny(rng), ("P", "q", "A", "l", "u", "lb", "ub"))


def _in_containers(rng: Generator, case: Case, names: tuple[str, ...]) -> Case:
    program, parts = case.program, dict[str, Any]()
    for name in names:
        part = getattr(program, name)
        if name == "cones":
            parts[name] = part if rng.random() < 0.5 else list(part)
        elif part is not None:
            parts[name] = _container(rng, _dense(part)) if name in "PAG" else _vector(rng, part)
    return replace(case, program=changed(program, **parts))


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _container(rng: Generator, matrix: np.ndarray) -> Any:
    """The same matrix in another container."""
    spread = np.repeat(np.repeat(matrix, 2, axis=0), 2, axis=1)  # of which every second entry is a view
    twice = (
        sp.coo_array((np.append(matrix.ravel(), [1.0, -1.0]), _places(matrix)), matrix.shape) if matrix.size else matrix
    )
    forms: list[Any] = [
        matrix,
        np.asfortranarray(matrix),
        spread[::2, ::2],
        matrix[::-1][::-1],
        twice,
        sp.csr_array(matrix),
        sp.csc_matrix(matrix),
        sp.lil_array(matrix),
        sp.dok_array(matrix),
        points.with_stored_zeros(rng, matrix),
    ]
    if np.array_equal(matrix, np.round(matrix)):
        forms += [matrix.astype(np.int8), matrix.astype(np.int64), matrix.astype(np.float32), matrix.astype(object)]
        forms += [sp.csr_array(matrix.astype(np.int16)), matrix.astype(">f8")]
    if matrix.size:
        forms += [matrix.tolist()]
    return forms[rng.integers(len(forms))]


def _places(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of all entries, and twice more of the first."""
    rows, columns = np.indices(matrix.shape)
    return np.append(rows.ravel(), [0, 0]), np.append(columns.ravel(), [0, 0])


def _vector(rng: Generator, v: np.ndarray) -> Any:
    forms: list[Any] = [v, v.tolist(), tuple(v.tolist()), np.repeat(v, 2)[::2], v.reshape(-1, 1), v.astype(">f8")]
    if np.isfinite(v).all() and np.array_equal(v, np.round(v)):
        forms += [v.astype(np.int32), v.astype(np.float16)]
    return forms[rng.integers(len(forms))]


def refusals(rng: Generator) -> Refusal:
    """A good program with one argument that is wrong."""
    return _refused_cone_program(rng) if rng.random() < 0.5 else _refused_quadratic_program(rng)


def _refused_cone_program(rng: Generator) -> Refusal:
    good: Any = cone_families.any_planted(rng).program
    names = ("c", "G", "h", "cones", "A", "b")
    data = {name: getattr(good, name) for name in names} | {"P": good.P}
    bad: list[tuple[str, dict[str, Any]]] = [
        ("c with NaN", {"c": _with_entry(rng, good.c, np.nan)}),
        ("c with infinity", {"c": _with_entry(rng, good.c, np.inf)}),
        ("c too long", {"c": np.append(good.c, 1.0)}),
        ("c of words", {"c": ["one"] * good.n}),
        ("c complex", {"c": good.c + 1j}),
        ("h too short", {"h": good.h[1:]}),
        ("h with NaN", {"h": _with_entry(rng, good.h, np.nan)}),
        ("h with -inf", {"h": _with_entry(rng, good.h, -np.inf)}),
        ("G with NaN", {"G": _with_entry(rng, _dense(good.G), np.nan)}),
        ("G without h", {"h": None}),
        ("cones too few", {"cones": [*good.cones, NonNeg(1)]}),
        ("cones of numbers", {"cones": [good.m]}),
        ("b too long", {"b": np.append(good.b, 1.0)}),
        ("A of another width", {"A": np.ones((good.p, good.n + 1))}),
        ("P indefinite", {"P": _indefinite(rng, good.n)}),
        ("P not square", {"P": np.ones((good.n, good.n + 1))}),
        ("tol negative", {"tol": -1.0}),
        ("max_iter of words", {"max_iter": "many"}),
    ]
    if good.n > 1:
        bad.append(("P not symmetric", {"P": np.triu(np.ones((good.n, good.n)))}))
    what, changed = bad[rng.integers(len(bad))]
    return Refusal(f"cone program, {what}", lambda: socp.solve(**{**data, **changed}))


def _refused_quadratic_program(rng: Generator) -> Refusal:
    good: Any = quadratic_families.any_planted(rng).program
    data = {name: getattr(good, name) for name in ("P", "q", "A", "l", "u", "lb", "ub")}
    floor = np.where(np.isfinite(good.lb), good.lb, 0.0)
    bad: list[tuple[str, dict[str, Any]]] = [
        ("q with NaN", {"q": _with_entry(rng, good.q, np.nan)}),
        ("q too long", {"q": np.append(good.q, 1.0)}),
        ("A with infinity", {"A": _with_entry(rng, _dense(good.A), np.inf)}),
        ("l too long", {"l": np.append(good.l, 1.0)}),
        ("l of infinity", {"l": np.full(good.m, np.inf)}),
        ("u with NaN", {"u": _with_entry(rng, good.u, np.nan)}),
        ("l above u", {"l": np.full(good.m, 2.0), "u": np.full(good.m, 1.0)}),
        ("lb above ub", {"lb": floor + 1.0, "ub": floor}),
        ("ub a matrix", {"ub": np.ones((2, good.n + 1))}),
        ("sides without A", {"A": None}),
        ("P indefinite", {"P": _indefinite(rng, good.n)}),
        ("P with NaN", {"P": np.full((good.n, good.n), np.nan)}),
        ("time_limit negative", {"time_limit": -1.0}),
        ("kkt of another name", {"kkt": "qr"}),
    ]
    what, changed = bad[rng.integers(len(bad))]
    return Refusal(f"quadratic program, {what}", lambda: qp.solve(**{**data, **changed}))


def _with_entry(rng: Generator, array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[rng.integers(array.size)] = value
    return changed


def _indefinite(rng: Generator, n: int) -> Any:
    """A symmetric matrix with one eigenvalue of -1/10 or below, the others between 1 and 2."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.append(rng.uniform(1.0, 2.0, n - 1), -rng.uniform(0.1, 2.0))
    P = (Q * values) @ Q.T
    P = 0.5 * (P + P.T)
    return P if rng.random() < 0.5 else sp.csc_array(P)
