"""All kernels of `qp` are loaded by `warmup`."""

import qp
from socp.compiled.kernels import kernels


def test_no_kernel_is_left_to_be_loaded():
    assert qp.warmup() > 0.0
    ours = [kernel for kernel in kernels() if kernel.name.startswith(("qp.", "socp."))]
    assert len(ours) > 150 and any(kernel.name.startswith("qp.") for kernel in ours)
    assert all(kernel.address_or_zero for kernel in ours)
