"""Ctrl-C at any line of the project: a solver or an estimator that was interrupted goes on as if it had not been.

An action is run once to count the lines that it executes, and again to be interrupted before one of them, drawn at
random.  A solver then has the program from before or the one after, and its answer is that of a new solver; an
estimator is fitted again, and predicts what another one does that nobody interrupted.
"""

from __future__ import annotations

import opcode
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import models
import qp
import socp
from socp.method.fallbacks import DECIDED

from ..answers.program import engine_of
from . import updates
from .case import Case

ROOTS = tuple(str(Path(package.__file__ or "").parent) for package in (socp, qp, models))
SAME = 1e-5  # the share by which two objectives, and predictions, may differ
ESTIMATORS: tuple[Callable[[], Any], ...] = (
    models.SVC, models.SVR, models.MultiTaskSVC, models.LogisticRegression,
)  # fmt: skip
KINDS = ("cone updates", "quadratic updates", "iterates", "fits")


class Interrupted:
    """An action in which KeyboardInterrupt is raised before the executed line `at` of the project; None: never.

    `lines` says how many were executed, `raised` and `came` whether the interrupt was raised, and arrived here.
    """

    def __init__(self, action: Callable[[], Any], at: int | None = None) -> None:
        self.lines, self.at, self.raised, self.came = 0, at, False, False
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            action()
        except KeyboardInterrupt:
            self.came = True
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._step if frame.f_code.co_filename.startswith(ROOTS) else None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        # no signal is looked at before __exit__(None, None, None) is called at the end of a `with` block
        code = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 6 : 2]
        if event == "line" and code != bytes(3 * [opcode.opmap["LOAD_CONST"]]):
            self.lines += 1
            if self.lines == self.at:
                self.raised = True
                raise KeyboardInterrupt
        return self._step


def run(interrupts: int, seed: int, kinds: Iterable[str] = KINDS) -> tuple[Counter[str], list[str]]:
    """So many interrupts of each kind: how many of each were raised, and what went wrong, in words."""
    counts, wrong = Counter[str](), []
    for kind in kinds:
        number = 0
        while counts[kind] < interrupts:
            rng = np.random.default_rng([seed, KINDS.index(kind), number])
            try:
                raised, why = TRIALS[kind](rng)
            except Exception as error:  # whatever is raised here is what one looks for
                raised, why = 1, f"{type(error).__name__}: {error}"
            counts[kind] += raised
            number += 1
            if why:
                wrong.append(f"{kind} {number - 1}: {why}")
    return counts, wrong


def of_update(case: Case) -> Callable[[np.random.Generator], tuple[int, str]]:
    """The trial of an update that leads to a case."""

    def trial(rng: np.random.Generator) -> tuple[int, str]:
        first, *steps = case.chain
        Solver = engine_of(case.program).Solver
        counted, solver = Solver(first.program), Solver(first.program)
        raised, why = 0, ""
        solver.solve()
        for after in steps:
            lines = Interrupted(partial(_go_on, counted, after)).lines
            raised += Interrupted(partial(_go_on, solver, after), int(rng.integers(1, lines + 1))).raised
            why = why or differs(solver, after.warm_start)
            solver.update(**after.change)
            why = why or differs(solver, after.warm_start)
        return raised, why

    return trial


def _go_on(solver: Any, after: Case) -> None:
    solver.update(**after.change)
    solver.solve(after.warm_start)


def of_iterates(rng: np.random.Generator) -> tuple[int, str]:
    """An interrupt while somebody follows the iterates of a solver, and between them a solve."""
    program: Any = updates.of_cone_programs(rng).program
    solver = socp.Solver(program)

    def follow() -> None:
        for k, _ in enumerate(solver.iterates()):
            if k == 2:
                solver.solve()

    at = int(rng.integers(1, Interrupted(follow).lines + 1))
    found = Interrupted(follow, at)
    return int(found.raised), differs(solver, False)


def of_fit(rng: np.random.Generator) -> tuple[int, str]:
    """An interrupt of a fit, which must arrive, and another fit."""
    kind = ESTIMATORS[int(rng.integers(len(ESTIMATORS)))]
    X = rng.normal(size=(24, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=24) > 0.0).astype(int)
    expected = kind().fit(X, y).predict(X)
    lines = Interrupted(lambda: kind().fit(X, y)).lines
    estimator = kind()
    found = Interrupted(lambda: estimator.fit(X, y), int(rng.integers(1, lines + 1)))
    if found.raised and not found.came and not np.allclose(estimator.predict(X), expected, SAME, SAME):
        return 1, f"{kind.__name__}: the interrupt was swallowed, and the model is another one"
    same = np.allclose(estimator.fit(X, y).predict(X), expected, SAME, SAME)
    return int(found.raised), "" if same else f"{kind.__name__}: fitted again, it is another model"


def differs(solver: Any, warm_start: bool) -> str:
    """In what the answer of a solver differs from that of a new one, in words; nothing where it does not."""
    fresh, found = type(solver)(solver.program).solve(), solver.solve(warm_start)
    if not (fresh.status in DECIDED and found.status in DECIDED):
        return "" if fresh.status not in DECIDED else f"{found.status.value} where a new solver is {fresh.status.value}"
    if fresh.status is not found.status:
        return f"{found.status.value} where a new solver is {fresh.status.value}"
    far = abs(fresh.objective - found.objective) > SAME * (1.0 + abs(fresh.objective))
    return f"objective {found.objective:g} where a new solver has {fresh.objective:g}" if far else ""


TRIALS: dict[str, Callable[[np.random.Generator], tuple[int, str]]] = {
    "cone updates": lambda rng: of_update(updates.of_cone_programs(rng))(rng),
    "quadratic updates": lambda rng: of_update(updates.of_quadratic_programs(rng))(rng),
    "iterates": of_iterates,
    "fits": of_fit,
}
