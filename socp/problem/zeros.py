"""Stored zeros of sparse matrices: places that an update may fill, and that are not factored until it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg.csc import csc
from .checks import CSC


class StoredZeros:
    """Stored zeros of the sparse matrices of a program, which its set-up leaves out.

    Parameters
    ----------
    program : ConeProgram or QuadraticProgram, optional
        Without it, nothing is left out.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from socp import ConeProgram
    >>> A = sp.csc_array(([1.0, 0.0], ([0, 0], [0, 1])), shape=(1, 2))
    >>> program = ConeProgram([1.0, 1.0], A=A, b=[1.0])
    >>> StoredZeros(program).left_out(program).A.nnz
    1
    """

    def __init__(self, program: Any = None) -> None:
        self._kept: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        for name in ("P", "A", "G") if program is not None else ():
            matrix = vars(program).get(name)
            if type(matrix) in CSC and np.count_nonzero(matrix.data) < matrix.data.size:
                kept = matrix.data != 0.0
                indptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
                self._kept[name] = kept, matrix.indices[kept], indptr

    def left_out(self, program: Any) -> Any:
        """Return a program with equal places of entries without these places, or None if it has entries there."""
        changes = {}
        for name, (kept, indices, indptr) in self._kept.items():
            matrix = getattr(program, name)
            if matrix.data[~kept].any():
                return None
            changes[name] = csc(matrix.data[kept], indices, indptr, matrix.shape)
        return program.of_checked(**{**vars(program), **changes}) if changes else program


NO_ZEROS = StoredZeros()
