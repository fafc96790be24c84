"""Structures of named fields in one block of memory, shared by kernels and Python.

A class lists its fields,

    class Point(Structure):
        u = floats("n + p + m")
        s = floats("m")
        tau = number()
        form = structure(Form)

and its objects have them as attributes, in Python and in kernels alike.  A kernel takes the object as one pointer,
where a tuple of twenty arrays is a hundred and forty arguments, copied at every call.  In memory a field is a word of
eight bytes: a number, the address of another structure, or the address of an array, whose sizes follow.

`Point(n=..., p=..., m=...)` has its fields and all arrays with a shape in one block, as zeros.  Other arrays are bound
by assignment, or by name in the constructor, and kept alive.  A field ``n = dimension()`` is the dimension of that
name.  Kernels write numbers and entries of arrays, never the place of an array.

    class State(Structure):
        point = part(Point)

has a Point in its own block, made from the dimensions of the State.  A structure that is given by name is bound
to the fields of that name, in the structure and in its parts.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.core import types
from numba.core.extending import typeof_impl
from numba.np.numpy_support import as_dtype, from_dtype

from .kernels import deferred_kernel, kernel
from .signatures import Floats, IntMatrix, Ints, Matrix
from .structure_type import StructureType

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
WORD = FLOAT.itemsize


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
    """Field with a float."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._block.item(self.place)

    def __set__(self, owner: Any, value: float) -> None:
        owner._block[self.place] = value


class IntField(Field):
    """Field with an int."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._words.item(self.place)

    def __set__(self, owner: Any, value: int) -> None:
        owner._words[self.place] = value


class DimensionField(Field):
    """Field with an int that the constructor sets and nothing changes; Python reads it from memory once."""

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        found = owner.__dict__[self.name] = owner._words.item(self.place)
        return found


class FlagField(IntField):
    """Field with a bool."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._words.item(self.place) != 0


class KeptField(Field):
    """Field whose Python object is made by `_view` at its first use."""

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        found = owner._kept.get(self.name)
        if found is None:
            found = owner._kept[self.name] = self._view(owner)
        return found

    def _view(self, owner: Any) -> Any:
        """Return an object that views the field in the block of `owner`."""
        raise NotImplementedError


class ArrayField(KeptField):
    """Field with an array, which the structure keeps alive."""

    def __init__(
        self, numba_type: Any, shape: str | None = None, dtype: np.dtype | None = None, scratch: bool = False
    ) -> None:
        super().__init__(numba_type, shape)
        self.scratch = scratch
        self.words, self.axes = 1 + numba_type.ndim, numba_type.ndim
        self.dtype = as_dtype(numba_type.dtype) if dtype is None else dtype
        self.item = self.dtype.itemsize // WORD  # words per entry
        self._pack = struct.Struct(f"{self.words}q").pack_into
        self._bind = {(FLOAT, 1): bind_floats, (INT, 1): bind_integers, (FLOAT, 2): bind_matrix}.get(
            (self.dtype, self.axes)
        )

    def _view(self, owner: Any) -> np.ndarray:
        """Return the array in the block."""
        if self.shape is None:
            raise AttributeError(f"{type(owner).__name__}.{self.name} is not set")
        word, place = owner._words.item, self.place
        sizes = word(place + 1) if self.axes == 1 else (word(place + 1), word(place + 2))
        return np.ndarray(sizes, self.dtype, owner._block, word(place) - owner.address)

    def __set__(self, owner: Any, value: np.ndarray) -> None:
        if owner._kept.get(self.name) is value:
            return
        if value.dtype is not self.dtype or not value.flags.c_contiguous:
            value = np.ascontiguousarray(value, self.dtype)
        if value.ndim != self.axes:
            raise TypeError(f"{type(owner).__name__}.{self.name} has {self.axes} axes, but {value.ndim} came")
        owner._kept[self.name] = value
        self._note(owner, value)

    def _note(self, owner: Any, value: np.ndarray) -> None:
        """Write the address and the lengths of the array into the block."""
        if self._bind is not None:
            self._bind(owner._block, self.place, value)
        else:
            self._pack(owner._words, WORD * self.place, value.ctypes.data, *value.shape)


class StructureField(Field):
    """Field with another structure, stored as its address."""

    def __init__(self, kind: type[Structure]) -> None:
        super().__init__(kind.numba_type)

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._kept[self.name]

    def __set__(self, owner: Any, value: Structure) -> None:
        owner._kept[self.name] = value
        owner._words[self.place] = value.address


class PartField(KeptField):
    """Field with another structure, stored in the block of its owner."""

    def __init__(self, kind: type[Structure]) -> None:
        super().__init__(kind.numba_type)
        self.kind = kind

    def _view(self, owner: Any) -> Any:
        """Return the part as a structure that shares the block of `owner`."""
        address = owner._words.item(self.place)
        first = (address - owner.address) // WORD
        found = object.__new__(self.kind)
        found._block, found._words, found.address = owner._block[first:], owner._words[first:], address
        found._links, found._kept = owner._links, dict(owner._links)
        return found


@kernel
def bind_floats(block: Floats, place: int, array: Floats) -> None:
    """Write the address and the length of a vector of floats into the words of a field."""
    words = block.view(np.int64)
    words[place], words[place + 1] = array.ctypes.data, array.size


@kernel
def bind_integers(block: Floats, place: int, array: Ints) -> None:
    """Write the address and the length of a vector of integers into the words of a field."""
    words = block.view(np.int64)
    words[place], words[place + 1] = array.ctypes.data, array.size


@deferred_kernel
def bind_matrix(block: Floats, place: int, array: Matrix) -> None:
    """Write the address and the shape of a matrix of floats into the words of a field."""
    words = block.view(np.int64)
    words[place], words[place + 1], words[place + 2] = array.ctypes.data, array.shape[0], array.shape[1]


# Fields of classes.  The shape of an array is an expression in the dimensions of the constructor.  Arrays with
# `scratch` are not initialized: kernels write them before they read them.
number: Any = partial(FloatField, types.float64)
integer: Any = partial(IntField, types.int64)
dimension: Any = partial(DimensionField, types.int64)
flag: Any = partial(FlagField, types.boolean)
floats: Any = partial(ArrayField, types.float64[::1])
integers: Any = partial(ArrayField, types.int64[::1])
singles: Any = partial(ArrayField, types.float32[::1])
places: Any = partial(ArrayField, types.uint32[::1])  # indices in half the memory of `integers`
matrix: Any = partial(ArrayField, types.float64[:, ::1])  # by rows, with a shape "rows, columns"
structure: Any = StructureField
part: Any = PartField


def records(dtype: np.dtype, shape: str | None = None) -> Any:
    """Return the field of a vector of records, each of whole words."""
    return ArrayField(from_dtype(dtype)[::1], shape, dtype)


class Structure:
    """Base class of structures: named fields in one block of memory (see the docstring of the module)."""

    numba_type: ClassVar[StructureType]
    address: int
    _fields: ClassVar[list[Field]] = []
    _size: ClassVar[int] = 0  # number of words of the fields
    _layout: ClassVar[_Layout]

    def __init_subclass__(cls) -> None:
        inherited = next((base._fields for base in cls.__mro__[1:] if issubclass(base, Structure)), [])
        own = [field for field in vars(cls).values() if isinstance(field, Field)]
        place = sum(field.words for field in inherited)
        for field in own:
            field.place, place = place, place + field.words
        cls._fields, cls._size = inherited + own, place
        fields = tuple((field.name, field.type, field.place) for field in cls._fields)
        cls.numba_type = StructureType(f"{cls.__module__}.{cls.__qualname__}", fields)
        cls._layout = _Layout(cls)

    def __init__(self, **given: Any) -> None:
        """Allocate fields and arrays in one block, zero except for scratch arrays; bind given arrays and structures."""
        self._block, self._words, self.address, self._links, arrays = self._layout.memory(given)
        self._kept = self._links.copy()
        for name in arrays:
            setattr(self, name, arrays[name])

    @property
    def words(self) -> int:
        """Size of the block in words of eight bytes."""
        return self._block.size

    def __getstate__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds addresses and cannot be copied; set up anew instead")


PART, VALUE, VECTOR, MATRIX = range(-1, 3)  # kinds of steps; for arrays the number of axes


class Step(NamedTuple):
    """What `lay_out` writes for one field, at the word `place` of the block: an address with lengths, or a value.

    Attributes
    ----------
    kind : {PART, VALUE, VECTOR, MATRIX}
    place : int
    first : int
        Word where a part begins; number of a value, or of the first length of an array.
    second : int
        Number of the second length of a matrix.
    item : int
        Words per entry of an array.
    """

    kind: int
    place: int
    first: int
    second: int = 0
    item: int = 0


class _Layout:
    """Places of the fields of a class, and of the arrays that have a shape, in its block.

    A block has in order

        fields of the class | fields of its parts | values | arrays of zeros | scratch arrays

    where values are dimensions, lengths of arrays and addresses of structures.  Only the places of arrays depend on
    values, which `read` computes from the arguments of the constructor.
    """

    def __init__(self, kind: type[Structure]) -> None:
        self.dimensions: dict[str, None] = {}  # names, in order
        self.links: dict[str, None] = {}  # names of fields with other structures, in order
        self.values: dict[str, int] = {}  # number of each value, by its expression
        self.zeros: list[Step] = []  # all steps but those of scratch arrays
        self.scratch: list[Step] = []
        self.fields = 0
        self._note_dimensions(kind)
        self._add(kind)
        self.read = self._reader()
        self.steps = np.array(self.zeros + self.scratch, INT).reshape(-1, len(Step._fields))
        self.begin, self.end = self.fields, self.fields + len(self.values)  # words of the values
        self.pack: Any = struct.Struct(f"{len(self.values)}q").pack_into

    def _note_dimensions(self, kind: type[Structure]) -> None:
        for field in kind._fields:
            if isinstance(field, PartField):
                self._note_dimensions(field.kind)
            elif isinstance(field, DimensionField):
                self.dimensions[field.name] = None
            elif field.shape is not None:
                self.dimensions.update(dict.fromkeys(compile(f"({field.shape},)", "<shape>", "eval").co_names))

    def _add(self, kind: type[Structure]) -> int:
        """Plan the fields of a structure and of its parts; return the word where they begin."""
        begin = self.fields
        self.fields += kind._size
        for field in kind._fields:
            place, name = begin + field.place, field.name
            if isinstance(field, PartField):
                self.zeros.append(Step(PART, place, self._add(field.kind)))
            elif isinstance(field, DimensionField):
                self.zeros.append(Step(VALUE, place, self._value(name)))
            elif isinstance(field, StructureField) and name not in self.dimensions:
                self.links[name] = None
                self.zeros.append(Step(VALUE, place, self._value(f"0 if {name} is None else {name}.address")))
            elif isinstance(field, ArrayField) and field.shape is not None:
                lengths = [self._value(length.strip()) for length in field.shape.split(",")]
                step = Step(len(lengths), place, lengths[0], lengths[-1], field.item)
                (self.scratch if field.scratch else self.zeros).append(step)
        return begin

    def _value(self, expression: str) -> int:
        return self.values.setdefault(expression, len(self.values))

    def _reader(self) -> Any:
        """Return the function from the constructor's arguments to (values, zeroed words, scratch words, links, arrays).

        It runs several times for each program, and many programs are tiny.  So its code is written for the class:

            def read(n=0, m=0, form=None, **arrays):
                v0 = n + m
                v1 = 0 if form is None else form.address
                return (v0, v1), 9 + 2 * v0, 0, {"form": form}, arrays
        """
        zeros = " + ".join([str(self.fields + len(self.values)), *_sizes(self.zeros)])
        scratch = " + ".join(["0", *_sizes(self.scratch)])
        arguments = ", ".join([*(f"{name}=0" for name in self.dimensions), *(f"{name}=None" for name in self.links)])
        lines = [f"v{number} = {expression}" for expression, number in self.values.items()]
        values, links = (f"v{k}, " for k in range(len(lines))), (f"{name!r}: {name}, " for name in self.links)
        lines.append(f"return ({''.join(values)}), {zeros}, {scratch}, {{{''.join(links)}}}, arrays")
        found: dict[str, Any] = {}
        exec(f"def read({arguments + ', ' if arguments else ''}**arrays):\n " + "\n ".join(lines), found)
        return found["read"]

    def memory(self, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, int, dict[str, Any], dict[str, Any]]:
        """Return (block, its words as integers, its address, given structures, given arrays) for a new structure."""
        values, zeros, scratch, links, arrays = self.read(**given)
        if scratch:
            block = np.empty(zeros + scratch)
            block[:zeros] = 0.0
        else:
            block = np.zeros(zeros)
        self.pack(block, WORD * self.begin, *values)
        return block, block.view(INT), lay_out(self.steps, self.begin, self.end, block), links, arrays


def _sizes(steps: list[Step]) -> list[str]:
    """Return the expressions of the numbers of words of all arrays, arrays of equal size together."""
    words: dict[str, int] = {}
    for step in steps:
        if step.kind in (VECTOR, MATRIX):
            size = f"v{step.first}" if step.kind == VECTOR else f"v{step.first} * v{step.second}"
            words[size] = words.get(size, 0) + step.item
    return [f"{item} * {size}" for size, item in words.items()]


@kernel
def lay_out(plan: IntMatrix, values: int, arrays: int, block: Floats) -> int:
    """Write the places of parts and arrays, their lengths and other values into a block; return its address.

    A row of the plan is a `Step`.  The values begin at the word `values`, the memory of arrays at the word `arrays`.
    """
    words, address, at = block.view(np.int64), block.ctypes.data, arrays
    for k in range(plan.shape[0]):
        what, place, first, second, item = plan[k, 0], plan[k, 1], plan[k, 2], plan[k, 3], plan[k, 4]
        if what == PART:
            words[place] = address + WORD * first
        elif what == VALUE:
            words[place] = words[values + first]
        else:
            words[place], words[place + 1] = address + WORD * at, words[values + first]
            size = words[values + first] * item
            if what == MATRIX:
                words[place + 2] = words[values + second]
                size *= words[values + second]
            at += size
    return address


@typeof_impl.register(Structure)
def _type_of(value: Structure, context: Any) -> StructureType:
    return value.numba_type
