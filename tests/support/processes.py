"""Python in a process of its own."""

import os
import subprocess
import sys


def python(*arguments, cwd=None, **environment):
    """Run Python with variables added to the environment; return the process that has ended."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
