"""Memory that a solver frees is reused by the next one, instead of being returned to the system."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from socp.compiled import memory

PROGRAM = """
import resource
import qp
from bench.programs import generate

program = generate.CLASSES["mpc"](100, 0)

def faults(count):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        qp.solve(program)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(5)
print(*(faults(5) / 5 for _ in range(6)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's malloc that gives memory back")
def test_a_solve_touches_no_memory_for_the_first_time():
    # malloc's thresholds stay as the environment sets them, as dask does for its workers
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=own)
    # of the 800 pages in use; other threads and the system may touch some
    assert min(map(float, done.stdout.split())) < 100, done.stdout


def test_a_pool_is_bounded():
    pool = memory.Pool()
    size = pool.most_words // 8
    for k in range(20):
        pool.leave(k, [k], size)
    assert list(pool.kept) == list(range(12, 20)) and pool.words == 8 * size
    assert pool.take(11) is None and pool.take(12) == [12] and pool.take(12) is None
    pool.leave(13, "another", size)
    assert [pool.take(13) for _ in range(3)] == ["another", [13], None]
    pool.leave("half", "half", pool.most_words // 2)
    assert list(pool.kept) == [*range(16, 20), "half"] and pool.words <= pool.most_words
    pool.leave("too much", "too much", pool.most_words + 1)
    assert not pool.kept and pool.words == 0


def test_a_small_address_space_is_no_error(monkeypatch):
    def no_room(*arguments):
        raise MemoryError

    monkeypatch.setattr(np, "empty", no_room)
    memory.keep_freed_memory.__wrapped__()
