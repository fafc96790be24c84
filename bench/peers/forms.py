"""A program in the forms that reference solvers take, and the way back to its own signs.

    one-sided:   minimize 1/2 x'Px + c'x   subject to   A x = b,  h - G x in R+^k x Q^d1 x Q^d2 ...
    two-sided:   minimize 1/2 x'Px + q'x   subject to   A x = b,  l <= C x <= u,  lb <= x <= ub

with P sparse in both.  A low-rank P = F F' + diag(d) becomes sparse through w = F'x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp

from ..answers.program import changed

Point = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True)
class OneSided:
    """One-sided form, nonnegative rows first; `recover` maps a point (x, y, z) back to the program."""

    P: Any
    c: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    G: sp.csc_matrix
    h: np.ndarray
    nonneg: int
    second_order: list[int]
    recover: Callable[[Any, Any, Any], Point]

    def stacked(self) -> tuple[sp.csc_matrix, np.ndarray]:
        """Return [A; G] and (b, h), for solvers of A x + s = b."""
        return sp.vstack([self.A, self.G], format="csc"), np.concatenate([self.b, self.h])


def one_sided(program: socp.ConeProgram | qp.QuadraticProgram) -> OneSided:
    """Return the one-sided form of a cone or quadratic program."""
    if isinstance(program, socp.ConeProgram):
        return _from_cone_program(program)
    lifted, back = _lifted(program)
    form = _from_quadratic_program(lifted)
    return replace(form, recover=lambda *point: back(*form.recover(*point)))


def _lifted(program: qp.QuadraticProgram) -> tuple[qp.QuadraticProgram, Callable[..., Point]]:
    """Return the program without a low-rank P and the map back; if F has few columns, w = F'x are variables."""
    P, n, m = program.P, program.n, program.m
    if not isinstance(P, socp.LowRank):
        return program, lambda *point: point
    k = P.F.shape[1]
    if 2 * k >= n:
        return changed(program, P=P.toarray()), lambda *point: point
    A = sp.block_array([[program.A, None], [sp.csc_array(P.F.T), -sp.eye_array(k)]])
    q, l, u = (np.concatenate([v, np.zeros(k)]) for v in (program.q, program.l, program.u))
    lb, ub = (np.concatenate([v, np.full(k, end)]) for v, end in ((program.lb, -np.inf), (program.ub, np.inf)))
    lifted = qp.QuadraticProgram(sp.diags_array(np.concatenate([P.d, np.ones(k)])), q, A, l, u, lb, ub)

    def back(x: Any, y: Any, z: Any) -> Point:
        return tuple(None if v is None else v[:size] for v, size in ((x, n), (y, m), (z, n)))  # type: ignore[return-value]

    return lifted, back


def _from_cone_program(program: socp.ConeProgram) -> OneSided:
    """Return the one-sided form without rows that always hold; cones of dimension one are nonnegative rows."""
    nonneg, second_order, dims, start = [], [], [], 0
    for cone in program.cones:
        rows = np.arange(start, start + cone.dim)
        start += cone.dim
        if isinstance(cone, socp.NonNeg) or cone.dim == 1:
            nonneg.append(rows[np.isfinite(program.h[rows])])
        elif cone.dim > 1:
            second_order.append(rows)
            dims.append(cone.dim)
    order = np.concatenate([*nonneg, *second_order, np.zeros(0, dtype=int)]).astype(int)

    def recover(x: Any, y: Any, z: Any) -> Point:
        full = None if z is None else np.zeros(program.m)
        if full is not None:
            full[order] = _flat(z)
        return _optional(x), _optional(y), full

    G, h = csc32(program.G.tocsr()[order]), _flat(program.h[order])
    objective, equalities = (_sparse(program.P), _flat(program.c)), (csc32(program.A), _flat(program.b))
    return OneSided(*objective, *equalities, G, h, sum(rows.size for rows in nonneg), dims, recover)


def _from_quadratic_program(program: qp.QuadraticProgram) -> OneSided:
    r"""Return the one-sided form: equal sides give equalities, every other finite side one row.

    l_i = u_i: A_i x = u_i;   u_i finite: A_i x + s = u_i;   l_i finite: -A_i x + s = -l_i;   bounds likewise.
    """
    sides = sp.vstack([program.A, sp.eye_array(program.n)], format="csr")
    lower, upper = np.concatenate([program.l, program.lb]), np.concatenate([program.u, program.ub])
    equal = np.flatnonzero(lower == upper)
    above = np.flatnonzero(np.isfinite(upper) & (lower < upper))
    below = np.flatnonzero(np.isfinite(lower) & (lower < upper))

    def recover(x: Any, y: Any, z: Any) -> Point:
        if y is None or z is None:
            return _optional(x), None, None
        z_above, z_below = np.split(_flat(z), [above.size])
        multipliers = np.zeros(lower.size)
        multipliers[equal] = _flat(y)
        np.add.at(multipliers, above, z_above)
        np.subtract.at(multipliers, below, z_below)
        return _optional(x), multipliers[: program.m], multipliers[program.m :]

    G, h = csc32(sp.vstack([sides[above], -sides[below]])), np.concatenate([upper[above], -lower[below]])
    objective, equalities = (_sparse(program.P), _flat(program.q)), (csc32(sides[equal]), _flat(upper[equal]))
    return OneSided(*objective, *equalities, G, h, h.size, [], recover)


def _sparse(P: Any) -> sp.csc_matrix | None:
    return None if P is None else csc32(P.toarray() if isinstance(P, socp.LowRank) else P)


def with_linear_objective(form: OneSided) -> OneSided:
    r"""Return the form without P, for solvers that take none: 1/2 x'Px <= t with P = R'R as a cone row block.

    2t >= ||R x||^2  is  (t + 1/2, t - 1/2, R x) in a second-order cone.
    """
    if form.P is None:
        return form
    R = _root(form.P)
    n, k = form.c.size, R.shape[0]
    epigraph = sp.block_array([[None, -np.ones((2, 1))], [-R, None]]) if k else sp.csc_array([[0.0] * n + [-1.0]] * 2)

    def recover(x: Any, y: Any, z: Any) -> Point:
        return form.recover(None if x is None else _flat(x)[:n], y, None if z is None else _flat(z)[: form.h.size])

    A, G = (sp.hstack([rows, sp.csc_array((rows.shape[0], 1))]) for rows in (form.A, form.G))
    h, dims = np.concatenate([form.h, [0.5, -0.5], np.zeros(k)]), [*form.second_order, k + 2]
    G = csc32(sp.vstack([G, epigraph]))
    return OneSided(None, np.append(form.c, 1.0), csc32(A), form.b, G, h, form.nonneg, dims, recover)


def _root(P: sp.csc_matrix) -> sp.csc_array:
    """Return R with R'R = P, from the diagonal if P has no other entry, else from eigenvalues of the nonzero block."""
    used = np.flatnonzero(np.diff(P.indptr))
    block = sp.csc_array(P)[used][:, used]
    if block.nnz == used.size and (block.diagonal() != 0).all():
        root = sp.diags_array(np.sqrt(block.diagonal()))
    else:
        values, vectors = np.linalg.eigh(block.toarray())
        kept = values > 1e-14 * max(values.max(), 0.0)
        root = sp.csc_array((vectors[:, kept] * np.sqrt(values[kept])).T)
    spread = sp.csc_array((np.ones(used.size), (np.arange(used.size), used)), shape=(used.size, P.shape[0]))
    return sp.csc_array(root @ spread)


@dataclass(frozen=True)
class TwoSided:
    """Two-sided form with separate equalities; `recover(x, y, z, z_bounds)` maps a point back to the program."""

    P: Any
    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    C: sp.csc_matrix
    l: np.ndarray
    u: np.ndarray
    lb: np.ndarray
    ub: np.ndarray
    recover: Callable[[Any, Any, Any, Any], Point]


def two_sided(program: qp.QuadraticProgram) -> TwoSided:
    """Return the two-sided form; equalities include fixed variables, rows without a finite side are dropped."""
    program, back = _lifted(program)
    n, m, P = program.n, program.m, program.P
    equal = np.flatnonzero(program.l == program.u)
    other = np.flatnonzero((program.l < program.u) & (np.isfinite(program.l) | np.isfinite(program.u)))
    fixed = np.flatnonzero(program.lb == program.ub)
    rows = program.A.tocsr()
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[fixed], ub[fixed] = -np.inf, np.inf

    def recover(x: Any, y: Any, z: Any, z_bounds: Any) -> Point:
        if y is None or z is None or z_bounds is None:
            return back(_optional(x), None, None)
        y_rows, y_fixed = np.split(_flat(y), [equal.size])
        multipliers = np.zeros(m)
        multipliers[equal], multipliers[other] = y_rows, _flat(z)
        bounds = np.array(z_bounds, dtype=float).ravel()
        bounds[fixed] += y_fixed
        return back(_optional(x), multipliers, bounds)

    objective = csc32(sp.csc_array((n, n)) if P is None else P), _flat(program.q)
    A = csc32(sp.vstack([rows[equal], sp.eye_array(n, format="csr")[fixed]]))
    b = np.concatenate([program.u[equal], program.ub[fixed]])
    l, u, lb, ub = map(_flat, (program.l[other], program.u[other], lb, ub))
    return TwoSided(*objective, A, b, csc32(rows[other]), l, u, lb, ub, recover)


def csc32(matrix: Any) -> sp.csc_matrix:
    """Return a `csc_matrix` with sorted 32-bit indices, as the reference solvers' bindings expect."""
    result = sp.csc_matrix(matrix)
    result.sort_indices()
    result.indices, result.indptr = result.indices.astype(np.int32), result.indptr.astype(np.int32)
    return result


def _flat(v: Any) -> np.ndarray:
    """Return a vector of native floats: arrays from files may have a byte order that some bindings refuse."""
    return np.asarray(v).astype(np.float64).ravel()


def _optional(v: Any) -> np.ndarray | None:
    return None if v is None else _flat(v)
