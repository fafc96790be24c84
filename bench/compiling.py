"""Say so while kernels compile: the first use after an installation takes a while, and nobody should wonder why."""

from __future__ import annotations

import time

from numba.core import event

from . import answer, generate


class _Said(event.Listener):
    """Says once that kernels compile, at the first that does."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said:
            print("compiling kernels (once for this installation) ... ", end="", flush=True)
            self.said = True

    def on_end(self, event: event.Event) -> None:
        pass


EVERY_WAY = (
    (generate.robust_least_squares, 80, "ldl"),  # large enough for supernodes
    (generate.group_lasso, 60, "ldl"),
    (generate.svm_dual_rbf, 80, "dense"),
    (generate.robust_least_squares, 80, "dense"),
    (generate.svm_dual_linear, 80, "lowrank"),
)
"""What solves the KKT systems in every way that there is; small programs would all take the same."""


def warm_up() -> None:
    """Load every kernel by solving small programs of every class and in every way; says so when that compiles."""
    listener = _Said()
    start = time.perf_counter()
    event.register("numba:compile", listener)
    try:
        for generated in generate.CLASSES.values():
            answer.solve(generated(2, 0), tol=1e-8)
        for generated, size, way in EVERY_WAY:
            answer.solve(generated(size, 0), tol=1e-8, kkt=way)
    finally:
        event.unregister("numba:compile", listener)
        if listener.said:
            print(f"{time.perf_counter() - start:.1f} s\n", flush=True)
