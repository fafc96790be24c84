r"""Cone programs in files: the Conic Benchmark Format (CBF), versions 1 to 3, plain or packed with gzip.

A CBF file states

    minimize or maximize  g'x + g0    subject to    x in K_VAR,   M x + m in K_CON

with VAR and CON products of cones.  Supported are the linear cones (F free, L+, L-, L= zero), the second-order
cone Q and the rotated cone QR = {(p, q, u): 2 p q >= u'u, p >= 0, q >= 0}, which the reflection

    T = [[1, 1], [1, -1]] / sqrt(2)   of its two leading coordinates

maps onto Q, so that no variable is added or changed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..problem.checks import ProgramError
from ..problem.program import Cone, ConeProgram, NonNeg, SecondOrder
from .textfile import MAX_BYTES, UNMENTIONED, TextLines, check_ending, is_integer, write_text

_KINDS = ("F", "L+", "L-", "L=", "Q", "QR")
_UNSUPPORTED = {
    "INT": "integer variables",
    "PSDVAR": "semidefinite variables",
    "PSDCON": "semidefinite constraints",
    "OBJFCOORD": "semidefinite variables",
    "FCOORD": "semidefinite variables",
    "HCOORD": "semidefinite constraints",
    "DCOORD": "semidefinite constraints",
    "POWCONES": "power cones",
    "POW*CONES": "dual power cones",
    "CHANGE": "a sequence of programs",
}
_COORDINATES = {"OBJACOORD": ("variable",), "ACOORD": ("row", "variable"), "BCOORD": ("row",)}


def read(path: str | Path, max_bytes: int = MAX_BYTES) -> ConeProgram:
    """Read a cone program from a file whose name ends in ``.cbf`` or ``.cbf.gz``; see `read_cbf`."""
    check_ending(path, ".cbf", ".cbf.gz")
    return read_cbf(path, max_bytes)


def write(program: ConeProgram, path: str | Path) -> None:
    """Write a cone program to a file whose name ends in ``.cbf`` or ``.cbf.gz``; see `write_cbf`."""
    check_ending(path, ".cbf", ".cbf.gz")
    write_cbf(program, path)


def read_cbf(path: str | Path, max_bytes: int = MAX_BYTES) -> ConeProgram:
    r"""Read a linear or second-order cone program in CBF, version 1 to 3.

    Parameters
    ----------
    path : str or Path
        The file; its content shows if it is packed with gzip.
    max_bytes : int, default 2**29
        Limit of the file's bytes, counted after decompression; a larger file is refused.

    Returns
    -------
    ConeProgram
        The variables are in the order of the file.  The rows of A are the L= domains.  The rows of G are all L+ and
        L- domains as one `NonNeg`, then one `SecondOrder` for each Q and QR.  In each of these lists the domains of
        variables precede the domains of constraints, in the order of the file.  Free domains give no rows.
        A maximization is turned into the minimization of :math:`-g^\top x - g_0`, and the program has
        `maximize = True`.

    Raises
    ------
    ProgramError
        The file is malformed, or uses features that a `ConeProgram` lacks (integers, other cones, a sequence of
        programs); the message has the line and the section.  Sections of such features that are empty are read.
        Entries that are given twice are added up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.cbf"
    >>> _ = path.write_text("VER\n3\nOBJSENSE\nMIN\nVAR\n3 1\nQR 3\nOBJACOORD\n1\n0 1.0\n")
    >>> read_cbf(path)
    ConeProgram(n=3, p=0, m=3, cones: 1 SecondOrder)
    """
    lines = TextLines(
        path, lambda line: not line.isspace() and line != "" and not line.lstrip().startswith("#"), max_bytes
    )
    file = _CbfFile(lines)
    while not lines.at_end:
        file.read_section()
    for section in ("VER", "OBJSENSE", "VAR"):
        if section not in file.seen:
            raise ProgramError(f"{path}: section {section} is missing")
    return file.program()


class _CbfFile:
    """Content of a CBF file as far as it was read, section by section."""

    def __init__(self, lines: TextLines) -> None:
        self.lines = lines
        self.seen: set[str] = set()
        self.sign = 1.0
        self.constant = 0.0
        self.domains: dict[str, list[tuple[str, int]]] = {"VAR": [], "CON": []}  # kind and dimension of each cone
        self.sizes = {"VAR": 0, "CON": 0}
        self.tables = {section: np.empty((0, len(names) + 1)) for section, names in _COORDINATES.items()}

    def read_section(self) -> None:
        section = self.lines.read("a section").strip()
        if section in self.seen:
            raise self.lines.error(f"section {section} comes a second time")
        if section != "VER" and "VER" not in self.seen:
            raise self.lines.error(f"a CBF file begins with section VER, but {section[:60]!r} came")
        self.seen.add(section)
        if section in _UNSUPPORTED:
            self._skip_empty(section)
        elif section == "VER":
            self._read_version()
        elif section == "OBJSENSE":
            self._read_sense()
        elif section in self.domains:
            self._read_domains(section)
        elif section == "OBJBCOORD":
            self.constant = float(self.lines.read_table(1, 1, "the constant of the objective")[0][0, 0])
        elif section in _COORDINATES:
            self._read_coordinates(section)
        else:
            raise self.lines.error(f"section {section[:60]!r} is unknown")

    def _skip_empty(self, section: str) -> None:
        """Read the counts of a section that a `ConeProgram` lacks; raise ProgramError unless all are zero."""
        header = self.lines.number
        if section == "CHANGE" or self.lines.at_end or set(self.lines.read("its size").split()) != {"0"}:
            raise self.lines.error(f"section {section} ({_UNSUPPORTED[section]}) is not supported", header)

    def _read_version(self) -> None:
        (version,) = self.lines.read_integers(1, "the version of the format")
        if version not in (1, 2, 3):
            raise self.lines.error(f"version {version} of the format is not supported; 1, 2 and 3 are")

    def _read_sense(self) -> None:
        sense = self.lines.read("MIN or MAX").strip()
        if sense not in ("MIN", "MAX"):
            raise self.lines.error(f"OBJSENSE must be MIN or MAX, but {sense[:60]!r} came")
        self.sign = -1.0 if sense == "MAX" else 1.0

    def _read_domains(self, section: str) -> None:
        size, count = self.lines.read_integers(2, f"{section}: the size and the number of cones")
        header = self.lines.number
        for k in range(count):
            text = self.lines.read(f"{section}: cone {k + 1} of {count}").strip()
            kind, dim = [*text.split(None, 1), ""][:2]
            if kind not in _KINDS:
                raise self.lines.error(
                    f"cone {kind[:60]!r} of section {section} is not supported; {', '.join(_KINDS)} are"
                )
            if not is_integer(dim):
                raise self.lines.error(f"{section}: a cone and its dimension were expected, but {text[:60]!r} came")
            if kind == "QR" and int(dim) < 2:
                raise self.lines.error(f"{section}: a cone QR has at least dimension 2, but {int(dim)} came")
            self.domains[section].append((kind, int(dim)))
            self.sizes[section] += int(dim)
        total = self.sizes[section]
        if total != size:
            raise self.lines.error(f"{section}: size {size} was declared, but the cones add up to {total}", header)

    def _read_coordinates(self, section: str) -> None:
        names = _COORDINATES[section]
        needed = {"variable": "VAR", "row": "CON"}
        for name in names:
            if needed[name] not in self.seen:
                raise self.lines.error(f"section {section} comes before section {needed[name]}")
        (count,) = self.lines.read_integers(1, f"{section}: the number of entries")
        expected = f"{section}: {', '.join(names)} and value"
        table, numbers = self.lines.read_table(count, len(names) + 1, expected)
        for index, name in zip(table.T, names):
            size = self.sizes[needed[name]]
            bad = (index < 0) | (index >= size) | (index != np.floor(index))
            if bad.any():
                k = int(bad.argmax())
                raise self.lines.error(
                    f"{section}: {name} {index[k]:.15g} is not one of the {size} declared (0 to {size - 1})", numbers[k]
                )
        self.tables[section] = table

    def program(self) -> ConeProgram:
        """Return the program, from the affine image w = F x + f in VAR x CON, with F = [I; M] and f = [0; m]."""
        n, m = self.sizes["VAR"], self.sizes["CON"]
        if n + m > UNMENTIONED + 10 * self.lines.count:
            raise ProgramError(
                f"{self.lines.path}: {n} variables and {m} rows were declared, but the file has only "
                f"{self.lines.count} lines"
            )
        rows, columns, values = self.tables["ACOORD"].T
        M = sp.coo_array((values, (rows.astype(np.int64), columns.astype(np.int64))), shape=(m, n))
        F = sp.vstack([sp.eye_array(n), M], format="csr")
        f = np.concatenate([np.zeros(n), _dense(self.tables["BCOORD"], m)])

        domains = self.domains["VAR"] + self.domains["CON"]
        kinds = np.array([kind for kind, _ in domains], dtype="U2")
        dims = np.array([dim for _, dim in domains], dtype=np.int64)
        kind_of_row = np.repeat(kinds, dims)
        zero = np.flatnonzero(kind_of_row == "L=")
        linear = np.flatnonzero((kind_of_row == "L+") | (kind_of_row == "L-"))
        second = np.flatnonzero((kind_of_row == "Q") | (kind_of_row == "QR"))

        # s = S (F x + f)[rows] lies in the cones, so that G = -S F[rows] and h = S f[rows]
        sign = sp.diags_array(np.where(kind_of_row[linear] == "L+", 1.0, -1.0))
        is_second = (kinds == "Q") | (kinds == "QR")
        T = _rotation(kinds[is_second] == "QR", dims[is_second])
        cones: list[Cone] = [NonNeg(linear.size)] if linear.size else []
        cones += [SecondOrder(dim) for dim in dims[is_second].tolist()]
        program = ConeProgram(
            c=self.sign * _dense(self.tables["OBJACOORD"], n),
            G=sp.vstack([-(sign @ F[linear]), -(T @ F[second])]),
            h=np.concatenate([sign @ f[linear], T @ f[second]]),
            cones=cones,
            A=F[zero],
            b=-f[zero],
            offset=self.sign * self.constant,
        )
        program.maximize = self.sign < 0.0
        return program


def _dense(table: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(table[:, 0].astype(np.int64), weights=table[:, 1], minlength=size)


def _rotation(rotated: np.ndarray, dims: np.ndarray) -> sp.csr_array:
    """Return the block diagonal matrix that maps rotated second-order cones to second-order cones."""
    p = (np.cumsum(dims) - dims)[rotated]  # first of the two leading rows of each rotated cone
    diagonal = np.ones(int(dims.sum()))
    diagonal[p], diagonal[p + 1] = np.sqrt(0.5), -np.sqrt(0.5)
    every = np.arange(diagonal.size)
    off = np.full(p.size, np.sqrt(0.5))
    entries = np.concatenate([diagonal, off, off])
    where = np.concatenate([every, p, p + 1]), np.concatenate([every, p + 1, p])
    return sp.csr_array((entries, where), shape=(every.size, every.size))


def write_cbf(program: ConeProgram, path: str | Path) -> None:
    """Write a cone program without quadratic objective in CBF, version 1, packed when `path` ends in ``.gz``.

    All variables are free; A x - b is written as an L= domain and h - G x as L+ and Q domains, every number with
    all its digits.  Cones without rows, and rows with ``h = +inf``, which always hold, are left out.  A program with
    `maximize = True` is written as the maximization that it was read from.

    Raises
    ------
    ProgramError
        The program has a P: the objective of CBF is linear.
    """
    if program.P is not None:
        raise ProgramError("P cannot be written: the objective of CBF is linear")
    kept = np.isfinite(program.h)
    domains = [("L=", program.p)]
    start = 0
    for cone in program.cones:
        rows = int(kept[start : start + cone.dim].sum())
        domains.append(("L+" if isinstance(cone, NonNeg) else "Q", rows))
        start += cone.dim
    domains = [(kind, dim) for kind, dim in domains if dim]
    M = sp.vstack([program.A, -program.G[np.flatnonzero(kept)]], format="coo")
    shift = np.concatenate([-program.b, program.h[kept]])

    sense, sign = ("MAX", -1.0) if program.maximize else ("MIN", 1.0)
    parts = ["VER", "1", "", "OBJSENSE", sense, "", "VAR", f"{program.n} {min(program.n, 1)}"]
    parts += [f"F {program.n}", ""] if program.n else [""]
    if domains:
        parts += ["CON", f"{shift.size} {len(domains)}", *(f"{kind} {dim}" for kind, dim in domains), ""]
    parts += _coordinates("OBJACOORD", sign * program.c)
    if program.offset:
        parts += ["OBJBCOORD", repr(sign * program.offset), ""]
    parts += _coordinates("ACOORD", M.data, M.row, M.col)
    parts += _coordinates("BCOORD", shift)
    write_text(path, "\n".join(parts))


def _coordinates(section: str, values: np.ndarray, *indices: np.ndarray) -> list[str]:
    nonzero = np.flatnonzero(values)
    if not nonzero.size:
        return []
    columns = [index[nonzero].tolist() for index in indices or (np.arange(values.size),)]
    entries = [" ".join(map(repr, entry)) for entry in zip(*columns, values[nonzero].tolist())]
    return [section, str(len(entries)), *entries, ""]
