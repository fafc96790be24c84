"""Quadratic programs stated by their blocks of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.problem.blocks import BlockProgram, Rows

from .program import QuadraticProgram


class Blocks(BlockProgram):
    """A quadratic program stated by its blocks of variables, as `socp.Blocks` states a cone program.

    Parameters
    ----------
    **sizes : int
        Number of variables of every block, in order.  A block of size 0 is left out, with all its terms.

    Raises
    ------
    ProgramError
        A shape or a name does not fit; the message names the block.

    Examples
    --------
    A support vector machine, min 1/2 |w|^2 + C 1'xi with y_i (w'x_i + b) >= 1 - xi_i and xi >= 0:

    >>> import numpy as np, qp
    >>> X, y = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> p = qp.Blocks(w=2, b=1, xi=4)
    >>> p.minimize(quadratic={"w": 1.0}, xi=10.0)
    >>> margins = p.at_least(1.0, w=y[:, None] * X, b=y, xi=1.0)
    >>> p.bounds(xi=(0.0, None))
    >>> sol = qp.solve(p.program())
    >>> print(sol.x[p.w].round(6), sol.x[p.b].round(6), -sol.y[margins.rows].sum().round(6))
    [1. 1.] [-1.] 2.0
    """

    def equal(self, right: Any, **terms: Any) -> Rows:
        """Add rows  sum of the terms = right  and return them."""
        return self.between(right, right, **terms)

    def at_least(self, right: Any, **terms: Any) -> Rows:
        """Add rows  sum of the terms >= right  and return them."""
        return self.between(right, np.inf, **terms)

    def at_most(self, right: Any, **terms: Any) -> Rows:
        """Add rows  sum of the terms <= right  and return them."""
        return self.between(-np.inf, right, **terms)

    def between(self, lower: Any, upper: Any, **terms: Any) -> Rows:
        """Add rows  lower <= sum of the terms <= upper  and return them."""
        return self._add(self._rows("A", 1.0, terms, {"l": lower, "u": upper}))

    def program(self) -> QuadraticProgram:
        """Return the program, with its rows in the order in which they were stated."""
        return QuadraticProgram(**self._parts())

    def _parts(self) -> dict[str, Any]:
        """Return the data of the program by name."""
        rows = {"A": self._assemble("A", self._groups)} if self._groups else {}
        data = {"P": self._whole_hessian(), "q": self._linear, "lb": self._lower, "ub": self._upper}
        return {**data, "offset": self._offset, **rows, **self._sides()}

    def change(self, rows: Rows, lower: Any = None, upper: Any = None, **terms: Any) -> dict[str, np.ndarray]:
        """Replace values of stated rows and return the arguments for `Solver.update`.

        Parameters
        ----------
        rows : Rows
            The rows, as the method that stated them returned them.
        lower, upper : float or array_like, optional
            New sides of the rows; both for an equality.
        **terms : matrix, vector or number
            New values of the terms that change.
        """
        sides = {name: value for name, value in (("l", lower), ("u", upper)) if value is not None}
        self._change(rows, terms, sides)
        return (self._sides() if sides else {}) | ({"A_data": self._data["A"].copy()} if terms else {})

    def _sides(self) -> dict[str, np.ndarray]:
        return {side: np.concatenate([group.sides[side] for group in self._groups]) for side in "lu" if self._groups}
