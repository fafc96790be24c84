"""Say so while kernels compile: the first use after an installation takes a while, and nobody should wonder why."""

from __future__ import annotations

import time

from numba.core import event

from . import answer, generate, learning


class _Noticed(event.Listener):
    """Notices that kernels compile (`socp.jit` says so in the log)."""

    def __init__(self) -> None:
        self.compiled = False

    def on_start(self, event: event.Event) -> None:
        self.compiled = True

    def on_end(self, event: event.Event) -> None:
        pass


EVERY_WAY = (
    (generate.robust_least_squares, 80, "ldl"),  # large enough for supernodes
    (generate.group_lasso, 60, "ldl"),
    (generate.svm_dual_rbf, 80, "dense"),
    (learning.ea_svm_cubic, 200, "dense"),  # large enough for variables to be split off
    (generate.robust_least_squares, 80, "dense"),
    (generate.svm_dual_linear, 80, "lowrank"),
)
"""What solves the KKT systems in every way that there is; small programs would all take the same."""


def warm_up() -> None:
    """Load every kernel by solving small programs of every class and in every way; says so when that compiles."""
    listener = _Noticed()
    start = time.perf_counter()
    event.register("numba:compile", listener)
    try:
        for generated in generate.CLASSES.values():
            answer.solve(generated(2, 0), tol=1e-8)
        for generated, size, way in EVERY_WAY:
            answer.solve(generated(size, 0), tol=1e-8, kkt=way)
    finally:
        event.unregister("numba:compile", listener)
        if listener.compiled:
            print(f"kernels compiled in {time.perf_counter() - start:.1f} s\n", flush=True)
