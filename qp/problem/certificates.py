"""Certificates of many dense quadratic programs at once, through the interface of `socp.verify.certificates`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from socp.verify.certificates import (
    add_transposed,
    certificate_of,
    dual_slope,
    dual_terms,
    largest_entry,
    primal_slope,
    primal_terms,
)
from socp.verify.stopping import Sides


class Stack(NamedTuple):
    """Arrays with a row for each program, or one shared row; bounds follow the sides of the rows in l and u."""

    P: np.ndarray
    cost: np.ndarray
    A: np.ndarray
    l: np.ndarray
    u: np.ndarray

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.A.shape[2]

    @property
    def constraints(self) -> tuple[Sides, Sides]:
        """Rows and bounds, as in `QuadraticProgram.constraints`."""
        m = self.A.shape[1]
        rows = Sides(self.A, self.l[:, :m], self.u[:, :m], 0.0)
        return rows, Sides(np.eye(self.n)[None], self.l[:, m:], self.u[:, m:])

    @property
    def hessian(self) -> Stack:
        """Provider of the interface of P: the stack itself."""
        return self

    @property
    def largest(self) -> Any:
        """Largest entry of each P in size."""
        return largest_entry(self.P)

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        """Return P x followed by its rounding errors, shape (programs, 2 n)."""
        sums = np.zeros((len(x), 2 * self.n))
        add_transposed(self.P, x, sums)
        return sums

    def certificates(self, rays: np.ndarray, primal: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return rays, (y, z_bounds) or x, scaled to slope -1, and the smallest tol at which each is a certificate."""
        parts = np.split(rays, [self.A.shape[1]], axis=1) if primal else [rays]
        slope_of, terms_of = (primal_slope, primal_terms) if primal else (dual_slope, dual_terms)
        found, tol = certificate_of(slope_of, terms_of, self, *parts)
        return np.concatenate(found, axis=1), tol
