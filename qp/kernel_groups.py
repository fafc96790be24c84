"""The groups of compiled kernels of `qp`, and warm-up of the kernels of `qp` and `socp`."""

from __future__ import annotations

from socp.kernel_groups import announce, prepare_packages

announce(
    first=[
        "qp.problem.program.are_plain", "qp.reduce.cone_form.classify", "qp.reduce.removal.look_for_more",
    ],
    every=["qp.problem", "qp.reduce"],
    dual=["qp.active_set.dual", "qp.active_set.dual_set", "qp.active_set.equality_kkt", "qp.problem.packed"],
    sparse=["qp.reduce.removal.remove_rows", "qp.reduce.removal.postsolve"],
)  # fmt: skip


def warmup() -> float:
    """Compile all kernels of `qp` and `socp`, or load them if this version has compiled them before.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> import qp
    >>> qp.warmup() > 0.0
    True
    """
    return prepare_packages("socp.", "qp.")
