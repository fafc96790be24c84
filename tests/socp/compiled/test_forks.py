"""A fork while another thread compiles or solves: the child compiles and solves, too."""

import gc
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import socp
from socp.compiled import build, kernels, threads
from socp.linalg.vectors import dot_within

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]
LIMIT = 120.0  # seconds; a child that takes longer hangs


def solves():
    solution = socp.solve(c=[1.0, 1.0], G=-np.eye(2), h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    return str(solution.status) == "optimal"


def compiles():
    code = dot_within.compile()
    return code.object_file != b""


def in_a_child(check):
    """Return True if `check` holds in a forked child within `LIMIT` seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.fixture
def other_thread():
    """Yield a function that starts a thread, which calls `work` repeatedly until the test ends."""
    over, begun = threading.Event(), threading.Event()
    started = []

    def start(work):
        def again():
            while not over.is_set():
                begun.set()
                work()

        started.append(threading.Thread(target=again))
        started[0].start()
        begun.wait()

    yield start
    over.set()
    for thread in started:
        thread.join()


def compile_under_the_lock():
    with kernels.lock, build._without_collector():
        for _ in range(3):
            compiles()


@pytest.mark.parametrize("work, forks", [
    (solves, 5), pytest.param(solves, 20, marks=pytest.mark.full), (compile_under_the_lock, 3),
])  # fmt: skip
def test_a_child_works(other_thread, work, forks):
    assert solves()
    other_thread(work)
    for _ in range(forks):
        assert in_a_child(lambda: gc.isenabled() and solves())
    assert in_a_child(compiles)


def test_locks_are_free_in_a_child_and_in_the_parent(other_thread):
    locks = [global_compiler_lock._lock, threads._lock]

    def free():
        return all(lock.acquire(timeout=5.0) for lock in [*locks, kernels.lock])

    def hold():
        with kernels.lock, global_compiler_lock, threads._lock:
            time.sleep(0.01)
        time.sleep(0.01)

    other_thread(hold)
    assert all(in_a_child(free) for _ in range(5))
    for lock in [*locks, kernels.lock]:
        assert lock.acquire(timeout=5.0)
        lock.release()


def test_blas_has_its_threads_back_in_a_child(monkeypatch, other_thread):
    state = {"number": 7}
    monkeypatch.setattr(threads, "bundled_libraries", lambda: [(lambda: state["number"], state_setter(state))])
    inside = threading.Event()

    def work():
        with threads.blas_threads(2):
            inside.set()
            time.sleep(0.2)

    with threads.blas_threads(3):  # set by the thread that forks, which continues in the child
        assert in_a_child(lambda: state["number"] == 3)
    other_thread(work)
    inside.wait()
    assert in_a_child(lambda: state["number"] == 7 and not threads._open)


def state_setter(state):
    return lambda number: state.update(number=number)
