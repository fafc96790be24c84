r"""Linear and quadratic programs in the formats MPS and QPS, fixed or free.

    minimize or maximize  1/2 x'Px + q'x + offset      subject to rows and bounds

Dialects of the format differ; the following is read:

* The first N row is the objective, or the one that OBJNAME names before ROWS; other N rows are ignored.  OBJSENSE may
  take one line or two, the second with or without a blank in front; a maximization is converted to the minimization of
  the negative objective, and the program has `maximize = True`.
* The right-hand side of the objective is the negative of its constant.
* A range R on a row with right-hand side r gives an L row the sides [r - |R|, r], a G row [r, r + |R|], and an E
  row [r, r + R] if R > 0, else [r + R, r].
* A variable is in [0, inf) unless BOUNDS says otherwise.  UP with a negative value removes the lower bound unless
  BOUNDS sets one.  Values of 1e20 and more are infinite.  MI does not change the upper bound.
* QUADOBJ and QSECTION list one triangle of P, each pair once; QMATRIX lists both.  All have the factor 1/2, and a file
  has one of them.
* RHS, RANGES and BOUNDS may have one vector each; its name may be left out.
* A line with * in the first column is a comment, and so is the rest of a line from a field that begins with $, unless
  it is a declared name.
* An entry that is given twice is an error, as readers disagree on it; so are quadratic constraints, and columns between
  the MARKERs of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.files.textfile import MAX_BYTES, TextLines, write_text
from socp.problem.checks import ProgramError
from socp.problem.lowrank import LowRank

from ..problem.program import QuadraticProgram, no_side_beyond

_UNSUPPORTED = {
    "SOS": "special ordered sets",
    "SETS": "special ordered sets",
    "INDICATORS": "indicator constraints",
    "QCMATRIX": "quadratic constraints",
    "CSECTION": "cones",
    "PWLOBJ": "piecewise linear objectives",
    "GENCONS": "general constraints",
    "LAZYCONS": "lazy constraints",
    "USERCUTS": "user cuts",
}
_INTEGER_BOUNDS = ("BV", "LI", "UI", "SC", "SI")
_HESSIANS = ("QUADOBJ", "QSECTION", "QMATRIX")
_SENSES = ("MIN", "MAX", "MINIMIZE", "MAXIMIZE", "MINIMISE", "MAXIMISE")
_FIXED_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


def read_qps(path: str | Path, fixed: bool | None = None, max_bytes: int = MAX_BYTES) -> QuadraticProgram:
    r"""Read a linear or quadratic program in MPS or QPS; see `qp.files.qps` for the dialect that is read.

    Parameters
    ----------
    path : str or Path
        The file; its content shows if it is packed with gzip.
    fixed : bool, optional
        True if fields are in fixed columns, so that names may contain blanks; False if blanks separate fields.
        By default False is tried first, then True.
    max_bytes : int, default 2**29
        A file with more content than this, counted after decompression, is refused.

    Returns
    -------
    QuadraticProgram
        Rows and variables are in the order of ROWS and COLUMNS; `row_names` and `column_names` are their names.
        `maximize` is True if the file is a maximization: q, P and offset are then the negatives of those of the file.

    Raises
    ------
    ProgramError
        The file is malformed, or has integers or nonlinear constraints; the message names the line.
    """
    if fixed is not None:
        return _QpsFile(path, fixed, max_bytes).program()
    try:
        return _QpsFile(path, False, max_bytes).program()
    except ProgramError as free_error:
        try:
            return _QpsFile(path, True, max_bytes).program()
        except ProgramError:
            raise free_error from None


class _QpsFile:
    """Content of a QPS file as far as it was read; errors name the line."""

    def __init__(self, path: str | Path, fixed: bool, max_bytes: int) -> None:
        self.lines = TextLines(
            path, lambda line: not line.isspace() and line != "" and not line.startswith("*"), max_bytes
        )
        self.fixed = fixed
        self.section = self.sense = self.objective_name = self.column = ""
        self.has_objective = False
        self.integers_from = 0  # line of the MARKER that begins the integers which are being read
        self.row_types: list[str] = []
        self.rows: dict[str, int] = {}  # index of each row; -1: objective, -2: ignored N row
        self.columns: dict[str, int] = {}
        self.objective: dict[int, float] = {}
        self.matrix: dict[tuple[int, int], float] = {}
        self.hessian: dict[tuple[int, int], float] = {}
        self.rhs: dict[int, float] = {}
        self.ranges: dict[int, float] = {}
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
        self.vector_names: dict[str, str] = {}
        self._read_sections()

    def _read_sections(self) -> None:
        sections: dict[str, Callable[[list[str]], Any]] = {
            "NAME": self._refuse_line,
            "ROWS": self._read_row,
            "COLUMNS": self._read_column,
            "RHS": self._read_rhs,
            "RANGES": self._read_range,
            "BOUNDS": self._read_bound,
            "OBJSENSE": self._read_sense,
            "OBJNAME": self._read_objective_name,
            "QUADOBJ": self._read_triangle,
            "QSECTION": self._read_triangle,
            "QMATRIX": self._read_hessian,
        }
        seen = set[str]()
        while self.section != "ENDATA":
            line = self.lines.read("section ENDATA")
            # The content of a section without a value yet may stand in the first column.
            if line[0].isspace() or (self._lacks_value() and line.split()[0].upper() not in (*sections, "ENDATA")):
                if fields := self._fields(line):
                    sections.get(self.section, self._refuse_line)(fields)
                continue
            if self._lacks_value():
                raise self.lines.error(f"section {self.section} is empty")
            section, *rest = self._without_comment(line.split())
            self.section = section = section.upper()
            self._check_section([*sections, "ENDATA"], seen)
            seen.add(section)
            if self._lacks_value() and rest:
                sections[section](rest)
            if section == "QSECTION" and rest and self.rows.get(rest[0]) != -1:
                raise self.lines.error(f"section QSECTION {rest[0]} (quadratic constraints) is not supported")
        self.lines.finish()
        for section in ("ROWS", "COLUMNS"):
            if section not in seen:
                raise self.lines.error(f"section {section} is missing")

    def _check_section(self, known: list[str], seen: set[str]) -> None:
        """Raise ProgramError if a section is unknown, not supported, repeated, or a second quadratic objective."""
        section = self.section
        if section in _UNSUPPORTED:
            raise self.lines.error(f"section {section} ({_UNSUPPORTED[section]}) is not supported")
        if section not in known:
            raise self.lines.error(f"section {section[:60]!r} is unknown (the lines of a section begin with a blank)")
        if section in seen:
            raise self.lines.error(f"section {section} comes a second time")
        for other in seen.intersection(_HESSIANS) if section in _HESSIANS else ():
            raise self.lines.error(f"section {section} states the quadratic objective, as section {other} did before")

    def _lacks_value(self) -> bool:
        """Return True in a section OBJSENSE or OBJNAME whose value has not been read."""
        return not {"OBJSENSE": self.sense, "OBJNAME": self.objective_name}.get(self.section, True)

    def _fields(self, line: str) -> list[str]:
        if not self.fixed or self._lacks_value():
            return self._without_comment(line.split())
        for first in (_FIXED_FIELDS[2][0], _FIXED_FIELDS[4][0]):
            if line[first : first + 1] == "$" and not self._is_name(line[first : first + 8].strip()):
                line = line[:first]
        if any(line[last:first].strip() for (_, last), (first, _) in pairwise(((0, 0), *_FIXED_FIELDS, (None, None)))):
            raise self.lines.error("something stands outside the columns of the fixed format")
        fields = (line[first:last].strip() for first, last in _FIXED_FIELDS)
        return [field for field in fields if field]

    def _without_comment(self, fields: list[str]) -> list[str]:
        """Return the fields before the first one, other than a declared name, that begins with $."""
        first = 2 if self.section in ("ROWS", "BOUNDS") else 1  # The fields before it may be new names.
        for k in range(first, len(fields)):
            if fields[k][0] == "$" and not self._is_name(fields[k]):
                return fields[:k]
        return fields

    def _is_name(self, text: str) -> bool:
        return text in self.rows or text in self.columns or text in self.vector_names.values()

    # ---- one line of each section

    def _refuse_line(self, fields: list[str]) -> None:
        raise self.lines.error(f"a section was expected, but {' '.join(fields)[:60]!r} came")

    def _read_sense(self, fields: list[str]) -> None:
        sense = " ".join(fields).upper()
        if sense not in _SENSES:
            raise self.lines.error(f"OBJSENSE must be MIN or MAX, but {sense[:60]!r} came")
        if self.sense:
            raise self.lines.error("OBJSENSE is given twice")
        self.sense = sense[:3]

    def _read_objective_name(self, fields: list[str]) -> None:
        if self.objective_name or self.rows or len(fields) != 1:
            raise self.lines.error(f"OBJNAME: one row was expected, before ROWS, but {' '.join(fields)[:60]!r} came")
        self.objective_name = fields[0]

    def _read_row(self, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise self.lines.error(f"N, L, G or E and a row were expected, but {' '.join(fields)[:60]!r} came")
        kind, name = fields[0].upper(), fields[1]
        if name in self.rows:
            raise self.lines.error(f"row {name!r} is declared twice")
        if kind == "N":
            is_objective = name == self.objective_name if self.objective_name else not self.has_objective
            self.rows[name] = -1 if is_objective else -2
            self.has_objective |= is_objective
        else:
            self.rows[name] = len(self.row_types)
            self.row_types.append(kind)

    def _read_column(self, fields: list[str]) -> None:
        if len(fields) == 3 and fields[1] not in self.rows and _unquoted(fields[1]) == "MARKER":
            kind = _unquoted(fields[2])
            if kind not in ("INTORG", "INTEND"):
                raise self.lines.error(f"a MARKER {kind[:60]!r} is not supported; INTORG and INTEND are")
            self.integers_from = self.lines.number if kind == "INTORG" else 0
            return
        if self.integers_from:
            what = f"a MARKER of integer variables is not supported; {fields[0][:60]!r} is one"
            raise self.lines.error(what, self.integers_from)
        if len(fields) not in (3, 5):
            raise self.lines.error(
                f"COLUMNS: a column, a row and a value were expected, but {' '.join(fields)[:60]!r} came"
            )
        if fields[0] != self.column and fields[0] in self.columns:
            raise self.lines.error(f"COLUMNS: column {fields[0][:60]!r} is given in two places")
        self.column = fields[0]
        j = self.columns.setdefault(fields[0], len(self.columns))
        for i, value in self._row_values("COLUMNS", fields[1:]):
            if i == -1:
                self._set(self.objective, j, value, "an entry of the objective")
            elif i >= 0:
                self._set(self.matrix, (i, j), value, "an entry")

    def _read_rhs(self, fields: list[str]) -> None:
        for i, value in self._row_values("RHS", self._without_name("RHS", fields)):
            if i != -2:
                self._set(self.rhs, i, value, "a right-hand side")

    def _read_range(self, fields: list[str]) -> None:
        for i, value in self._row_values("RANGES", self._without_name("RANGES", fields)):
            if i == -1:
                raise self.lines.error("RANGES: the objective has no range")
            if i >= 0:
                self._set(self.ranges, i, value, "a range")

    def _read_bound(self, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind in _INTEGER_BOUNDS:
            raise self.lines.error(f"BOUNDS: {kind} (integer or semi-continuous variables) is not supported")
        needs_value = kind in ("LO", "UP", "FX")
        if not (needs_value or kind in ("FR", "MI", "PL")):
            raise self.lines.error(f"BOUNDS: LO, UP, FX, FR, MI or PL was expected, but {fields[0][:60]!r} came")
        # The name of the vector may be missing, and a value that is not needed may follow.
        if len(fields) == (3 if needs_value else 2):
            fields = [kind, "", *fields[1:]]
        if len(fields) != 4 and not (len(fields) == 3 and not needs_value):
            raise self.lines.error(f"BOUNDS: {' '.join(fields)[:60]!r} does not fit")
        self._one_vector("BOUNDS", fields[1])
        j = self._column("BOUNDS", fields[2])
        value = self._number(fields[3]) if needs_value else 0.0
        if kind in ("LO", "FX", "FR", "MI"):
            self._set(self.lower, j, -np.inf if not needs_value else value, "a lower bound")
        if kind in ("UP", "FX", "FR", "PL"):
            self._set(self.upper, j, np.inf if not needs_value else value, "an upper bound")

    def _read_triangle(self, fields: list[str]) -> None:
        for i, j, value in self._pairs(fields):
            self._set(self.hessian, (i, j), value, "an entry of the quadratic objective")
            if i != j:
                self._set(self.hessian, (j, i), value, "an entry of the quadratic objective (one triangle is listed)")

    def _read_hessian(self, fields: list[str]) -> None:
        for i, j, value in self._pairs(fields):
            self._set(self.hessian, (i, j), value, "an entry of the quadratic objective")

    def _pairs(self, fields: list[str]) -> Iterator[tuple[int, int, float]]:
        """Yield the entries of a line: a column, and one or two times another column and a value."""
        if len(fields) not in (3, 5):
            raise self.lines.error(f"two columns and a value were expected, but {' '.join(fields)[:60]!r} came")
        i, *others = (self._column("the quadratic objective", name) for name in (fields[0], *fields[1::2]))
        for j, text in zip(others, fields[2::2]):
            yield i, j, self._number(text)

    # ---- the parts of a line

    def _row_values(self, section: str, fields: list[str]) -> Iterator[tuple[int, float]]:
        for name, value in zip(fields[::2], fields[1::2]):
            if name not in self.rows:
                raise self.lines.error(f"{section}: row {name[:60]!r} is not declared in ROWS")
            yield self.rows[name], self._number(value)

    def _without_name(self, section: str, fields: list[str]) -> list[str]:
        if len(fields) not in (2, 3, 4, 5):
            raise self.lines.error(f"{section}: a row and a value were expected, but {' '.join(fields)[:60]!r} came")
        named = len(fields) % 2 == 1
        self._one_vector(section, fields[0] if named else "")
        return fields[1:] if named else fields

    def _one_vector(self, section: str, name: str) -> None:
        first = self.vector_names.setdefault(section, name)
        if name != first:
            raise self.lines.error(f"{section}: a second vector {name[:60]!r} beside {first!r} is not supported")

    def _column(self, section: str, name: str) -> int:
        if name not in self.columns:
            raise self.lines.error(f"{section}: column {name[:60]!r} is not declared in COLUMNS")
        return self.columns[name]

    def _number(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = _fortran_number(text)
        if value != value or "_" in text:
            raise self.lines.error(f"a number was expected, but {text[:60]!r} came")
        return value

    def _set(self, entries: dict, key: int | tuple[int, int], value: float, what: str) -> None:
        if key in entries:
            raise self.lines.error(f"{what} is given twice")
        entries[key] = value

    # ---- the program

    def program(self) -> QuadraticProgram:
        n, m = len(self.columns), len(self.row_types)
        if self.objective_name and not self.has_objective:
            raise ProgramError(f"{self.lines.path}: OBJNAME: {self.objective_name[:60]!r} is no N row of ROWS")
        sign = -1.0 if self.sense == "MAX" else 1.0
        l, u = self._row_sides()
        lb, ub = self._bounds()
        q = _vector(self.objective, n, 0.0)
        P = sign * _matrix(self.hessian, (n, n)) if self.hessian else None
        try:
            program = QuadraticProgram(
                P, sign * q, A=_matrix(self.matrix, (m, n)), l=l, u=u, lb=lb, ub=ub,
                offset=-sign * self.rhs.get(-1, 0.0),
            )  # fmt: skip
        except ProgramError as error:
            raise ProgramError(f"{self.lines.path}: {error}") from None
        program.maximize = self.sense == "MAX"
        program.row_names = tuple(name for name, i in self.rows.items() if i >= 0)
        program.column_names = tuple(self.columns)
        return program

    def _row_sides(self) -> tuple[np.ndarray, np.ndarray]:
        m = len(self.row_types)
        kind = np.array(self.row_types, dtype="U1")
        rhs = _vector({i: value for i, value in self.rhs.items() if i >= 0}, m, 0.0)
        R = _vector(self.ranges, m, np.nan)
        has_range = ~np.isnan(R)
        below = np.where(kind == "L", np.abs(R), np.maximum(-R, 0.0))
        above = np.where(kind == "G", np.abs(R), np.maximum(R, 0.0))
        below[kind == "G"], above[kind == "L"] = 0.0, 0.0
        l = np.where(has_range, rhs - below, np.where(kind == "L", -np.inf, rhs))
        u = np.where(has_range, rhs + above, np.where(kind == "G", np.inf, rhs))
        return no_side_beyond(l), no_side_beyond(u)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        n = len(self.columns)
        ub = no_side_beyond(_vector(self.upper, n, np.inf))
        lb = no_side_beyond(_vector(self.lower, n, np.nan))
        return np.where(np.isnan(lb), np.where(ub < 0.0, -np.inf, 0.0), lb), ub


def _unquoted(text: str) -> str:
    return text.strip("'\"").upper()


def _fortran_number(text: str) -> float:
    """Return the number in `text` with D as the exponent letter (1.5D+02 is 150), or NaN if it is none."""
    try:
        return float(text.upper().replace("D", "E"))
    except ValueError:
        return np.nan


def _vector(entries: dict[int, float], size: int, default: float) -> np.ndarray:
    vector = np.full(size, default)
    vector[list(entries.keys())] = list(entries.values())
    return vector


def _matrix(entries: dict[tuple[int, int], float], shape: tuple[int, int]) -> sp.coo_array:
    where = np.array(list(entries.keys()), dtype=np.int64).reshape(-1, 2)
    return sp.coo_array((np.fromiter(entries.values(), dtype=np.float64), where.T), shape=shape)


def write_qps(program: QuadraticProgram, path: str | Path) -> None:
    """Write a quadratic program in free QPS, packed if `path` ends in ``.gz``; rows are R1, R2, ..., columns C1, ...

    All numbers have all their digits; only the larger side of a row with two finite sides may be read with another
    last digit, as the format stores the difference of the sides.  Rows without sides become N rows, which readers
    ignore, and a row with l > u becomes two rows.  A `LowRank` P is written as a full matrix.  A program with
    `maximize = True` is written as the maximization that it was read from.
    """
    sign = -1.0 if program.maximize else 1.0
    A, l, u = _without_crossed_rows(program)
    # The side of the smaller size is stored itself: the difference of -1e17 and 3 is that of -1e17 and 0.
    is_lower = np.isfinite(l) & ~(np.isfinite(u) & (np.abs(u) < np.abs(l)))
    kind = np.where(l == u, "E", np.where(is_lower, "G", np.where(np.isfinite(u), "L", "N")))
    rhs = np.where(is_lower, l, np.where(np.isfinite(u), u, 0.0))
    two_sided = np.isfinite(l) & np.isfinite(u) & (l != u)

    parts = ["NAME", *(["OBJSENSE", " MAX"] if program.maximize else []), "ROWS", " N OBJ"]
    parts += [*(f" {kind} R{i}" for i, kind in enumerate(kind.tolist(), start=1)), "COLUMNS"]
    for j, cost in enumerate((sign * program.q).tolist(), start=1):
        parts.append(f" C{j} OBJ {cost!r}")
        entries = slice(A.indptr[j - 1], A.indptr[j])
        parts += [f" C{j} R{i + 1} {v!r}" for i, v in zip(A.indices[entries].tolist(), A.data[entries].tolist())]
    parts.append("RHS")
    if program.offset:
        parts.append(f" RHS OBJ {-sign * program.offset!r}")
    parts += [f" RHS R{i + 1} {rhs[i].item()!r}" for i in np.flatnonzero(rhs).tolist()]
    if two_sided.any():
        parts.append("RANGES")
        parts += [f" RANGE R{i + 1} {(u[i] - l[i]).item()!r}" for i in np.flatnonzero(two_sided).tolist()]
    parts += ["BOUNDS", *_bound_lines(program.lb, program.ub)]
    if program.P is not None:
        P = program.P.toarray() if isinstance(program.P, LowRank) else program.P
        triangle = sp.coo_array(sign * sp.tril(P))
        parts.append("QUADOBJ")
        for i, j, value in zip(triangle.row.tolist(), triangle.col.tolist(), triangle.data.tolist()):
            parts.append(f" C{j + 1} C{i + 1} {value!r}")
    write_text(path, "\n".join([*parts, "ENDATA", ""]))


def _without_crossed_rows(program: QuadraticProgram) -> tuple[sp.csc_array, np.ndarray, np.ndarray]:
    """Return (A, l, u); the upper side of a row with l > u is a row of its own at the end, as QPS cannot state both."""
    A, l, u = program.A, program.l, program.u
    crossed = np.flatnonzero(l > u)
    if not crossed.size:
        return A, l, u
    ends = np.concatenate([np.where(l > u, np.inf, u), u[crossed]])
    return sp.vstack([A, A[crossed]], format="csc"), np.append(l, np.full(crossed.size, -np.inf)), ends


def _bound_lines(lb: np.ndarray, ub: np.ndarray) -> Iterator[str]:
    for j, (lower, upper) in enumerate(zip(lb.tolist(), ub.tolist()), start=1):
        if lower == upper:
            yield f" FX BOUND C{j} {lower!r}"
            continue
        if lower == -np.inf:
            yield f" MI BOUND C{j}"
        elif lower != 0.0 or upper < 0.0:  # A negative UP alone removes the lower bound.
            yield f" LO BOUND C{j} {lower!r}"
        if upper != np.inf:
            yield f" UP BOUND C{j} {upper!r}"
