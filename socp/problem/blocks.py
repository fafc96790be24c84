"""Programs stated by their blocks of variables, without index arithmetic and stacked matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .checks import ProgramError, as_csc, as_number, as_vector
from .lowrank import LowRank
from .program import Cone, ConeProgram, NonNeg, SecondOrder

Terms = Mapping[str, Any]
HEAD = "head "  # prefix of block names in `Rows.terms` for the terms of a cone's first row


class Entries(NamedTuple):
    """Matrix in coordinate form; explicit zeros are entries."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray


class Term(NamedTuple):
    """Entries of one block in `size` rows, which begin at row `first` of their group."""

    entries: Entries
    first: int
    size: int


class Rows:
    """Group of rows of a program that is stated by its blocks, as `Blocks.at_least` returns it.

    Attributes
    ----------
    rows : slice
        Range of the group's rows in its matrix and in the multipliers: ``solution.z[group.rows]`` for inequalities
        and cones of a cone program, ``solution.y[group.rows]`` for equalities and in a quadratic program.
        `Blocks.program` sets it.
    """

    def __init__(self, matrix: str, sign: float, terms: dict[str, Term], sides: dict[str, np.ndarray]) -> None:
        self.matrix, self.sign, self.terms, self.sides = matrix, sign, terms, sides
        self.count = next(iter(sides.values())).size
        self.rows, self.is_cone = slice(0, 0), False
        self.places: dict[str, np.ndarray] = {}  # by term: indices of its entries in the matrix's data


class BlockProgram:
    """Base class of programs stated by their blocks: blocks, objective, rows and bounds.

    Parameters
    ----------
    **sizes : int
        Number of variables of each block, in order.  A block of size 0 and its terms are ignored.
    """

    def __init__(self, **sizes: int) -> None:
        self._blocks: dict[str, slice] = {}
        self.n = 0
        for name, size in sizes.items():
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
                raise ProgramError(f"the size of the block {name} must be a nonnegative integer, but {size!r} came")
            if hasattr(type(self), name) or name in ("n", "quadratic", "right", "head", "radius", "shift", "offset"):
                raise ProgramError(
                    f"a block cannot be called {name}, which has a meaning of its own: take another name"
                )
            self._blocks[name] = slice(self.n, self.n + int(size))
            self.n += int(size)
        if not self.n:
            raise ProgramError("a program needs at least one variable, but no block has one")
        self._linear = np.zeros(self.n)
        self._quadratic: dict[str, Any] = {}
        self._offset = 0.0
        self._lower, self._upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        self._groups: list[Rows] = []
        self._data: dict[str, np.ndarray] = {}

    def __getattr__(self, name: str) -> slice:
        blocks = self.__dict__.get("_blocks", {})
        if name in blocks:
            place: slice = blocks[name]
            return place
        raise AttributeError(f"no block is called {name}; there are {', '.join(blocks) or 'none'}")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={self._size(name)}" for name in self._blocks)
        return f"{type(self).__module__.split('.')[0]}.{type(self).__name__}({sizes})"

    def minimize(self, quadratic: Terms | None = None, offset: float = 0.0, **linear: Any) -> None:
        """Add terms to the objective: `quadratic` gives P of 1/2 v'Pv, `linear` the coefficients, by block.

        Parameters
        ----------
        quadratic : dict, optional
            P of each block: a matrix, a vector (a diagonal), a number (a multiple of the identity) or a `LowRank`.
        offset : float, default 0
        **linear : float or array_like
            Linear coefficients of each block's variables.
        """
        for name, value in linear.items():
            if self._size(name):
                self._linear[self._blocks[name]] += self._vector(name, value, self._size(name))
        for name, value in (quadratic or {}).items():
            if self._size(name):
                if name in self._quadratic:
                    raise ProgramError(f"the block {name} has a quadratic term already")
                self._quadratic[name] = self._hessian(name, value)
        self._offset += as_number("offset", offset)

    def bounds(self, **bounds: Any) -> None:
        """Set bounds ``name=(lower, upper)`` of blocks of variables, numbers or vectors; None changes nothing."""
        for name, pair in bounds.items():
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ProgramError(f"the bounds of {name} must be a pair (lower, upper), but {pair!r} came")
            for whole, side, value in zip((self._lower, self._upper), ("lower", "upper"), pair):
                if value is not None and self._size(name):
                    whole[self._blocks[name]] = self._vector(f"{name}'s {side} bound", value, self._size(name))

    def _size(self, name: str) -> int:
        if name not in self._blocks:
            raise ProgramError(f"no block is called {name}; there are {', '.join(self._blocks)}")
        place = self._blocks[name]
        return place.stop - place.start

    def _vector(self, name: str, value: Any, size: int) -> np.ndarray:
        return as_vector(name, value, size, "", spread=True)

    def _hessian(self, name: str, value: Any) -> Any:
        """Return the quadratic term of block `name`, checked: its diagonal as a vector, or a matrix."""
        size = self._size(name)
        if not hasattr(value, "shape") and np.ndim(value) == 2:
            value = np.asarray(value, dtype=np.float64)
        if len(getattr(value, "shape", ())) == 2:  # any matrix, also one that computes rows on demand
            if value.shape != (size, size):
                raise ProgramError(f"{name} has {size} variables, but its quadratic term has the shape {value.shape}")
            return as_csc(name, value) if sp.issparse(value) else value
        return self._vector(name, value, size)

    def _rows(self, matrix: str, sign: float, terms: Terms, sides: Mapping[str, Any], first: int = 0) -> Rows:
        """Return a group of rows of `matrix`; the terms and the sides determine the number of rows."""
        terms = {name: value for name, value in terms.items() if self._size(name)}
        counts = {name: self._count(name, value) for name, value in terms.items()}
        counts |= {side: np.size(value) if np.ndim(value) else None for side, value in sides.items()}
        known = {name: count for name, count in counts.items() if count is not None}
        if len(set(known.values())) > 1:
            raise ProgramError(
                "the terms of a row must agree in the number of rows, but there are "
                + ", ".join(f"{count} of {name}" for name, count in known.items())
            )
        count = next(iter(known.values()), 1)
        made = {name: Term(self._entries(name, value, count), first, count) for name, value in terms.items()}
        return Rows(matrix, sign, made, {side: self._vector(side, value, count) for side, value in sides.items()})

    def _add(self, rows: Rows) -> Rows:
        self._groups.append(rows)
        self._data.clear()
        return rows

    def _count(self, name: str, value: Any) -> int | None:
        """Return the number of rows that a term determines, or None if the term fits several."""
        size = self._size(name)
        if sp.issparse(value) or np.ndim(value) == 2:
            return int(value.shape[0]) if value.ndim == 2 else None
        if np.ndim(value) > 2:
            raise ProgramError(
                f"the term of {name} must be a number, a vector or a matrix, but has {np.ndim(value)} axes"
            )
        if np.ndim(value) == 1:
            return np.size(value) if size == 1 else None
        return size if size > 1 else None

    def _entries(self, name: str, value: Any, count: int) -> Entries:
        """Return the term as a matrix with `count` rows; a dense term has an entry for every number, zero or not."""
        size = self._size(name)
        if sp.issparse(value):
            matrix = as_csc(name, value, (count, size), f" ({count} rows, {size} variables in the block {name})")
            columns = np.repeat(np.arange(size), np.diff(matrix.indptr))
            return Entries(matrix.indices, columns, matrix.data)
        dense = np.asarray(value, dtype=np.float64)
        each = np.arange(count)
        if dense.ndim == 0 and size == 1:
            dense = np.broadcast_to(dense, (count, 1))
        elif dense.ndim == 0:
            return Entries(each, each, np.full(count, float(dense)))
        elif dense.ndim == 1 and dense.size == size == count > 1:
            return Entries(each, each, as_vector(name, dense))
        elif dense.ndim == 1:
            dense = dense[:, None] if size == 1 else dense[None, :]
        if dense.shape != (count, size):
            raise ProgramError(
                f"the term of {name} must have the shape {(count, size)} ({count} rows, {size} variables in the "
                f"block), but {np.shape(value)} came"
            )
        if not np.isfinite(dense).all():
            raise ProgramError(f"the term of {name} must be finite, but it is not")
        row, column = np.indices(dense.shape).reshape(2, -1)
        return Entries(row, column, dense.ravel().copy())

    def _assemble(self, matrix: str, groups: list[Rows]) -> sp.csc_array:
        """Stack the groups in one CSC matrix that stores every given entry; set the place of each group in it."""
        first = 0
        rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for group in groups:
            group.rows = slice(first, first + group.count)
            for name, (entries, offset, _) in group.terms.items():
                rows.append(entries.row + first + offset)
                columns.append(entries.column + self._blocks[name.removeprefix(HEAD)].start)
                values.append(group.sign * entries.value)
            first += group.count
        row, column = np.concatenate(rows), np.concatenate(columns)
        order = np.lexsort((row, column))
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        begin = 0
        for group in groups:
            for name, term in group.terms.items():
                group.places[name] = place[begin : begin + term.entries.value.size]
                begin += term.entries.value.size
        data = self._data[matrix] = np.concatenate(values)[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=self.n))])
        return sp.csc_array((data.copy(), row[order], indptr), shape=(first, self.n))

    def _whole_hessian(self) -> Any:
        """Return P of all blocks: None, the one term that covers all variables, a `LowRank`, or block diagonal."""
        terms = self._quadratic
        if not terms:
            return None
        name, only = next(iter(terms.items()))
        if len(terms) == 1 and self._size(name) == self.n and np.ndim(only) != 1:
            return only
        if any(isinstance(term, LowRank) for term in terms.values()):
            return self._low_rank()
        parts = [self._quadratic.get(name, np.zeros(self._size(name))) for name in self._blocks if self._size(name)]
        return sp.block_diag([sp.diags_array(p) if np.ndim(p) == 1 else sp.csr_array(p) for p in parts], format="csc")

    def _low_rank(self) -> LowRank:
        factors, d = [], np.zeros(self.n)
        for name, term in self._quadratic.items():
            place = self._blocks[name]
            if isinstance(term, LowRank):
                F = np.zeros((self.n, term.F.shape[1]))
                F[place] = term.F
                factors.append(F)
                d[place] = term.d
            elif np.ndim(term) == 1:
                d[place] = term
            else:
                raise ProgramError(f"beside a LowRank, the quadratic term of {name} must be a diagonal or a LowRank")
        return LowRank(np.hstack(factors), d)

    def _change(self, rows: Rows, terms: Terms, sides: Mapping[str, Any]) -> None:
        """Replace values of terms and sides of `rows` in the stored data of the program; the pattern is kept."""
        if rows not in self._groups or rows.matrix not in self._data:
            raise ProgramError("the rows must be some of this program, and `program` must have been called before")
        for key, value in terms.items():
            name = key.removeprefix(HEAD)
            if not self._size(name):
                continue
            if key not in rows.terms:
                raise ProgramError(f"the rows have no term of {name}; there are {', '.join(rows.terms) or 'none'}")
            old = rows.terms[key]
            new = self._entries(name, value, old.size)
            if not (np.array_equal(old.entries.row, new.row) and np.array_equal(old.entries.column, new.column)):
                raise ProgramError(f"the new term of {name} must have its entries in the places of the old one")
            self._data[rows.matrix][rows.places[key]] = rows.sign * new.value
        for side, value in sides.items():
            rows.sides[side] = self._vector(side, value, rows.count)


class Blocks(BlockProgram):
    r"""Cone program stated by its blocks of variables, with names for blocks and rows in place of expressions.

    A term ``name=value`` of a row stands for M v, where v are the variables of the block.  A matrix value is M itself.
    A vector is the column of a block of one variable, the diagonal of M if there are as many rows as variables, else
    one row.  A number c is c I, or the constant column of a block of one variable.  The terms of a row are added.

    Parameters
    ----------
    **sizes : int
        Number of variables of each block, in order.  A block of size 0 and its terms are ignored.

    Raises
    ------
    ProgramError
        A shape or a name does not fit; the message names the block.

    Examples
    --------
    The point w of smallest length with a'w >= 2 and w_1 <= 1:

    >>> import socp
    >>> p = socp.Blocks(w=2, rho=1)
    >>> p.minimize(rho=1.0)
    >>> rows = p.at_least(2.0, w=[1.0, 1.0])
    >>> ball = p.cone("rho", w=1.0)
    >>> solver = socp.Solver(p.program())
    >>> sol = solver.solve()
    >>> print(sol.x[p.w].round(6), sol.z[rows.rows].round(6))
    [1. 1.] [0.707107]

    An update replaces numbers and keeps their places:

    >>> solver.update(**p.change(rows, w=[3.0, 1.0]))
    >>> print(solver.solve().x[p.w].round(6))
    [0.6 0.2]
    """

    def equal(self, right: Any, **terms: Any) -> Rows:
        """Add the rows  sum of the terms = `right`  and return them."""
        return self._add(self._rows("A", 1.0, terms, {"right": right}))

    def at_least(self, right: Any, **terms: Any) -> Rows:
        """Add the rows  sum of the terms >= `right`  and return them."""
        return self._add(self._rows("G", -1.0, terms, {"right": right}))

    def at_most(self, right: Any, **terms: Any) -> Rows:
        """Add the rows  sum of the terms <= `right`  and return them."""
        return self._add(self._rows("G", 1.0, terms, {"right": right}))

    def cone(self, head: str | Terms | None = None, radius: float = 0.0, shift: Any = 0.0, **terms: Any) -> Rows:
        """Add the second-order cone  ||sum of the terms + shift|| <= head + radius  and return its rows.

        Parameters
        ----------
        head : str or dict, optional
            A block of one variable, or the terms of one row.
        radius : float, default 0
        shift : float or array_like, default 0
        **terms : matrix, vector or number
            Terms, as in `at_least`.
        """
        head = {head: 1.0} if isinstance(head, str) else head or {}
        first = self._rows("G", -1.0, head, {"right": -as_number("radius", radius)})
        tail = self._rows("G", -1.0, terms, {"right": -np.asarray(shift, dtype=np.float64)}, 1)
        if first.count != 1:
            raise ProgramError(f"the head of a cone must be one row, but {first.count} came")
        both = {HEAD + name: term for name, term in first.terms.items()} | tail.terms
        rows = Rows("G", -1.0, both, {"right": np.concatenate([first.sides["right"], tail.sides["right"]])})
        rows.is_cone = True
        return self._add(rows)

    def program(self) -> ConeProgram:
        """Return the program; G has the inequalities first, then the finite bounds, then the cones, each in order."""
        equal = [group for group in self._groups if group.matrix == "A"]
        cones = [group for group in self._groups if group.is_cone]
        above = [group for group in self._groups if group.matrix == "G" and not group.is_cone]
        self._ordered = [*above, *self._bound_rows(), *cones]
        A, G = self._assemble("A", equal), self._assemble("G", self._ordered)
        orthant = sum(group.count for group in self._ordered) - sum(group.count for group in cones)
        kinds: list[Cone] = [NonNeg(orthant)] if orthant else []
        kinds += [SecondOrder(group.count) for group in cones]
        rows: dict[str, Any] = {"A": A, "b": self._right("A")} if equal else {}
        rows |= {"G": G, "h": self._right("G"), "cones": kinds} if kinds else {}
        return ConeProgram(c=self._linear, P=self._whole_hessian(), offset=self._offset, **rows)

    def change(self, rows: Rows, right: Any = None, head: Terms | None = None, **terms: Any) -> dict[str, np.ndarray]:
        """Replace values in a group of rows and return the arguments of `Solver.update`.

        Parameters
        ----------
        rows : Rows
            Group whose values change.
        right : float or array_like, optional
            New right-hand side; for a cone, -radius and -shift, stacked.
        head : dict, optional
            New terms of the head of a cone.
        **terms : matrix, vector or number
            New terms; terms that are left out keep their values.
        """
        heads = {HEAD + name: value for name, value in (head or {}).items()}
        self._change(rows, heads | terms, {} if right is None else {"right": right})
        changed = {} if right is None else {{"A": "b", "G": "h"}[rows.matrix]: self._right(rows.matrix)}
        return changed | ({f"{rows.matrix}_data": self._data[rows.matrix].copy()} if heads or terms else {})

    def _bound_rows(self) -> list[Rows]:
        """Return the finite bounds of every block as groups of rows."""
        found = []
        for name, place in self._blocks.items():
            for sign, bound in ((-1.0, self._lower[place]), (1.0, self._upper[place])):
                at = np.flatnonzero(np.isfinite(bound))
                if at.size:
                    entries = Entries(np.arange(at.size), at, np.ones(at.size))
                    found.append(Rows("G", sign, {name: Term(entries, 0, at.size)}, {"right": bound[at]}))
        return found

    def _right(self, matrix: str) -> np.ndarray:
        """Return the right-hand side of `matrix`: b of "A", h of "G"."""
        groups = self._ordered if matrix == "G" else [group for group in self._groups if group.matrix == "A"]
        return np.concatenate([(group.sign if matrix == "G" else 1.0) * group.sides["right"] for group in groups])
