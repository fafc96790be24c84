"""Changes of a program that must not matter: units, orders, forms, and the way back of every answer.

A change maps x' of the changed program to x = X x' + s, and its multipliers (y', z') to M (y', z'), divided by the unit
of the objective.  Containers of the data (float32, integers, sparse forms) change no number, and only arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp import LowRank, NonNeg, SecondOrder, Status

from ..answers.answer import Answer
from ..answers.program import MATRICES, Program, arguments_of, changed, linear_name, parts_of
from .points import Generator, scaled_hessian

UNITS, BLOCKS, FORM = "units", "blocks", "form"
"""Kinds of changes: the stopping test depends on units and on the origin of x, as docs/forms.md states it, and
on the blocks of rows whose sizes it takes; the form of the data changes these sizes by little."""
LARGE = 1e5
"""Largest change of sides by a shift: rounding of the sides stays well below the tolerance."""


@dataclass(frozen=True)
class Changed:
    """A changed program, its data as arguments, and the maps back."""

    program: Any
    X: Any = None  # identity if None
    shift: Any = 0.0
    M: Any = None  # identity if None
    objective: float = 1.0
    arguments: dict[str, Any] = field(default_factory=dict)  # data in other containers, in place of the program's
    against: Any = None  # the program that an answer is compared on, if it is not the one that was changed

    def back(self, answer: Answer, program: Program) -> Answer:
        """Return an answer to the changed program as one to `program`; certificates and rays get the slope -1."""
        x, y, z, is_ray = answer.x, answer.y, answer.z, answer.status is Status.DUAL_INFEASIBLE
        if x is not None and self.X is not None:
            x = self.X @ x
        if x is not None and not is_ray:
            x = x + self.shift
        if y is not None and z is not None and self.M is not None:
            y, z = np.split(self.M @ np.concatenate([y, z]), [program.A.shape[0]])
        if is_ray and x is not None:
            x = x * self.objective
        elif answer.status is not Status.PRIMAL_INFEASIBLE and y is not None and z is not None:
            y, z = y / self.objective, z / self.objective
        return replace(answer, x=x, y=y, z=z, s=None, told=None, objectives=None)


Change = Callable[[Generator, Any], Changed | None]


def columns(program: Any, X: Any, shift: Any = 0.0) -> Changed:
    """Substitute x = X x' + shift, where X has one entry in each row and column."""
    X, n = sp.csc_array(X), program.n
    s = np.zeros(n) + shift
    P, offset = program.P, program.offset
    c = getattr(program, linear_name(program))
    Ps = np.zeros(n) if P is None else P @ s
    offset += float(0.5 * s @ Ps + c @ s)
    parts: dict[str, Any] = {linear_name(program): X.T @ (c + Ps), "A": sp.csc_array(program.A @ X), "offset": offset}
    parts["P"] = _congruent(P, X)
    As = program.A @ s
    if isinstance(program, socp.ConeProgram):
        parts |= {"b": program.b - As, "G": sp.csc_array(program.G @ X), "h": program.h - program.G @ s}
        return Changed(changed(program, **parts), X, s)
    inverse = sp.csc_array(X.T).copy()
    inverse.data = 1.0 / inverse.data
    sides = _mapped(inverse, program.lb - s, program.ub - s)
    parts |= {"l": program.l - As, "u": program.u - As, "lb": sides.min(axis=0), "ub": sides.max(axis=0)}
    return Changed(changed(program, **parts), X, s, sp.block_diag([sp.eye_array(program.m), inverse.T], format="csc"))


def rows(program: Any, R: Any) -> Changed:
    """Replace the rows of A by R A, where each row of R has one entry; of a cone program, R is positive for G below."""
    R = sp.csr_array(R)
    A = sp.csc_array(R @ program.A)
    other = program.m if isinstance(program, socp.ConeProgram) else program.n
    M = sp.block_diag([R.T, sp.eye_array(other)], format="csc")
    if isinstance(program, socp.ConeProgram):
        return Changed(changed(program, A=A, b=R @ program.b), M=M)
    sides = _mapped(R, program.l, program.u)
    return Changed(changed(program, A=A, l=sides.min(axis=0), u=sides.max(axis=0)), M=M)


def cone_rows(program: Any, R: Any, cones: Any) -> Changed:
    """Replace G by R G and the cones; R maps the former cones into the new ones, one entry in each row."""
    R = sp.csr_array(R)
    h = R.data[R.indptr[:-1]] * program.h[R.indices[R.indptr[:-1]]] if R.shape[0] else np.zeros(0)
    M = sp.block_diag([sp.eye_array(program.p), R.T], format="csc")
    return Changed(changed(program, G=sp.csc_array(R @ program.G), h=h, cones=cones), M=M)


def _mapped(R: Any, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the two sides times the only entry of each row of R; infinite ones stay infinite."""
    R = sp.csr_array(R)
    entry, where = R.data, R.indices
    return np.stack([entry * lower[where], entry * upper[where]])


def _congruent(P: Any, X: Any) -> Any:
    if P is None:
        return None
    if isinstance(P, LowRank):
        return LowRank(X.T @ P.F, (X.T**2) @ P.d)
    if sp.issparse(P):
        return sp.csc_array(X.T @ P @ X)
    return X.T @ (X.T @ P).T


def powers(rng: Generator, size: int, decades: float = 9.0) -> np.ndarray:
    """Draw powers of 2 or of 10 between 10^-decades and 10^decades, each its own or all equal."""
    base = float(rng.choice([2.0, 10.0]))
    most = decades / np.log10(base)
    reach = float(rng.choice([most / 9.0, most / 3.0, most]))
    exponents = np.round(rng.uniform(-reach, reach, size if rng.random() < 0.5 else 1))
    return np.asarray(base**exponents * np.ones(size))


def units_of_variables(rng: Generator, program: Any) -> Changed:
    """Multiply the units of variables."""
    return columns(program, sp.diags_array(powers(rng, program.n)))


def units_of_rows(rng: Generator, program: Any) -> Changed | None:
    """Multiply rows, and second-order cones as a whole."""
    if not isinstance(program, socp.ConeProgram):
        return rows(program, sp.diags_array(powers(rng, program.m))) if program.m else None
    first = rows(program, sp.diags_array(powers(rng, program.p)))
    size = [powers(rng, c.dim) if isinstance(c, NonNeg) else np.full(c.dim, powers(rng, 1)[0]) for c in program.cones]
    second = cone_rows(first.program, sp.diags_array(np.concatenate([np.zeros(0), *size])), program.cones)
    return Changed(second.program, M=first.M @ second.M)


def units_of_the_objective(rng: Generator, program: Any) -> Changed:
    """Multiply the objective."""
    name, w = linear_name(program), float(powers(rng, 1)[0])
    parts = {
        "P": scaled_hessian(program.P, np.ones(program.n), w),
        name: w * getattr(program, name),
        "offset": w * program.offset,
    }
    return Changed(changed(program, **parts), objective=w)


def order(rng: Generator, program: Any) -> Changed:
    """Permute variables, rows, cones, and the tails of second-order cones."""
    n, p = program.n, program.A.shape[0]
    first = columns(program, sp.eye_array(n, format="csr")[rng.permutation(n)])
    second = rows(first.program, sp.eye_array(p, format="csr")[rng.permutation(p)])
    M = second.M if first.M is None else first.M @ second.M
    if not isinstance(program, socp.ConeProgram):
        return Changed(second.program, first.X, first.shift, M)
    starts, where, cones = np.cumsum([0, *(c.dim for c in program.cones)]), [], []
    for k in rng.permutation(len(program.cones)):
        inner, cone = rng.permutation(program.cones[k].dim), program.cones[k]
        if isinstance(cone, SecondOrder) and cone.dim:
            inner = np.append(0, 1 + rng.permutation(cone.dim - 1))
        where.append(starts[k] + inner)
        cones.append(cone)
    chosen = np.concatenate([np.zeros(0, dtype=int), *where]).astype(int)
    third = cone_rows(second.program, sp.eye_array(program.m, format="csr")[chosen], cones)
    return Changed(third.program, first.X, first.shift, M @ third.M)


def signs(rng: Generator, program: Any) -> Changed:
    """Turn all or some variables round, and all or some rows of A."""
    draw = lambda size: np.where(rng.random(size) < rng.choice([0.5, 1.0]), -1.0, 1.0)  # noqa: E731
    first = columns(program, sp.diags_array(draw(program.n)))
    second = rows(first.program, sp.diags_array(draw(program.A.shape[0])))
    return Changed(second.program, first.X, 0.0, second.M if first.M is None else first.M @ second.M)


def shift(rng: Generator, program: Any) -> Changed | None:
    """Move the origin by whole numbers, if no digits of the sides are lost by it."""
    s = rng.integers(-4, 5, program.n).astype(float)
    moved = [program.A] + ([program.G] if isinstance(program, socp.ConeProgram) else [])
    if max(float((abs(M) @ np.abs(s)).max(initial=0.0)) for M in moved) > LARGE:
        return None
    return columns(program, sp.eye_array(program.n), s)


def duplicate_rows(rng: Generator, program: Any) -> Changed | None:
    """Write some rows, or some cones, more than once."""
    p = program.A.shape[0]
    again = np.append(np.arange(p), rng.integers(0, p, int(rng.integers(1, 4))) if p else []).astype(int)
    first = rows(program, sp.eye_array(p, format="csr")[rng.permutation(again)])
    if not isinstance(program, socp.ConeProgram) or not program.cones:
        return first if p else None
    k, starts = int(rng.integers(len(program.cones))), np.cumsum([0, *(c.dim for c in program.cones)])
    every = np.append(np.arange(program.m), np.arange(starts[k], starts[k + 1]))
    cones = [*program.cones, program.cones[k]]
    second = cone_rows(first.program, sp.eye_array(program.m, format="csr")[every], cones)
    return Changed(second.program, M=first.M @ second.M)


def two_rows(rng: Generator, program: Any) -> Changed | None:
    """Write every row with two sides, equalities too, as a row with a lower and one with an upper side."""
    p = program.A.shape[0]
    if isinstance(program, socp.ConeProgram):
        if not p:
            return None
        A, b = program.A, program.b
        G, h = sp.vstack([A, -A, program.G], format="csc"), np.concatenate([b, -b, program.h])
        parts = {"A": A[:0], "b": b[:0], "G": G, "h": h, "cones": [NonNeg(p), NonNeg(p), *program.cones]}
        eye = sp.eye_array(p)
        M = sp.block_array([[eye, -eye, None], [None, None, sp.eye_array(program.m)]], format="csc")
        return Changed(changed(program, **parts), M=M)
    both = np.flatnonzero(np.isfinite(program.l) & np.isfinite(program.u))
    if not both.size:
        return None
    found = rows(program, sp.eye_array(p, format="csr")[np.append(np.arange(p), both)])
    l, u = found.program.l, found.program.u
    l[p:], u[both] = -np.inf, np.inf
    return replace(found, program=changed(found.program, l=l, u=u))


def bounds_as_rows(rng: Generator, program: Any) -> Changed | None:
    """Write all or some bounds as rows."""
    if isinstance(program, socp.ConeProgram):
        return None
    has = np.isfinite(program.lb) | np.isfinite(program.ub)
    chosen = np.flatnonzero(has & (rng.random(program.n) < rng.choice([0.5, 1.0])))
    if not chosen.size:
        return None
    eye, lb, ub = sp.eye_array(program.n, format="csr"), program.lb.copy(), program.ub.copy()
    parts = {"A": sp.vstack([program.A, eye[chosen]], format="csc")}
    parts |= {"l": np.append(program.l, lb[chosen]), "u": np.append(program.u, ub[chosen])}
    lb[chosen], ub[chosen] = -np.inf, np.inf
    M = sp.block_array(
        [[sp.eye_array(program.m), sp.csc_array((program.m, chosen.size)), None], [None, eye[chosen].T, eye]]
    )
    return Changed(changed(program, **parts, lb=lb, ub=ub), M=sp.csc_array(M))


def slacks(rng: Generator, program: Any) -> Changed | None:
    """Write some rows as equalities with a slack variable that has the sides as bounds."""
    p, n = program.A.shape[0], program.n
    if isinstance(program, socp.ConeProgram):
        if not program.m:
            return None
        m = program.m  # Gx + t = h, t in K
        A = sp.block_array([[program.A, None], [program.G, sp.eye_array(m)]], format="csc")
        finite = np.isfinite(program.h)
        if not finite.all():
            return None
        G = sp.hstack([sp.csc_array((m, n)), -sp.eye_array(m)], format="csc")
        P = _bordered(program.P, m)
        parts = {"P": P, "c": np.append(program.c, np.zeros(m)), "A": A, "b": np.append(program.b, program.h)}
        X = sp.eye_array(n, n + m, format="csc")
        M = sp.eye_array(p + m, p + m + m, format="csc")
        return Changed(changed(program, **parts, G=G, h=np.zeros(m)), X, M=M)
    chosen = np.flatnonzero(rng.random(p) < rng.choice([0.5, 1.0]))
    if not chosen.size:
        return None
    k, eye = chosen.size, sp.eye_array(p, format="csc")
    l, u = program.l.copy(), program.u.copy()
    lb, ub = np.append(program.lb, l[chosen]), np.append(program.ub, u[chosen])
    l[chosen] = u[chosen] = 0.0
    parts = {"P": _bordered(program.P, k), "q": np.append(program.q, np.zeros(k))}
    parts |= {"A": sp.hstack([program.A, -eye[:, chosen]], format="csc"), "l": l, "u": u, "lb": lb, "ub": ub}
    return Changed(
        changed(program, **parts), sp.eye_array(n, n + k, format="csc"), M=sp.eye_array(p + n, p + n + k, format="csc")
    )


def _bordered(P: Any, k: int) -> Any:
    """Return P with k further rows and columns of zeros, in its form."""
    if P is None:
        return None
    if isinstance(P, LowRank):
        return LowRank(np.vstack([P.F, np.zeros((k, P.F.shape[1]))]), np.append(P.d, np.zeros(k)))
    if sp.issparse(P):
        return sp.csc_array(sp.block_diag([P, sp.csc_array((k, k))]))
    return np.pad(P, (0, k))


def fixed_variables(rng: Generator, program: Any) -> Changed:
    """Add variables that are fixed, whose part of the rows moves to the sides."""
    k, n, p = int(rng.integers(1, 3)), program.n, program.A.shape[0]
    at = rng.integers(-3, 4, k).astype(float)
    new = sp.csc_array(rng.integers(-2, 3, (p, k)).astype(float))
    cost, name = rng.integers(-3, 4, k).astype(float), linear_name(program)
    parts: dict[str, Any] = {"P": _bordered(program.P, k), name: np.append(getattr(program, name), cost)}
    parts["offset"] = program.offset - float(cost @ at)
    moved = new @ at
    X = sp.eye_array(n, n + k, format="csc")
    if isinstance(program, socp.ConeProgram):
        A = sp.block_array([[program.A, new], [None, sp.eye_array(k)]], format="csc")
        G = sp.hstack([program.G, sp.csc_array((program.m, k))], format="csc")
        parts |= {"A": A, "b": np.concatenate([program.b + moved, at]), "G": G}
        eye = sp.eye_array(p + program.m, format="csr")
        M = sp.hstack([eye[:, :p], sp.csr_array((p + program.m, k)), eye[:, p:]], format="csc")
        return Changed(changed(program, **parts), X, M=M)
    parts |= {"A": sp.hstack([program.A, new], format="csc"), "l": program.l + moved, "u": program.u + moved}
    parts |= {"lb": np.append(program.lb, at), "ub": np.append(program.ub, at)}
    return Changed(changed(program, **parts), X, M=sp.eye_array(p + n, p + n + k, format="csc"))


def infinite_as_numbers(rng: Generator, program: Any) -> Changed | None:
    """Write infinite sides as 1e20 to 1e30, which count as infinite."""
    if isinstance(program, socp.ConeProgram):
        return None
    far, arguments = float(10.0 ** rng.uniform(20.0, 30.0)), arguments_of(program)
    arguments |= {k: np.clip(arguments[k], -far, far) for k in ("l", "u", "lb", "ub")}
    return Changed(program, arguments=arguments)


def sparse_forms(rng: Generator, program: Any) -> Changed:
    """Give matrices dense or in a sparse form, P in another one than A, with zeros that are stored."""
    arguments = arguments_of(program)
    for name in MATRICES[type(program).__name__]:
        if name in arguments and arguments[name] is not None:
            arguments[name] = _any_form(rng, arguments[name])
    return Changed(program, arguments=arguments)


def _any_form(rng: Generator, matrix: Any) -> Any:
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    which = int(rng.integers(9))
    if which == 0:
        return np.asfortranarray(dense)
    if which == 1:
        return np.repeat(np.repeat(dense, 2, axis=0), 2, axis=1)[::2, ::2]  # a view with strides
    if which == 2:
        return dense.tolist() if dense.size else dense
    stored = (dense != 0.0) | (rng.random(dense.shape) < rng.choice([0.0, 0.3, 1.0]))
    stored |= stored.T if stored.shape[0] == stored.shape[1] else False
    i, j = np.nonzero(stored)
    if which == 3:  # entries twice, each a half
        i, j, values = np.tile(i, 2), np.tile(j, 2), np.tile(0.5 * dense[stored], 2)
        return sp.coo_array((values, (i, j)), dense.shape)
    return (sp.csc_array, sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_array)[which - 4](
        sp.coo_array((dense[stored], (i, j)), dense.shape)
    )


def number_types(rng: Generator, program: Any) -> Changed | None:
    """Round the data to another number type and pass it in this type; the rounded data in float64 must agree."""
    kind = rng.choice(["float32", "int64", "int32", "int16", "longdouble", ">f8"])
    data, given = {}, {}
    for name, part in parts_of(program, "P", "cones").items():
        values = part.toarray() if sp.issparse(part) else np.asarray(part)
        finite = values[np.isfinite(values)]
        if kind.startswith("int") and np.isfinite(values).all() and np.abs(finite).max(initial=0.0) < 1e4:
            data[name] = np.rint(values)
        elif kind.startswith("int"):
            data[name] = values
        else:
            with np.errstate(over="ignore"):
                data[name] = values.astype(kind).astype(float)
            if not np.isfinite(data[name][np.isfinite(values)]).all():
                return None
        whole = (data[name] == np.rint(data[name])).all() and np.isfinite(data[name]).all()
        given[name] = data[name].astype(kind if whole or not kind.startswith("int") else float)
        if sp.issparse(part) and rng.random() < 0.5 and kind != ">f8":
            given[name] = sp.csc_array(given[name])
    try:
        rounded = changed(program, **data)
    except socp.ProgramError:  # sides that rounding crossed
        return None
    return Changed(rounded, arguments=arguments_of(program) | given, against=rounded)


def form_of_the_hessian(rng: Generator, program: Any) -> Changed | None:
    """Pass P in another form: a dense P as sparse, any other as an array, None as zeros."""
    P, n = program.P, program.n
    if P is None:
        other: Any = (np.zeros((n, n)), sp.csc_array((n, n)), LowRank(np.zeros((n, 0)), np.zeros(n)))[rng.integers(3)]
    else:
        dense = P if isinstance(P, np.ndarray) else P.toarray()
        other = dense if sp.issparse(P) else sp.csc_array(dense)
    return Changed(changed(program, P=other))


def cone_pieces(rng: Generator, program: Any) -> Changed | None:
    """Split orthants, write cones of one row as orthants or the other way round, and add empty cones."""
    if not isinstance(program, socp.ConeProgram):
        return None
    cones: list[Any] = []
    for cone in program.cones:
        if isinstance(cone, NonNeg) and cone.dim > 1 and rng.random() < 0.7:
            at = int(rng.integers(0, cone.dim + 1))
            cones += [NonNeg(at), NonNeg(cone.dim - at)]
        elif cone.dim == 1:
            cones.append((NonNeg if isinstance(cone, SecondOrder) or rng.random() < 0.3 else SecondOrder)(1))
        else:
            cones.append(cone)
    return Changed(changed(program, cones=cones))


CHANGES: dict[str, tuple[Change, str]] = {
    "units of variables": (units_of_variables, UNITS),
    "units of rows": (units_of_rows, UNITS),
    "units of the objective": (units_of_the_objective, UNITS),
    "order": (order, FORM),
    "signs": (signs, FORM),
    "shift": (shift, UNITS),
    "duplicate rows": (duplicate_rows, FORM),
    "two rows": (two_rows, BLOCKS),
    "bounds as rows": (bounds_as_rows, FORM),
    "slacks": (slacks, BLOCKS),
    "fixed variables": (fixed_variables, FORM),
    "infinite as numbers": (infinite_as_numbers, FORM),
    "sparse forms": (sparse_forms, FORM),
    "number types": (number_types, FORM),
    "form of P": (form_of_the_hessian, FORM),
    "pieces of cones": (cone_pieces, FORM),
}
"""Every change by its name, and its kind."""
