"""A process of Python that answers lines of JSON with lines of JSON, and is killed when it takes too long.

Its other output is discarded.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any


class Died(OSError):
    """The process ended by itself, with the exit code `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the process ended with code {code}")
        self.code = code


class Late(OSError):
    """The process did not answer in time and was killed."""


class Process(subprocess.Popen):  # type: ignore[type-arg]
    """Child process ``python -m MODULE ARGUMENTS``; Ctrl-C reaches the parent only."""

    def __init__(self, *command: str, environment: dict[str, str], errors: Any = None) -> None:
        super().__init__(
            [sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            env=environment, start_new_session=True,
        )  # fmt: skip
        self.replies: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.stdout is not None
        for line in self.stdout:
            self.replies.put(line)
        self.replies.put(None)

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request; `reply` raises an error if the process is not there to read it."""
        assert self.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(json.dumps(request).encode() + b"\n")
            self.stdin.flush()

    def reply(self, seconds: float) -> dict[str, Any]:
        """Return the next reply, waiting at most `seconds`.

        Raises
        ------
        Died, Late
            There is no reply, and the process has ended.
        """
        try:
            line = self.replies.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise Late from None
        if line is None:
            raise Died(self.wait())
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """Kill the process and close its streams."""
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout):
            with contextlib.suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]


def serve(ready: Callable[[], dict[str, Any]], answer: Callable[[dict[str, Any], Any], dict[str, Any]]) -> None:
    """Run the child: send `ready()`, then `answer` each request, given a function that sends replies on the way."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def reply(content: dict[str, Any]) -> None:
        replies.write(json.dumps(content) + "\n")
        replies.flush()

    reply(ready())
    for line in sys.stdin:
        reply(answer(json.loads(line), reply))
