"""Named fields in one block of memory: what kernels and Python share of a state.

A class lists its fields,

    class Point(Structure):
        u = floats("n + p + m")
        s = floats("m")
        tau = number()
        form = structure(Form)

and its objects have them as attributes, in Python and in kernels alike.  A kernel takes the object as one pointer,
where a tuple of twenty arrays is a hundred and forty arguments, copied at every call.  In memory a field is a word of
eight bytes: a number, the address of another structure, or the address of an array, whose sizes follow.

`Point(n=..., p=..., m=...)` has all arrays with a shape in one block with the fields, as zeros.  Other arrays are bound
by assignment, which keeps them alive.  Kernels write numbers and entries of arrays, never the place of an array.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba.core import types
from numba.core.extending import typeof_impl
from numba.np.numpy_support import as_dtype, from_dtype

from .kernels import kernel
from .signatures import Floats, Ints
from .structure_type import StructureType

WORD = 8


class Field:
    """One field: its numba type, the word it begins at, and for an array the expression of its shape."""

    name: str
    place: int
    words = 1

    def __init__(self, numba_type: types.Type, shape: str | None = None) -> None:
        self.type, self.shape = numba_type, shape

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class FloatField(Field):
    """A float."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._numbers.item(self.place)

    def __set__(self, owner: Any, value: float) -> None:
        owner._numbers[self.place] = value


class IntField(Field):
    """An int."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._words.item(self.place)

    def __set__(self, owner: Any, value: int) -> None:
        owner._words[self.place] = value


class FlagField(IntField):
    """A bool."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._words.item(self.place) != 0


class ArrayField(Field):
    """An array, kept alive by the structure."""

    def __init__(self, numba_type: Any, shape: str | None = None, dtype: np.dtype | None = None) -> None:
        super().__init__(numba_type, shape)
        self.words, self.axes = 1 + numba_type.ndim, numba_type.ndim
        self.dtype = as_dtype(numba_type.dtype) if dtype is None else dtype
        self.item = self.dtype.itemsize // WORD  # words of an entry

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        found = owner._kept.get(self.name)
        if found is None:
            found = owner._kept[self.name] = self._view(owner)
        return found

    def _view(self, owner: Any) -> np.ndarray:
        """The array in the block."""
        if self.shape is None:
            raise AttributeError(f"{type(owner).__name__}.{self.name} is not set")
        begin, *sizes = owner._words[self.place : self.place + self.words].tolist()
        return np.ndarray(tuple(sizes), self.dtype, owner._block, begin - owner.address)

    def __set__(self, owner: Any, value: np.ndarray) -> None:
        if value.dtype is not self.dtype or not value.flags.c_contiguous:
            value = np.ascontiguousarray(value, self.dtype)
        if value.ndim != self.axes:
            raise TypeError(f"{type(owner).__name__}.{self.name} has {self.axes} axes, but {value.ndim} came")
        owner._kept[self.name] = value
        words, place = owner._words, self.place
        words[place] = address_of_array(value)
        for length in value.shape:
            place += 1
            words[place] = length


class StructureField(Field):
    """Another structure."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._kept[self.name]

    def __set__(self, owner: Any, value: Structure) -> None:
        owner._kept[self.name] = value
        owner._words[self.place] = value.address


def address_of_array(array: np.ndarray) -> int:
    """Where the entries of an array begin."""
    if array.ndim == 1:
        if array.dtype is FLOAT:
            return floats_at(array)  # type: ignore[no-any-return]
        if array.dtype is INT:
            return integers_at(array)  # type: ignore[no-any-return]
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


@kernel
def floats_at(array: Floats) -> int:
    """The address of a vector of floats."""
    return array.ctypes.data


@kernel
def integers_at(array: Ints) -> int:
    """The address of a vector of integers."""
    return array.ctypes.data


FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)


def number() -> Any:
    """A float."""
    return FloatField(types.float64)


def integer() -> Any:
    """An int."""
    return IntField(types.int64)


def flag() -> Any:
    """A bool."""
    return FlagField(types.boolean)


def floats(shape: str | None = None) -> Any:
    """A vector of float64 with the given size, an expression in the dimensions of the constructor."""
    return ArrayField(types.float64[::1], shape)


def integers(shape: str | None = None) -> Any:
    """A vector of int64."""
    return ArrayField(types.int64[::1], shape)


def unsigned(shape: str | None = None) -> Any:
    """A vector of uint64."""
    return ArrayField(types.uint64[::1], shape)


def matrix(shape: str | None = None) -> Any:
    """A matrix of float64 by rows, its shape given as "rows, columns"."""
    return ArrayField(types.float64[:, ::1], shape)


def records(dtype: np.dtype, shape: str | None = None) -> Any:
    """A vector of records, each of whole words."""
    return ArrayField(from_dtype(dtype)[::1], shape, dtype)


def structure(kind: type[Structure]) -> Any:
    """Another structure, held by its address."""
    return StructureField(kind.numba_type)


class Structure:
    """See the head of this file."""

    numba_type: ClassVar[StructureType]
    address: int
    _fields: ClassVar[list[Field]] = []
    _memory: ClassVar[Callable[..., tuple[np.ndarray, np.ndarray, int]]]

    def __init_subclass__(cls) -> None:
        inherited = next((base._fields for base in cls.__mro__[1:] if issubclass(base, Structure)), [])
        own = [field for field in vars(cls).values() if isinstance(field, Field)]
        own.sort(key=lambda field: field.shape is None)  # arrays of the block first: their words are written at once
        place = sum(field.words for field in inherited)
        for field in own:
            field.place, place = place, place + field.words
        cls._fields = inherited + own
        fields = tuple((field.name, field.type, field.place) for field in cls._fields)
        cls.numba_type = StructureType(f"{cls.__module__}.{cls.__qualname__}", fields)
        cls._memory = staticmethod(_memory_of(cls._fields, place))

    def __init__(self, **dimensions: int) -> None:
        """All in one block of memory, as zeros: the fields, then the arrays that have a shape."""
        self._block, self._words, self.address = self._memory(**dimensions)
        self._numbers = self._block
        self._kept: dict[str, Any] = {}

    def __getstate__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds addresses and cannot be copied; set up anew instead")


def _memory_of(fields: list[Field], size: int) -> Callable[..., tuple[np.ndarray, np.ndarray, int]]:
    """A function from the dimensions to (a block with `size` words and the arrays that have a shape, its words as
    integers, its address), in which the arrays are described.

    It is written out, as it runs several times for each program, of which many are tiny.
    """
    space: dict[str, Any] = {"zeros": np.zeros, "INT": INT, "floats_at": floats_at}
    names: dict[str, None] = {}
    sizes: list[str] = []
    runs: list[tuple[int, list[str]]] = []
    end = str(size)
    for field in fields:
        if field.shape is None or not isinstance(field, ArrayField):
            continue
        axes = [axis.strip() for axis in field.shape.split(",")]
        names.update(dict.fromkeys(compile(",".join(axes) + ",", "<shape>", "eval").co_names))
        at = len(sizes)
        lengths = [f"a{at}_{axis}" for axis in range(len(axes))]
        sizes.append(f"e{at} = {end}; " + "; ".join(f"{name} = {axis}" for name, axis in zip(lengths, axes)))
        end = f"e{at} + {' * '.join([*lengths, str(field.item)])}"
        if not runs or runs[-1][0] + len(runs[-1][1]) != field.place:
            runs.append((field.place, []))
        runs[-1][1].extend([f"begin + {WORD} * e{at}", *lengths])
    lines = [*sizes, f"block = zeros({end})", "words, begin = block.view(INT), floats_at(block)"]
    for k, (place, words) in enumerate(runs):
        space[f"pack{k}"] = struct.Struct(f"{len(words)}q").pack_into
        lines.append(f"pack{k}(words, {WORD * place}, {', '.join(words)})")
    arguments = "".join(f"{name}=0, " for name in names)
    body = "\n    ".join([*lines, "return block, words, begin"])
    exec(f"def memory({arguments}**other):\n    {body}", space)
    return space["memory"]  # type: ignore[no-any-return]


@typeof_impl.register(Structure)
def _type_of(value: Structure, context: Any) -> StructureType:
    return value.numba_type
