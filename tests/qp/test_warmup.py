"""All kernels of `qp` are loaded by `warmup`."""

import importlib

import qp
from socp.compiled.kernels import kernels


def test_no_kernel_is_left_to_be_loaded():
    assert qp.warmup() > 0.0
    ours = [kernel for kernel in kernels() if kernel.name.startswith(("qp.", "socp."))]
    assert len(ours) > 150 and any(kernel.name.startswith("qp.") for kernel in ours)
    assert all(kernel.address_or_zero for kernel in ours)


def test_what_is_rare_or_for_sparse_data_names_kernels():
    warmup = importlib.import_module("socp.warmup")  # `socp.warmup` is the function
    names = [kernel.name for kernel in kernels()]
    for prefix in (*warmup.RARE, *warmup.SPARSE, *warmup.EVERY, *warmup.LARGE):
        assert any(name.startswith(prefix) for name in names), prefix
