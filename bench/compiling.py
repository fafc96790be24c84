"""Say so while kernels compile: the first use after an installation takes a while, and nobody should wonder why."""

from __future__ import annotations

import time

from numba.core import event

import qp


class _Noticed(event.Listener):
    """Notices that kernels compile (`socp.compiled.jit` says so in the log)."""

    def __init__(self) -> None:
        self.compiled = False

    def on_start(self, event: event.Event) -> None:
        self.compiled = True

    def on_end(self, event: event.Event) -> None:
        pass


def warm_up() -> None:
    """Load every kernel; says so when that compiles."""
    listener = _Noticed()
    start = time.perf_counter()
    event.register("numba:compile", listener)
    try:
        qp.warmup()
    finally:
        event.unregister("numba:compile", listener)
        if listener.compiled:
            print(f"kernels compiled in {time.perf_counter() - start:.1f} s\n", flush=True)
