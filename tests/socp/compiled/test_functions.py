"""A numba that is not known: kernels of each kind are functions of numba, and programs have equal answers."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.compiled import functions, kernels, target
from tests.socp.compiled.test_kernels import CODE, files, run, write

pytestmark = pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")

HIDDEN = """
import sys, numba
numba.__version__ = "0.99.0"
numba.version_info = numba.version_info._replace(short=(0, 99))
"""
OF_EACH_KIND = """
import numpy as np
from tests.socp.compiled import test_blas, test_deferred, test_exponential, test_structures, test_vec
test_structures.test_kernels_read_and_write_what_python_sees()
test_structures.test_tests_may_call_an_inner_kernel()
test_vec.test_every_operation_works_lane_by_lane()
out = np.zeros(3)
test_deferred.write_sum(np.arange(3.0), 2.0, out)
assert out.tolist() == [1.0, 6.0, 1.0], out
test_deferred.test_python_calls_it_as_any_other()  # an inner kernel that is loaded and has no entry
test_deferred.test_one_that_python_calls_is_no_part_of_a_kernel_that_calls_it()
test_blas.test_potrf(6, test_blas.LOWER)
test_exponential.test_it_is_exp_to_two_units_of_the_last_place(
    test_exponential.exponentials, np.float64, -708.0, 64)
"""
LAST = """
assert "socp.compiled.machine" not in sys.modules
"""


def test_kernels_are_compiled_by_numba_and_one_warning_says_so(tmp_path):
    write(tmp_path)
    out = run(HIDDEN + CODE + LAST, tmp_path)
    assert "answers 11.0 1.0" in out and out.count("numba 0.99.0 is not known") == 1
    assert "with numba 0.60 to 0.68 they are compiled once" in out and files(tmp_path) == {}


@pytest.mark.full
def test_kernels_of_each_kind_work(tmp_path):
    run(HIDDEN + OF_EACH_KIND + LAST, tmp_path)


FORK = """
import os, signal, threading, time
import numpy as np
from socp.compiled import functions
from outer_file import outer, other
thread = threading.Thread(target=outer, args=(np.arange(3.0),))
thread.start()
while not functions._kept:  # its first kernel
    time.sleep(0.001)
time.sleep(0.05)
child = os.fork()
if child == 0:
    signal.alarm(60)
    print("child", other(np.ones(1)), flush=True)
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_is_forked_while_another_thread_compiles(tmp_path):
    write(tmp_path)
    assert "child 1.0" in run(HIDDEN + FORK, tmp_path)


@pytest.mark.parametrize("version, known", [
    ((0, 59), False), ((0, 60), True), ((0, 68), True), ((0, 69), False), ((1, 0), False), ((None, None), False),
])  # fmt: skip
def test_versions_that_are_known(monkeypatch, version, known):
    monkeypatch.setattr("numba.version_info", target.numba.version_info._replace(short=version))
    assert target.numba_is_known() is known


def test_what_numba_does_not_compile_is_an_error_that_names_kernel_and_versions():
    def mixed(x: float) -> float:
        return x + "a"

    with pytest.raises(RuntimeError, match=r"does not compile .*mixed: install a numba from 0\.60 to 0\.68"):
        functions.compiled(mixed, kernels.Kernel.signature.fget(kernels.Kernel(mixed, "leaf")), True)


def answers():
    """Return the objectives of a small, a sparse, a cone program and a batch."""
    rng, n = np.random.default_rng(3), 60
    A, x = sp.random(2 * n, n, 0.1, random_state=4, format="csc"), rng.normal(size=n)
    q, P = rng.normal(size=n), np.array([[2.0, 0.5], [0.5, 1.0]])
    small = qp.solve(P, [-1.0, -1.0], np.ones((1, 2)), [1.0], [1.0], lb=[0.0, 0.0])
    sparse = qp.solve(sp.eye(n, format="csc"), q, A, A @ x - 1.0, A @ x + 1.0)
    disk = socp.solve(c=[1.0, 1.0], G=-np.eye(3)[:, 1:], h=[1.0, 0.0, 0.0], cones=[socp.SecondOrder(3)])
    batch = qp.solve_many(P, rng.normal(size=(9, 2)), np.ones((1, 2)), [-1.0], [1.0], lb=[-1.0, -1.0])
    assert {small.status, sparse.status, disk.status, *batch.status} == {"optimal"}
    return [small.objective, sparse.objective, disk.objective, *batch.objective]


@pytest.mark.full
def test_programs_are_solved_as_with_a_known_numba(tmp_path):
    code = "import json\nfrom tests.socp.compiled.test_functions import answers\nprint(json.dumps(answers()))"
    out = run(HIDDEN + code + LAST, tmp_path)
    (line,) = (line for line in out.splitlines() if line.startswith("["))
    np.testing.assert_allclose(json.loads(line), answers(), rtol=1e-7)
    assert files(tmp_path) == {}
