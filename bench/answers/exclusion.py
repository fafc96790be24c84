r"""Whether a certificate excludes a given point: a second opinion that shares no formula with the stopping test.

A certificate (y, z) of slope -1 and any point x satisfy, with r = A'y + G'z and multiplied out,

    1  =  y'(Ax - b) + z'(Gx - h)  -  r'x            (a quadratic program has its sides in place of b and h)

The first two terms are at most the violations of x, weighted by the multipliers: a point whose violations weigh less
than one exists in spite of the certificate, which only says something of points with r'x > -1.  A ray d of slope -1
and any (x, y, z) with the dual residual v = Px + c + A'y + G'z satisfy

    1  =  x'Pd + y'Ad + z'Gd  -  v'd

A pair whose residual weighs less than one bounds the objective from below, so the ray shows nothing.
All sums are in extended precision where the platform has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import socp

from .program import Program, linear_name

WEIGHT = 1e-3
"""Faults of a point that weigh less than this share of the certificate's claim refute the certificate."""
Long = np.longdouble


class Weighed(NamedTuple):
    """The claim 1 of a certificate, divided between the point and the certificate; the sum is at least 1."""

    of_point: float  # violations of the point, or dual residual of the pair, weighted by the certificate
    of_certificate: float  # what the certificate leaves at the point, or at the pair

    @property
    def refutes(self) -> bool:
        """Whether the point exists in spite of the certificate."""
        return self.of_point < WEIGHT


def of_infeasibility(program: Program, y: Any, z: Any, x: Any) -> Weighed:
    """Weigh a certificate (y, z) that no point is feasible against the point x.

    Examples
    --------
    x >= 2 and x <= 1, and a multiplier that is off by 0.2: x = -5 violates one side by 7, and is told by the residual

    >>> import qp
    >>> program = qp.QuadraticProgram(None, [0.0], [[1.0]], 2.0, None, None, 1.0)
    >>> [round(part, 3) for part in of_infeasibility(program, [-1.0], [1.0], [-5.0])]
    [7.0, 0.0]
    """
    x, y, z = _long(x), _long(y), _long(z)
    rows = times(program.A, x)
    if isinstance(program, socp.ConeProgram):
        holds = np.isposinf(program.h)
        h, inner = _long(np.where(holds, 0.0, program.h)), np.where(holds, 0.0, times(program.G, x))
        z, stray = _split(np.where(holds, Long(0.0), z), program.cones)
        _, miss = _split(h - inner, program.cones)
        slope = y @ _long(program.b) + z @ h
        left = abs((times(program.A.T, y) + times(program.G.T, z)) @ x) + abs(stray @ inner)
        return _weighed(np.abs(y) @ np.abs(rows - _long(program.b)) + np.abs(z) @ np.abs(miss), left, slope)
    point, left, slope = Long(0.0), abs((times(program.A.T, y) + z) @ x), Long(0.0)
    for value, w, l, u in ((rows, y, program.l, program.u), (x, z, program.lb, program.ub)):
        side = np.where(w > 0, u, l)
        finite = np.isfinite(side)
        side = _long(np.where(finite, side, 0.0))
        out = np.where(w > 0, value - side, side - value)
        point += np.abs(w)[finite] @ np.maximum(out[finite], 0.0)
        left += np.abs(w)[~finite] @ np.abs(value[~finite])
        slope += w @ side
    return _weighed(point, left, slope)


def of_unboundedness(program: Program, ray: Any, x: Any, y: Any, z: Any) -> Weighed:
    """Weigh a ray along which the objective is said to fall for ever against a dual feasible (x, y, z).

    Examples
    --------
    min -x over 0 <= x <= 1e9, whose multiplier is 1: the ray x = 1 leaves the bound, and bears the whole claim

    >>> import qp
    >>> program = qp.QuadraticProgram(None, [-1.0], lb=0.0, ub=1e9)
    >>> [float(part) for part in of_unboundedness(program, [1.0], [1e9], [], [1.0])]
    [0.0, 1.0]
    """
    d, x, y, z = _long(ray), _long(x), _long(y), _long(z)
    c, down, bend = _long(getattr(program, linear_name(program))), times(program.A, d), times(program.P, d)
    if isinstance(program, socp.ConeProgram):
        holds = np.isposinf(program.h)
        z, _ = _split(np.where(holds, 0.0, z), program.cones)
        inner = times(program.G, d)
        _, out = _split(np.where(holds, 0.0, -inner), program.cones)
        residual = times(program.P, x) + c + times(program.A.T, y) + times(program.G.T, z)
        left = abs(x @ bend) + abs(y @ down) + np.abs(z) @ np.abs(out)
        return _weighed(abs(residual @ d), left, c @ d)
    left, multipliers = abs(x @ bend), []
    for value, w, l, u in ((down, y, program.l, program.u), (d, z, program.lb, program.ub)):
        w = np.where(np.isfinite(np.where(w > 0, u, l)), w, Long(0.0))
        left += np.maximum(w * value, 0.0).sum()
        multipliers.append(w)
    y, z = multipliers
    residual = times(program.P, x) + c + times(program.A.T, y) + z
    return _weighed(abs(residual @ d), left, c @ d)


def _weighed(of_point: Any, of_certificate: Any, slope: Any) -> Weighed:
    """Return the two parts for the certificate scaled to the slope -1; one without such a slope bears everything."""
    if not slope < 0.0:
        return Weighed(0.0, np.inf)
    return Weighed(float(of_point / -slope), float(of_certificate / -slope))


def _split(v: np.ndarray, cones: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of the cones and its difference from v."""
    nearest, start = v.copy(), 0
    for cone in cones:
        part = nearest[start : start + cone.dim]
        start += cone.dim
        if isinstance(cone, socp.NonNeg) or cone.dim == 1:
            np.maximum(part, 0.0, out=part)
        elif cone.dim:
            t, norm = part[0], np.sqrt((part[1:] ** 2).sum())
            if norm <= -t:
                part[:] = 0.0
            elif norm > t:
                part[1:] *= (t + norm) / (2 * norm)
                part[0] = (t + norm) / 2
    return nearest, nearest - v


def times(matrix: Any, x: np.ndarray) -> np.ndarray:
    """Return M x in extended precision for a matrix in any form of a program."""
    if matrix is None:
        return np.zeros_like(x)
    if isinstance(matrix, socp.LowRank):
        return times(matrix.F, times(matrix.F.T, x)) + _long(matrix.d) * x
    if isinstance(matrix, np.ndarray):
        return _long(matrix) @ x
    entries, total = matrix.tocoo(), np.zeros(matrix.shape[0], dtype=Long)
    np.add.at(total, entries.row, _long(entries.data) * x[entries.col])
    return total


def _long(v: Any) -> np.ndarray:
    return np.asarray(v, dtype=Long)
