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


LARGER = {"lasso": 60, "svm_dual_rbf": 80, "svm_dual_linear": 300, "group_lasso": 60, "robust_least_squares": 80}
"""Sizes at which the kernels for dense fronts, dense and low-rank Hessians and large cones are in use."""


def warm_up() -> None:
    """Load every kernel by solving small programs of each generated class; says so when that compiles."""
    listener = _Said()
    start = time.perf_counter()
    event.register("numba:compile", listener)
    try:
        for name, generated in generate.CLASSES.items():
            answer.solve(generated(2, 0), tol=1e-8)
            if name in LARGER:
                answer.solve(generated(LARGER[name], 0), tol=1e-8)
    finally:
        event.unregister("numba:compile", listener)
        if listener.said:
            print(f"{time.perf_counter() - start:.1f} s\n", flush=True)
