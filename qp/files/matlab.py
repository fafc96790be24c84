"""MATLAB files of versions 5 to 7.2: a reader of numeric arrays, sparse matrices and structs.

    file      128 bytes of header, then elements
    element   its kind and its size in bytes, four bytes each, and its content, padded to eight bytes;
              one of at most four bytes may be packed into eight, with two bytes each for size and kind
    matrix    an element of elements: class and flags, dimensions, name, and the data of the class

Each size is checked against the number of bytes before memory is allocated for it.
"""

from __future__ import annotations

import enum
import math
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from socp.files.textfile import UNMENTIONED, check_max_bytes, too_large
from socp.problem.checks import ProgramError

HEADER, LEVEL_5 = 128, 0x0100
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MATRIX, COMPRESSED = range(14, 16)  # kinds of elements
NUMERIC, COMPLEX = range(6, 16), 0x0800


class Sort(enum.IntEnum):
    """Classes of matrices other than numeric ones."""

    STRUCT, SPARSE, OPAQUE = 2, 5, 17


CLASSES = {1: "cell array", Sort.STRUCT: "struct array or a struct in structs", 3: "object", 4: "char array"}
DEPTH = 2  # levels of nested structs that are read


def read(path: str | Path, max_bytes: int) -> dict[str, Any]:
    """Return the variables of a file by name.

    Matrices of real numbers are arrays or, if sparse, `scipy.sparse.csc_array`; structs are dictionaries; other
    variables are strings that describe them.

    Raises
    ------
    ProgramError
        The file is damaged, of another version, or has more than `max_bytes` bytes after decompression.
    """
    check_max_bytes(max_bytes)
    with open(path, "rb") as stream:
        data = stream.read(min(Path(path).stat().st_size, max_bytes + 1))
    left = max_bytes - len(data)
    if left < 0:
        _refuse(too_large(max_bytes))
    order = {b"IM": "<", b"MI": ">"}.get(data[HEADER - 2 : HEADER], "")
    if not order or 0 in data[:4]:
        _refuse("it is none, or one of version 4")
    if np.frombuffer(data, order + "u2", 1, HEADER - 4)[0] != LEVEL_5:
        _refuse("it is of another version, perhaps 7.3, which is HDF5: save it with the option -v7")
    file, variables = _Elements(memoryview(data)[HEADER:], order), {}
    while file.data:
        kind, content = file.element()
        if kind == COMPRESSED:
            content = _decompressed(content, order, left, max_bytes)
            left -= len(content)
            kind, content = _Elements(content, order).element()
        name, value = _Elements(content, order).variable(kind)
        variables[name] = value
    _check_sizes(list(variables.values()), min(UNMENTIONED + max_bytes - left, max_bytes // 8))
    return variables


def _refuse(what: str) -> NoReturn:
    raise ProgramError(what)


def _decompressed(packed: memoryview, order: str, left: int, max_bytes: int) -> memoryview:
    """Return the element that is compressed in `packed`, with its tag."""
    try:
        tag = zlib.decompressobj().decompress(packed, 8)
        size = 8 + int(np.frombuffer(tag, order + "u4")[1]) if len(tag) == 8 else 8
        if size > left:
            _refuse(too_large(max_bytes))
        inflate = zlib.decompressobj()
        content = inflate.decompress(packed, size)
        if inflate.decompress(inflate.unconsumed_tail, 1) or not inflate.eof:
            _refuse("a compressed variable has not the size that it says")
    except zlib.error as error:
        _refuse(f"a compressed variable is damaged ({error})")
    return memoryview(content)


def _check_sizes(values: list[Any], most: int) -> None:
    """Raise ProgramError if an array has more than `most` rows, columns or dense entries, as float64 copies follow."""
    for value in values:
        if isinstance(value, dict):
            values += value.values()  # The loop continues over the added values.
        elif not isinstance(value, str) and (max(value.shape) > most or (not sp.issparse(value) and value.size > most)):
            _refuse(f"an array of shape {value.shape} is too large for the file, or for max_bytes")


class _Elements:
    """Sequence of elements; `data` is the part that is not read yet."""

    def __init__(self, data: memoryview, order: str) -> None:
        self.data, self.order = data, order

    def element(self) -> tuple[int, memoryview]:
        """Read the next element; return its kind and content."""
        if len(self.data) < 8:
            _refuse("it ends within a variable")
        kind, size = map(int, np.frombuffer(self.data[:8], self.order + "u4"))
        begin, end = 8, 8 + size
        if kind >> 16:
            kind, begin, end = kind & 0xFFFF, 4, 4 + (kind >> 16)
        if end > (8 if begin == 4 else len(self.data)):
            _refuse(f"an element of {end - begin} bytes does not fit where it stands")
        content, self.data = self.data[begin:end], self.data[end if kind == COMPRESSED else end + -end % 8 :]
        return kind, content

    def numbers(self, kinds: str = "iuf") -> np.ndarray:
        """Read the next element as a vector of numbers in the byte order of this machine."""
        kind, content = self.element()
        code = NUMBERS.get(kind, "V1")
        dtype = np.dtype(code)
        if dtype.kind not in kinds or len(content) % dtype.itemsize:
            _refuse(f"an element of kind {kind} and {len(content)} bytes stands where numbers were expected")
        return np.frombuffer(content, self.order + code).astype(code)

    def variable(self, kind: int, depth: int = 0) -> tuple[str, Any]:
        """Return the name and the value of the variable in an element of this kind."""
        if kind != MATRIX:
            _refuse(f"an element of kind {kind} stands where a variable was expected")
        if not self.data:
            return "", np.zeros((0, 0))
        flags = self.numbers("u")
        sort = int(flags[0]) & 0xFF if flags.size == 2 else _refuse("a variable has damaged flags")
        shape = [] if sort == Sort.OPAQUE else self.numbers("i").tolist()
        name = bytes(self.element()[1]).decode("latin1")
        if sort == Sort.STRUCT and math.prod(shape) == 1 and depth < DEPTH:
            return name, self._struct(depth)
        if sort != Sort.SPARSE and sort not in NUMERIC:
            return name, f"a {CLASSES.get(sort, 'variable of another class')}"
        if flags[0] & COMPLEX or len(shape) != 2:
            return name, f"a {'complex array' if flags[0] & COMPLEX else 'array that is no matrix'}"
        return name, self._sparse(name, *shape) if sort == Sort.SPARSE else self._dense(name, *shape)

    def _struct(self, depth: int) -> dict[str, Any]:
        length, names = self.numbers("i"), bytes(self.element()[1])
        if length.size != 1 or length[0] < 1 or len(names) % length[0]:
            _refuse("the names of the fields of a struct are damaged")
        fields = {}
        for first in range(0, len(names), int(length[0])):
            kind, content = self.element()
            name = names[first : first + int(length[0])].split(b"\0")[0].decode("latin1")
            fields[name] = _Elements(content, self.order).variable(kind, depth + 1)[1]
        return fields

    def _dense(self, name: str, rows: int, columns: int) -> np.ndarray:
        values = self.numbers()
        if min(rows, columns) < 0 or values.size != rows * columns:
            _refuse(f"{name} has {values.size} entries, but its shape is ({rows}, {columns})")
        return values.reshape(rows, columns, order="F")

    def _sparse(self, name: str, rows: int, columns: int) -> sp.csc_array:
        """Read a sparse matrix; entries beyond the last column pointer are ignored."""
        indices, indptr, values = self.numbers("iu"), self.numbers("iu").astype(np.int64), self.numbers()
        good = rows >= 0 and indptr.size == columns + 1 > 0 and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
        if good and indptr[-1] <= min(indices.size, values.size):
            indices, values = indices[: indptr[-1]].astype(np.int64), values[: indptr[-1]]
            if ((indices >= 0) & (indices < rows)).all():
                return sp.csc_array((values, indices, indptr), shape=(rows, columns))
        _refuse(f"{name} is no valid sparse matrix of shape ({rows}, {columns})")
