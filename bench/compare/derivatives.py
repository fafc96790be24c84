"""The gradient of an answer compared with Moreau's, diffcp's and qpth's, as a Markdown table.

Each solver computes the gradient of a random linear function of x, for one program or for each in a batch, after it has
its answers: the time of the solve is reported apart.  The gradient by the linear objective is compared with central
differences of answers at a tolerance of 1e-12; a gradient that differs is WRONG.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import qp

from .. import peers
from ..answers.program import engine_of, linear_name, parts_of, with_objective
from ..answers.verify import Program
from ..peers.forms import OneSided, one_sided, with_linear_objective
from ..programs import generate, learning, small, tiny
from ..programs.many import moreau
from ..programs.repeated import held
from .measurement import OURS
from .pairs import Comparison, Pair, shortest
from .tables import seconds as with_unit

STEP, AGREES = 1e-4, 1e-4  # step of central differences, relative to q; largest relative error of a right gradient
SMOOTH = 1e-3  # largest relative difference of two central differences with one active set
BATCH = 2_000

Gradient = Callable[[], np.ndarray]
"""Function that returns the gradients with respect to the linear objective, one row per program."""

PROGRAMS: dict[str, Callable[[], Program]] = {
    f"{made.__name__}_{size}": partial(made, size)
    for made, size in (
        (tiny.box, 10), (tiny.rows, 10), (tiny.ball, 10), (tiny.rows, 30), (small.random, 100), (small.control, 30),
        (small.control, 300), (generate.mpc, 100), (generate.svm_dual_rbf, 500), (generate.portfolio, 500),
        (generate.group_lasso, 50), (generate.robust_least_squares, 200), (learning.bilevel, 30),
    )
}  # fmt: skip
BATCHES = ("box_10", "rows_10", "rows_30", "control_30")


def _measured(name: str) -> Iterator[Pair]:
    """Yield the pairs of a program alone and, for `BATCHES`, in a batch."""
    for count in (1, BATCH) if name in BATCHES else (1,):
        yield from measure(name, PROGRAMS[name](), count)


def measure(name: str, program: Program, count: int) -> Iterator[Pair]:
    """Yield the pairs of one program, or of `count` programs with objectives near its own, with each solver."""
    rng = np.random.default_rng(0)
    objective = getattr(program, linear_name(program))
    objectives = np.tile(objective, (count, 1))
    if count > 1:
        objectives += np.abs(objective).max() * rng.normal(size=objectives.shape)
    weights, direction = rng.normal(size=program.n), rng.normal(size=program.n) * (1.0 + np.abs(objective).max())
    expected, usable = _differences(program, objectives, weights, direction)
    found: dict[str, tuple[float, float, float]] = {}  # seconds of the answer and of the gradient, and the error
    for solver, prepare in SOLVERS.items():
        prepared = prepare(program, objectives, weights) if solver == OURS or peers.is_installed(solver) else None
        if prepared is not None:
            solve, gradient = prepared
            times = [shortest(call, 2)[0] / count for call in (solve, gradient)]
            slopes = np.asarray(gradient())[usable] @ direction
            size = np.abs(expected).max(initial=0.0)
            error = float(np.max(np.abs(slopes - expected), initial=0.0) / size) if usable.size else np.nan
            found[solver] = times[0], times[1], error
    answer, ours, error = found.pop(OURS)
    for solver, (its_answer, its, its_error) in (found or {"": (np.nan, np.nan, np.nan)}).items():
        note = f"answers {with_unit(answer)} and {with_unit(its_answer)}" + ", not smooth" * bool(np.isnan(error))
        wrong = error > AGREES, its_error > AGREES
        yield Pair(name, f"{program.n} x {count}", solver, ours, its, error, its_error, *wrong, note=note)


def _differences(
    program: Program, objectives: np.ndarray, weights: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes of weights'x along `direction` of the objective, and the indices of programs where it is smooth."""
    found, usable = [], []
    for i in range(min(len(objectives), 50)):
        values = []
        for share in (-2.0, -1.0, 1.0, 2.0):
            asked = with_objective(program, objectives[i] + share * STEP * direction)
            values.append(engine_of(asked).solve(asked, tol=1e-12).x @ weights)
        far, near = (values[3] - values[0]) / (4.0 * STEP), (values[2] - values[1]) / (2.0 * STEP)
        if abs(far - near) <= SMOOTH * abs(near):  # otherwise the active set changes in between
            usable.append(i)
            found.append(near + (near - far) / 3.0)
    return np.array(found), np.array(usable, np.int64)


Prepared = tuple[Callable[[], Any], Gradient] | None


def _centralpath(program: Program, objectives: np.ndarray, weights: np.ndarray) -> Prepared:
    if len(objectives) == 1:
        solve, last = held(lambda: engine_of(program).solve(program))
        return solve, lambda: np.atleast_2d(getattr(last[0].vjp(dx=weights), linear_name(program)))
    solve, last = held(lambda: qp.solve_many(q=objectives, **parts_of(program, "q")))
    return solve, lambda: last[0].vjp(dx=np.tile(weights, (len(objectives), 1))).q


def _moreau(program: Program, objectives: np.ndarray, weights: np.ndarray) -> Prepared:
    import moreau as package

    form, k = one_sided(program), len(objectives)
    if form.c.size != program.n:  # `one_sided` has added variables for the factor of P
        return None
    interior = package.IPMSettings(tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    solver, sides = moreau(form, k, enable_grad=True, ipm_settings=interior)
    upstream = np.tile(weights, (k, 1))
    return lambda: solver.solve(objectives, sides), lambda: np.asarray(solver.backward(upstream)["dq"])


def _diffcp(program: Program, objectives: np.ndarray, weights: np.ndarray) -> Prepared:
    import diffcp as package

    if len(objectives) > 1:
        return None
    form = with_linear_objective(one_sided(program))  # diffcp supports no quadratic objective
    (A, sides), n = form.stacked(), form.c.size
    cones = {package.ZERO: form.b.size, package.POS: form.nonneg, package.SOC: list(form.second_order)}
    upstream, zero = np.pad(weights, (0, n - program.n)), np.zeros(A.shape[0])
    settings = {"solve_method": "Clarabel", "mode": "dense"}
    solve, last = held(lambda: package.solve_and_derivative(A, sides, form.c, cones, **settings))
    return solve, lambda: np.atleast_2d(last[0][4](upstream, zero, zero)[2][: program.n])


def _qpth(program: Program, objectives: np.ndarray, weights: np.ndarray) -> Prepared:
    import torch
    from qpth.qp import QPFunction

    form: OneSided = one_sided(program)
    if form.second_order or form.P is None or form.c.size != program.n or program.n > 200:
        return None
    dense = [np.asarray(part.toarray()) for part in (form.P, form.G, form.A)]
    if np.linalg.eigvalsh(dense[0]).min() <= 1e-10:  # qpth needs a positive definite P
        return None
    P, G, A = (torch.tensor(part) if part.size else torch.empty(0, dtype=torch.float64) for part in dense)
    h, b = torch.tensor(form.h), torch.tensor(form.b) if form.b.size else torch.empty(0, dtype=torch.float64)
    q, upstream = torch.tensor(objectives, requires_grad=True), torch.tensor(np.tile(weights, (len(objectives), 1)))
    call = QPFunction(verbose=-1, check_Q_spd=False)
    solve, last = held(lambda: call(P, q, G, h, A, b))

    def gradient() -> np.ndarray:
        q.grad = None
        last[0].backward(upstream, retain_graph=True)
        assert q.grad is not None
        return q.grad.numpy()

    return solve, gradient


SOLVERS: dict[str, Callable[[Program, np.ndarray, np.ndarray], Prepared]] = {
    OURS: _centralpath, "moreau": _moreau, "diffcp": _diffcp, "qpth": _qpth,
}  # fmt: skip

COMPARISON = Comparison({name: partial(_measured, name) for name in PROGRAMS}, noun="program")
