"""All kernels of `qp` are loaded by `warmup`."""

import importlib

import pytest
import scipy.sparse as sp

from socp.compiled.kernels import kernels
from tests.support.processes import python


def test_what_is_compiled_ahead_names_kernels():
    warmup = importlib.import_module("socp.kernel_groups")
    names = [kernel.name for kernel in kernels()]
    for prefix in (place for places in warmup.GROUPS.values() for place in places):
        assert any(name.startswith(prefix) for name in names), prefix


def test_what_a_first_small_program_does_not_call_is_deferred():
    warmup = importlib.import_module("socp.kernel_groups")
    named = {kernel.name for kernel in warmup.members("every", "dense")}
    assert "socp.method.loop.follow" in named
    for deferred in ("socp.derivatives.conditions.find_point", "socp.batch.verify.verify"):
        assert deferred not in named and any(kernel.name == deferred for kernel in kernels())


LOADED = """
import numpy as np
import qp
from socp.compiled.kernels import kernels
for P in (None, np.eye(3) + 0.1):
    print(qp.solve(P, np.ones(3), A=np.ones((1, 3)), l=[0.1], lb=0.0).plan)
print(*(kernel.name for kernel in kernels() if kernel.address_or_zero))
"""


def test_first_small_programs_load_their_method_and_no_other():
    *plans, loaded = python("-c", LOADED).stdout.splitlines()
    assert len(plans) == 2 and all(plan.startswith("dual active set") for plan in plans)
    assert "qp.active_set.dual.solve_dual" in loaded.split()
    assert not {"socp.batch.driver.run", "socp.method.loop.follow"} & set(loaded.split())
    assert {"socp.batch.driver.run", "socp.method.loop.follow"} <= {kernel.name for kernel in kernels()}


@pytest.mark.full
def test_first_small_programs_compile_their_method_and_no_other(tmp_path):
    """A new cache has only the kernels of the method, at most a third of those of the interior-point method."""
    for P in ("None", "np.eye(3) + 0.1"):
        script = f"import numpy as np, qp; print(qp.solve({P}, np.ones(3), A=np.ones((1, 3)), l=[0.1], lb=0.0).plan)"
        made = python("-c", script, NUMBA_CACHE_DIR=str(tmp_path))
        assert made.returncode == 0 and made.stdout.startswith("dual active set"), made.stderr
        names = [path.name for path in tmp_path.rglob("*") if path.is_file()]
        assert any("dual.solve_dual-" in name for name in names), names
        assert not any(other in name for name in names for other in ("driver.run-", "loop.follow-")), names


@pytest.mark.parametrize(
    ("n", "kind", "steps"), [(300, sp.csc_array, 1), (30, sp.csc_array, 0), (300, sp.csc_array.toarray, 0)]
)
def test_a_large_sparse_program_has_its_kernels_in_one_step_without_dense_ones(monkeypatch, n, kind, steps):
    warmup = importlib.import_module("socp.kernel_groups")
    prepared = []
    monkeypatch.setattr(warmup, "prepare", lambda wanted, alone: prepared.append({each.name for each in wanted}))
    warmup.ready_for_large.cache_clear()
    warmup.ready_for(None, kind(sp.csc_array(sp.eye_array(n))))
    warmup.ready_for_large.cache_clear()
    assert len(prepared) == steps
    for names in prepared:
        assert "socp.kkt.sparse.factor_sparse" in names and "socp.problem.checks.is_symmetric" in names
        assert "socp.kkt.dense.factor_dense" not in names
