"""Work on many programs in several threads, which ends early at a time limit or at Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..problem.status import Status


class Deadline:
    """Time limit and keyboard interrupt, checked between compiled calls; `reason` is the status of an early end."""

    def __init__(self, time_limit: float | None) -> None:
        self.reason: Status | None = None
        self._end = np.inf if time_limit is None else time.perf_counter() + time_limit
        self._guard = threading.Lock()

    def seconds_left(self) -> float | None:
        """Return the seconds left of the time limit, or None without one."""
        return None if self._end == np.inf else max(self._end - time.perf_counter(), 0.0)

    def note(self, status: Status) -> None:
        """End the work if a program that was solved alone was interrupted, as its solver has caught Ctrl-C."""
        if status is Status.INTERRUPTED:
            self.reason = status

    def work(self, tasks: Sequence[Any], new_worker: Callable[[], Callable[[Any], None]], threads: int) -> None:
        """Run the tasks in up to `threads` threads, each with its own worker, until none is left or time is over."""
        waiting, others = iter(tasks), min(threads, len(tasks)) - 1

        def loop(worker: Callable[[Any], None] | None, task: Any) -> None:
            while task is not None and self.reason is None:
                if time.perf_counter() > self._end:
                    self.reason = Status.TIME_LIMIT
                    return
                worker = worker or new_worker()
                worker(task)
                with self._guard:
                    task = next(waiting, None)

        def begin() -> None:
            with self._guard:  # `work` takes the first task: its kernels release the GIL.
                task = next(waiting, None)
            loop(None, task)

        try:
            if others <= 0:
                return loop(None, next(waiting, None))
            worker = new_worker()
            with ThreadPoolExecutor(others) as pool:
                with self._guard:
                    running = [pool.submit(begin) for _ in range(others)]
                    task = next(waiting)
                try:
                    loop(worker, task)
                except BaseException:
                    self.reason = Status.INTERRUPTED
                    raise
            for each in running:
                each.result()
        except KeyboardInterrupt:
            self.reason = Status.INTERRUPTED
