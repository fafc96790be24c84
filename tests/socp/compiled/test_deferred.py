"""Deferred kernels: compiled at the first call, which Ctrl-C does not end half way."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from socp.compiled.deferred import Deferred
from socp.compiled.kernels import INTERPRETED, Kernel, deferred, deferred_kernel, kernel
from socp.compiled.signatures import Floats

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")


@deferred
def rare_sum(x: Floats, scale: float) -> float:
    total = 0.0
    for i in range(x.size):
        total += scale * x[i]
    return total


@kernel
def write_sum(x: Floats, scale: float, out: Floats) -> None:
    out[0] = 1.0
    if scale > 0.0:
        out[1] = rare_sum(x, scale)
    out[2] = 1.0


@deferred_kernel
def rare_count(x: Floats) -> int:
    return x.size


@kernel
def write_count(x: Floats, out: Floats) -> None:
    out[0] = rare_count(x)


@pytest.fixture(autouse=True)
def the_word_is_as_it_was():
    """Restore the address of `rare_sum` after a test in which it could not be compiled."""
    yield
    rare_sum.deferred.word[0] = rare_sum.address_or_zero


def fresh(monkeypatch, find=None):
    """Reset `rare_sum` to its state before the first call."""
    rare_sum.deferred.word[0] = 0
    if find is not None:
        monkeypatch.setattr(rare_sum.deferred, "find", find)


def test_a_caller_neither_loads_nor_names_it():
    assert write_sum.callees == ()
    out = np.zeros(3)
    write_sum(np.ones(4), -1.0, out)
    assert rare_sum.deferred.word[0] == rare_sum.address_or_zero


def test_the_first_call_has_it_compiled(monkeypatch):
    calls = []
    fresh(monkeypatch, lambda: calls.append(threading.current_thread()) or rare_sum.address)
    out = np.zeros(3)
    for _ in range(3):
        write_sum(np.ones(4), 2.0, out)
    np.testing.assert_array_equal(out, [1.0, 8.0, 1.0])
    assert len(calls) == 1 and calls[0] is not threading.current_thread()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_it_is_compiled_comes_after_the_caller(monkeypatch, listens_to_ctrl_c):
    def find():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return rare_sum.address

    fresh(monkeypatch, find)
    out = np.zeros(3)
    with pytest.raises(KeyboardInterrupt):
        write_sum(np.ones(4), 2.0, out)
        time.sleep(1.0)
    np.testing.assert_array_equal(out, [1.0, 8.0, 1.0])


def test_what_cannot_be_compiled_is_an_error_of_the_caller(monkeypatch, caplog):
    def find():
        raise ValueError("no such instruction")

    fresh(monkeypatch, find)
    with pytest.raises(RuntimeError, match="rare_sum could not be compiled"):
        write_sum(np.ones(4), 2.0, np.zeros(3))
    assert "no such instruction" in caplog.text


def test_threads_that_ask_together_all_get_it(monkeypatch):
    fresh(monkeypatch, lambda: time.sleep(0.02) or rare_sum.address)
    outs = [np.zeros(3) for _ in range(4)]
    threads = [threading.Thread(target=write_sum, args=(np.ones(4), 2.0, out)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(out[1] == 8.0 for out in outs)


def test_python_calls_it_as_any_other():
    assert rare_sum(np.ones(4), 2.0) == 8.0
    assert isinstance(rare_sum, Kernel) and isinstance(rare_sum.deferred, Deferred)


def test_one_that_python_calls_is_no_part_of_a_kernel_that_calls_it():
    assert rare_count.kind == "kernel" and write_count.callees == ()
    out = np.zeros(1)
    write_count(np.ones(3), out)
    assert out[0] == 3.0 == rare_count(np.ones(3)) and rare_count.deferred.word[0] == rare_count.address
