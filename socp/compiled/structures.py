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

    class State(Structure):
        point = part(Point)

has a Point in its own block, made from the same dimensions.  A structure that the constructor is given by name is bound
to the fields of that name, in the structure and in its parts.
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
        return self if owner is None else owner._block.item(self.place)

    def __set__(self, owner: Any, value: float) -> None:
        owner._block[self.place] = value


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


class KeptField(Field):
    """What Python keeps an object for, made by `_view` when it is first asked for."""

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        found = owner._kept.get(self.name)
        if found is None:
            found = owner._kept[self.name] = self._view(owner)
        return found

    def _view(self, owner: Any) -> Any:
        """What is in the block, as an object."""
        raise NotImplementedError


class ArrayField(KeptField):
    """An array, kept alive by the structure."""

    def __init__(self, numba_type: Any, shape: str | None = None, dtype: np.dtype | None = None) -> None:
        super().__init__(numba_type, shape)
        self.words, self.axes = 1 + numba_type.ndim, numba_type.ndim
        self.dtype = as_dtype(numba_type.dtype) if dtype is None else dtype
        self.item = self.dtype.itemsize // WORD  # words of an entry
        self._pack = struct.Struct(f"{self.words}q").pack_into
        self._address_of = {FLOAT: floats_at, INT: integers_at}.get(self.dtype) if self.axes == 1 else None

    def _view(self, owner: Any) -> np.ndarray:
        """The array in the block."""
        if self.shape is None:
            raise AttributeError(f"{type(owner).__name__}.{self.name} is not set")
        word, place = owner._words.item, self.place
        sizes = word(place + 1) if self.axes == 1 else (word(place + 1), word(place + 2))
        return np.ndarray(sizes, self.dtype, owner._block, word(place) - owner.address)

    def __set__(self, owner: Any, value: np.ndarray) -> None:
        if value.dtype is not self.dtype or not value.flags.c_contiguous:
            value = np.ascontiguousarray(value, self.dtype)
        if value.ndim != self.axes:
            raise TypeError(f"{type(owner).__name__}.{self.name} has {self.axes} axes, but {value.ndim} came")
        owner._kept[self.name] = value
        address = value.__array_interface__["data"][0] if self._address_of is None else self._address_of(value)
        self._pack(owner._words, WORD * self.place, address, *value.shape)


class StructureField(Field):
    """Another structure."""

    def __init__(self, kind: type[Structure]) -> None:
        super().__init__(kind.numba_type)

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._kept[self.name]

    def __set__(self, owner: Any, value: Structure) -> None:
        owner._kept[self.name] = value
        owner._words[self.place] = value.address


class PartField(KeptField):
    """A structure in the same block."""

    def __init__(self, kind: type[Structure]) -> None:
        super().__init__(kind.numba_type)
        self.kind = kind

    def _view(self, owner: Any) -> Any:
        """The part as an object of its own."""
        address = owner._words.item(self.place)
        first = (address - owner.address) // WORD
        found = object.__new__(self.kind)
        found._block, found._words, found.address = owner._block[first:], owner._words[first:], address
        found._links, found._kept = owner._links, dict(owner._links)
        return found


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
    return StructureField(kind)


def part(kind: type[Structure]) -> Any:
    """Another structure, in the same block of memory."""
    return PartField(kind)


class Structure:
    """See the head of this file."""

    numba_type: ClassVar[StructureType]
    address: int
    _fields: ClassVar[list[Field]] = []
    _size: ClassVar[int] = 0  # words of the fields
    _memory: ClassVar[Callable[..., tuple[np.ndarray, np.ndarray, int, dict[str, Any]]]]

    def __init_subclass__(cls) -> None:
        inherited = next((base._fields for base in cls.__mro__[1:] if issubclass(base, Structure)), [])
        own = [field for field in vars(cls).values() if isinstance(field, Field)]
        # what is described when memory is taken first: these words are written at once
        own.sort(key=lambda field: field.shape is None and not isinstance(field, (PartField, StructureField)))
        place = sum(field.words for field in inherited)
        for field in own:
            field.place, place = place, place + field.words
        cls._fields, cls._size = inherited + own, place
        fields = tuple((field.name, field.type, field.place) for field in cls._fields)
        cls.numba_type = StructureType(f"{cls.__module__}.{cls.__qualname__}", fields)
        cls._memory = staticmethod(_Layout(cls).memory())

    def __init__(self, **given: Any) -> None:
        """All in one block of memory, as zeros: the fields, then the arrays that have a shape; structures are bound."""
        self._block, self._words, self.address, self._links = self._memory(**given)
        self._kept: dict[str, Any] = dict(self._links)

    def __getstate__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds addresses and cannot be copied; set up anew instead")


class _Layout:
    """Writes out a function from dimensions and structures to (a block with all fields of a class and the arrays that
    have a shape, its words as integers, its address, the structures), in which arrays, parts and structures are noted.

    It is written out, as it runs several times for each program, of which many are tiny.
    """

    def __init__(self, kind: type[Structure]) -> None:
        self.space: dict[str, Any] = {"zeros": np.zeros, "INT": INT, "floats_at": floats_at}
        self.dimensions: dict[str, None] = {}
        self.links: dict[str, None] = {}
        self.sizes: list[str] = []
        self.lengths: dict[str, str] = {}  # the names of expressions that several arrays have as a length
        self.words: list[tuple[str, list[str]]] = []  # where a run of words begins, and what they are
        self.count = 0
        self.end = str(kind._size)
        self._note_dimensions(kind)
        self._add(kind, "0")

    def _note_dimensions(self, kind: type[Structure]) -> None:
        for field in kind._fields:
            if isinstance(field, PartField):
                self._note_dimensions(field.kind)
            elif field.shape is not None:
                self.dimensions.update(dict.fromkeys(compile(f"({field.shape},)", "<shape>", "eval").co_names))

    def _add(self, kind: type[Structure], first: str) -> None:
        """Take the room of one structure whose fields begin at a word, and of its parts."""
        run: list[str] = []
        follows = -1
        for field in kind._fields:
            words = self._words_of(field, first)
            if not words:
                continue
            if field.place != follows:
                run = []
                self.words.append((f"{first} + {field.place}", run))
            run.extend(words)
            follows = field.place + len(words)

    def _words_of(self, field: Field, first: str) -> list[str]:
        if isinstance(field, PartField):
            begin = self._room(str(field.kind._size))
            self._add(field.kind, begin)
            return [f"begin + {WORD} * {begin}"]
        if isinstance(field, StructureField) and field.name not in self.dimensions:
            self.links[field.name] = None
            return [f"{field.name}.address if {field.name} is not None else 0"]
        if field.shape is None or not isinstance(field, ArrayField):
            return []
        lengths: list[str] = []
        for axis in map(str.strip, field.shape.split(",")):
            if axis not in self.lengths:
                self.lengths[axis] = f"a{len(self.lengths)}"
                self.sizes.append(f"{self.lengths[axis]} = {axis}")
            lengths.append(self.lengths[axis])
        begin = self._room(" * ".join([*lengths, str(field.item)]))
        return [f"begin + {WORD} * {begin}", *lengths]

    def _room(self, size: str) -> str:
        """The name of the word that so many words begin at."""
        name = f"e{self.count}"
        self.count += 1
        self.sizes.append(f"{name} = {self.end}")
        self.end = f"{name} + {size}"
        return name

    def memory(self) -> Callable[..., tuple[np.ndarray, np.ndarray, int, dict[str, Any]]]:
        """The function."""
        lines = [*self.sizes, f"block = zeros({self.end})", "words, begin = block.view(INT), floats_at(block)"]
        for k, (place, words) in enumerate(self.words):
            self.space[f"pack{k}"] = struct.Struct(f"{len(words)}q").pack_into
            lines.append(f"pack{k}(words, {WORD} * ({place}), {', '.join(words)})")
        links = ", ".join(f"{name!r}: {name}" for name in self.links)
        arguments = "".join([f"{name}=0, " for name in self.dimensions] + [f"{name}=None, " for name in self.links])
        body = "\n    ".join([*lines, f"return block, words, begin, {{{links}}}"])
        exec(f"def memory({arguments}**other):\n    {body}", self.space)
        return self.space["memory"]  # type: ignore[no-any-return]


@typeof_impl.register(Structure)
def _type_of(value: Structure, context: Any) -> StructureType:
    return value.numba_type
