"""The stopping test and the certificates of a quadratic program, in its own units, each block by its own size.

    rows     violation of l <= Ax <= u                             <= tol (1 + max(|Ax|, the sides that are violated))
    bounds   violation of lb <= x <= ub, entry by entry            <= tol (1 + |the bound|)
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (w + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (w + max(|primal|, |dual|))

with the objective's unit w = min(1, 100 max(|q|, diag P)), or 1 if both are 0, and the dual objective
-1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.  Rows with one entry are bounds.  Rows and variables without a finite side have
no part in the sizes.  Residuals are evaluated in twice the precision; see
`socp.verify.stopping` for the allowance for rounding.
"""

from __future__ import annotations

import numpy as np

from socp.linalg.vectors import NO_VALUES
from socp.problem.starts import Start
from socp.verify.certificates import Ray
from socp.verify.stopping import ConeTest, Residuals, far_row, residuals

from ..problem.program import QuadraticProgram
from ..problem.solution import Point
from .cone_form import ConeForm
from .presolve import Presolve


class ProgramTest(ConeTest):
    """Stopping test of points of the cone program on the quadratic program's own data.

    In the quadratic program a row has one multiplier, not two, and fixed variables have multipliers; a point may pass
    the test of the cone program and fail this one.

    Parameters
    ----------
    program : QuadraticProgram
    presolved : Presolve
        Presolve of `program`.
    form : ConeForm
        Map between the presolved program and the cone program.
    """

    def __init__(self, program: QuadraticProgram, presolved: Presolve, form: ConeForm) -> None:
        super().__init__(program)
        self.presolved, self.form = presolved, form
        self.last: tuple[Point, Residuals] | None = None

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray = NO_VALUES, rounding: bool | str = False
    ) -> Residuals:
        """Return the residuals of a point of the cone program; `rounding` subtracts bounds on evaluation errors."""
        x, y, z = self.form.lift(self.presolved.program, x, y, z)
        return self.measure(x, y, z, rounding)

    def measure(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, rounding: bool | str = False, Px: np.ndarray | None = None
    ) -> Residuals:
        """Return the residuals of a point (x, y, z_bounds) of the presolved program; Px may be given if it is known."""
        if self.presolved.removed is not None:
            y, z = self.presolved.dual(y, z)
        found = residuals(self.program, x, y, z, rounding=rounding, Px=Px)
        self.last = (x, y, z), found
        return found

    def far_row(self, found: Residuals, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> str:
        """Return words on the row that the point with residuals `found` violates most."""
        return far_row(self.program, self.point(found, x, y, z)[0], self.tol)

    def primal_certificate(self, y: np.ndarray, z: np.ndarray) -> tuple[Ray, float]:
        """Return the certificate of infeasibility that corresponds to (y, z) of the cone program, and its error."""
        return super().primal_certificate(*self.dual_ray(y, z))

    def dual_certificate(self, x: np.ndarray) -> tuple[Ray, float]:
        """Return the direction along which the objective falls for x of the cone program, and its error."""
        return super().dual_certificate(self.primal_ray(x))

    def point(self, found: Residuals, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Point:
        """Return the point (x, y, z_bounds) at which `found` was measured: the last one, or (x, y, z) lifted again."""
        if self.last is None or self.last[1] is not found:
            x, y, z = self.form.lift(self.presolved.program, x, y, z)
            return x, *self.presolved.dual(y, z)
        return self.last[0]

    def lower(self, x: np.ndarray, y: np.ndarray | None, z: np.ndarray | None) -> Start:
        """Return (x, y, z) of the cone program for a point (x, y, z_bounds); unknown multipliers are None."""
        program = self.presolved.program
        if y is None or z is None:
            return x[self.form.is_free(program)], None, None
        return self.form.lower(program, x, *self.presolved.lower(y, z))

    def primal_ray(self, x: np.ndarray) -> np.ndarray:
        """Return the direction in the quadratic program that corresponds to x of the cone program."""
        return self.form.lift_primal_ray(self.presolved.program, x)

    def dual_ray(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (y, z_bounds) of the quadratic program for a certificate (y, z) of the cone program."""
        return self.presolved.dual(*self.form.lift_dual_ray(self.presolved.program, y, z))
