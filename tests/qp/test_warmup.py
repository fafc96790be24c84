"""All kernels of `qp` are known to `warmup`."""

import qp
from qp.warmup import MODULES
from socp.compiled.kernels import kernels


def test_no_kernel_is_left_to_be_loaded():
    assert qp.warmup() > 0.0
    ours = [kernel for kernel in kernels() if kernel.py_func.__module__.startswith("qp.")]
    assert {kernel.py_func.__module__ for kernel in ours} <= {module.__name__ for module in MODULES}
    assert all(kernel.address_or_zero for kernel in ours)
