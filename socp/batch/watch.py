"""Work on many programs in several threads, which ends early at a time limit or at Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..problem.status import Status


class Watch:
    """The time limit and the keyboard, looked at between compiled calls; `reason` is why work ended early, or None."""

    def __init__(self, time_limit: float | None) -> None:
        self.reason: Status | None = None
        self._end = np.inf if time_limit is None else time.perf_counter() + time_limit
        self._guard = threading.Lock()

    def seconds_left(self) -> float | None:
        """What is left of the time limit."""
        return None if self._end == np.inf else max(self._end - time.perf_counter(), 0.0)

    def note(self, status: Status) -> None:
        """End the work where a program that was solved by itself was interrupted, as its solver holds Ctrl-C."""
        if status is Status.INTERRUPTED:
            self.reason = status

    def work(self, tasks: Sequence[Any], workers: Sequence[Callable[[Any], None]]) -> None:
        """Have the workers, each in a thread, take tasks until none is left."""
        waiting = iter(tasks)

        def loop(worker: Callable[[Any], None]) -> None:
            while self.reason is None:
                with self._guard:
                    task = next(waiting, None)
                if task is None:
                    return
                if time.perf_counter() > self._end:
                    self.reason = Status.TIME_LIMIT
                    return
                worker(task)

        try:
            if len(workers) == 1:
                return loop(workers[0])
            with ThreadPoolExecutor(len(workers) - 1) as pool:
                others = [pool.submit(loop, worker) for worker in workers[1:]]
                try:
                    loop(workers[0])
                except BaseException:
                    self.reason = Status.INTERRUPTED
                    raise
            for other in others:
                other.result()
        except KeyboardInterrupt:
            self.reason = Status.INTERRUPTED
