"""The compiled kernels of `qp` and of the engine below it, loaded at once."""

from __future__ import annotations

from socp.warmup import prepare_packages


def warmup() -> float:
    """Compile all kernels of `qp` and `socp`, or load them when this version has compiled them before.

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
