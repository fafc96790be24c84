"""Solvers for the comparison's tests, in the form module:function: honest, lying, slow, crashing, raising."""

import os
import signal
import sys
import time
from dataclasses import replace

from bench.answers import answer


def honest(program, tol, time_limit):
    print("what a solver prints must not get among the replies")
    return replace(answer.solve(program, tol=tol), setup_seconds=0.0, solve_seconds=0.25)


def liar(program, tol, time_limit):
    result = honest(program, tol, time_limit)
    return replace(result, x=result.x + 1e-3)


def late(program, tol, time_limit):
    return replace(honest(program, tol, time_limit), solve_seconds=1e6)


def nothing(program, tol, time_limit):
    pass


def hangs(program, tol, time_limit):
    time.sleep(3600)


def dies(program, tol, time_limit):
    os.kill(os.getpid(), signal.SIGKILL)


def exits(program, tol, time_limit):
    sys.stderr.write("fatal: no licence in /home/somebody/licence.txt\n")
    sys.stderr.flush()
    os._exit(3)


def __getattr__(name):
    if name == "does_not_start":
        raise ImportError("no licence")
    raise AttributeError(name)


def raises(program, tol, time_limit):
    raise RuntimeError("cannot read /home/somebody/solver.cfg")
