"""Quadratic programs whose P is a `KernelMatrix`, stated directly or by their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import qp
from socp.problem.checks import ProgramError
from socp.problem.hessian import check_full, hessian_data

from .kernel_matrix import KernelMatrix


class KernelProgram(qp.QuadraticProgram):
    """A quadratic program that keeps its `KernelMatrix` P as it is; other data as in `qp.QuadraticProgram`.

    `KernelSolver` solves it from rows of P that are computed on demand; `qp.solve` forms P in full.

    Examples
    --------
    >>> import numpy as np
    >>> P = KernelMatrix(np.eye(2), "linear", signs=[1, -1])
    >>> KernelProgram(P, [-1.0, -1.0], A=[[1.0, -1.0]], l=0.0, u=0.0, lb=0.0, ub=9.0)
    KernelProgram(n=2, m=1)
    """

    P: KernelMatrix

    def take_hessian(self, name: str, P: Any, n: int, vector: str) -> None:
        """Set P; raise ProgramError unless it is a `KernelMatrix` of order `n`."""
        if not isinstance(P, KernelMatrix):
            raise ProgramError(f"{name} must be a KernelMatrix, but a {type(P).__name__} came")
        if P.order != n:
            raise ProgramError(f"{name} must have shape ({n}, {n}) ({n} variables in {vector}), but {P.shape} came")
        self.P = P

    def plain(self) -> qp.QuadraticProgram:
        """Return the program with P as an array."""
        check_full(self.n)
        return qp.QuadraticProgram.of_checked(**{**vars(self), **hessian_data("P", self.P.toarray(), self.n, "q")})

    def rows_along_signs(self) -> tuple[np.ndarray, np.ndarray, list[int]] | None:
        """Return the rows with sides if they are equalities with entries c times the signs of P, else None.

        Of two rows, the first has the leading variables and the second the others.

        Returns
        -------
        rows, slopes : arrays, shape (rows,)
            Indices of the rows, and their c.
        ends : list of int
            Row r has the variables from ends[r] to ends[r + 1].
        """
        rows = self.sided_rows
        if rows.size == 0:
            return rows, np.zeros(0), [0, self.n, self.n]
        A = self.A if rows.size == self.m else self.A[rows]
        if rows.size > 2 or A.data.size != self.n or (self.l[rows] != self.u[rows]).any():
            return None
        along, count = A.data * self.P.signs, self.n - int(A.indices.sum())  # count: variables of the first row
        slopes = along[[0, min(count, self.n - 1)][: rows.size]]
        is_along = slopes.all() and (along[:count] == slopes[0]).all() and (along[count:] == slopes[-1]).all()
        if not is_along or A.indices[:count].any() or (A.indptr != np.arange(self.n + 1)).any():
            return None
        return rows, slopes, [0, count, self.n]


class KernelBlocks(qp.Blocks):
    """A quadratic program stated by its blocks; `program` returns a `KernelProgram` if P is a `KernelMatrix`."""

    def program(self) -> qp.QuadraticProgram:
        """Return the program, with its rows in the order in which they were stated."""
        parts = self._parts()
        return (KernelProgram if isinstance(parts["P"], KernelMatrix) else qp.QuadraticProgram)(**parts)
