"""The threads of BLAS: set for a solve and put back."""

import logging
import threading

import numpy as np
import pytest

import qp
import socp
from socp.compiled import threads
from socp.compiled.threads import blas_threads
from socp.linalg.cholesky import LOOPS
from tests.support.interrupts import Interrupted
from tests.support.programs import planted_optimum


@pytest.fixture
def library(monkeypatch):
    """Replace the BLAS by a fake with only a number of threads, initially 7, and return its state."""
    state = {"number": 7, "history": []}

    def set_to(number):
        state["number"] = number
        state["history"].append(number)

    monkeypatch.setattr(threads, "bundled_libraries", lambda: [(lambda: state["number"], set_to)])
    return state


def test_set_and_put_back(library):
    with blas_threads(2):
        assert library["number"] == 2
    assert library["number"] == 7
    with blas_threads(7):
        pass
    assert library["history"] == [2, 7]  # a number already in effect is not set again
    library["number"] = 5  # by the user, after a block
    with blas_threads(2):
        pass
    assert library["history"] == [2, 7, 2, 5]


def test_of_solvers_that_overlap_the_last_one_puts_back(library):
    inside, leave = threading.Event(), threading.Event()

    def other():
        with blas_threads(3):
            inside.set()
            leave.wait()

    with blas_threads(2):
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
        assert library["number"] == 2
    assert library["number"] == 2
    leave.set()
    thread.join()
    assert library["number"] == 7


def test_a_solve_uses_its_number(library):
    program, _ = planted_optimum(np.random.default_rng(0), n=LOOPS + 10)
    seen = []
    socp.solve(program, threads=3, callback=lambda iterate: seen.append(library["number"]))
    assert set(seen) == {3} and library["number"] == 7
    library["history"].clear()
    socp.solve(planted_optimum(np.random.default_rng(0), n=5)[0], threads=3)
    assert library["history"] == []  # matrices too small for several threads

    def fail(iterate):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        socp.solve(program, threads=3, callback=fail)
    assert library["number"] == 7
    library["history"].clear()
    qp.Solver(qp.QuadraticProgram(np.eye(300), np.ones(300)), threads=2)
    assert library["history"] == [2, 7]


def test_the_bundled_library_takes_the_number():
    if not threads.bundled_libraries():
        assert not [*threads._bundled(np), *threads._bundled(threads.scipy)]
        return
    before = [get() for get, _ in threads.bundled_libraries()]
    with blas_threads(2):
        assert [get() for get, _ in threads.bundled_libraries()] == [2] * len(before)
    assert [get() for get, _ in threads.bundled_libraries()] == before


def test_without_a_library_the_log_says_so_once(monkeypatch, caplog):
    monkeypatch.setattr(threads, "bundled_libraries", list)
    threads._say_that_nothing_can_be_set.cache_clear()
    with caplog.at_level(logging.WARNING, logger="socp"):
        for count in (1, 2, 2):
            with blas_threads(count):
                pass
    assert len(caplog.records) == 1 and "threads has no effect" in caplog.text
    threads._say_that_nothing_can_be_set.cache_clear()


def test_the_same_bits_for_the_same_number():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, 200))
    program = qp.QuadraticProgram(F @ F.T, rng.normal(size=200), np.ones((1, 200)), 1.0, 1.0, 0.0, 1.0)
    first, second = (qp.solve(program, threads=2) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.status == "optimal" == qp.solve(program).status


def test_no_line_of_a_block_leaves_its_lock_or_its_number(library):
    def action():
        with blas_threads(2):
            pass

    at = 1
    while Interrupted(action, at).raised:
        assert not threads._lock.locked() and not threads._open
        with blas_threads(3):
            assert library["number"] == 3
        assert library["number"] == 7
        at += 1
    assert at > 8
