"""Fixtures of several test files, and the compilation of the kernels before the test processes start."""

import gc
import os
import signal

import numpy as np
import pytest

import models  # noqa: F401  whose kernels are compiled, too
import qp  # noqa: F401
from socp import ConeProgram, NonNeg, SecondOrder
from socp.commandline import warmup


def pytest_configure(config):
    """Compile all kernels once, with a message; otherwise each process of pytest-xdist would compile them, silently."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread for each of several processes
        with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            warmup()


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Collect no garbage meanwhile, afterwards seldom and never among what the tests are made of, a million objects."""
    gc.disable()
    yield
    gc.enable()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(scope="session")
def hard():
    """Return a program that takes about ten iterations."""
    from tests.support.programs import complementary  # imported late: it needs compiled kernels

    rng = np.random.default_rng(11)
    cones = [NonNeg(15), SecondOrder(8), SecondOrder(4)]
    G, A, F = rng.normal(size=(27, 20)), rng.normal(size=(3, 20)), rng.normal(size=(20, 20))
    s, z = complementary(cones, rng)
    x, y = rng.normal(size=(20)), rng.normal(size=3)
    c = -(F @ F.T @ x + A.T @ y + G.T @ z)
    return ConeProgram(c, G, G @ x + s, cones, A, A @ x, F @ F.T, offset=2.0)


@pytest.fixture
def listens_to_ctrl_c():
    """Handle SIGINT during the test: a process that a shell put into the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
