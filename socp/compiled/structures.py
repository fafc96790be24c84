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

`allocate` places all arrays that have a shape in one block.  Other arrays are bound by assignment, which keeps them
alive.  Kernels write numbers and entries of arrays, never the place of an array.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import (
    NativeValue,
    infer_getattr,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.np.numpy_support import as_dtype, from_dtype

WORD = 8

Kind = TypeVar("Kind", bound="Structure")


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

    def __init__(self, numba_type: types.Type, shape: str | None = None, dtype: np.dtype | None = None) -> None:
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
        """The array where `place_arrays` put it."""
        begin, *sizes = owner._words[self.place : self.place + self.words].tolist()
        if owner._block is None:
            raise AttributeError(f"{type(owner).__name__}.{self.name} is not set")
        return np.ndarray(tuple(sizes), self.dtype, owner._block, begin - owner._begin)

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
    if array.dtype.fields is not None:  # whose interface describes each field
        array = array.view(np.uint8)
    return array.__array_interface__["data"][0]


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
    """A vector of float64 with the given size, an expression in the dimensions that `allocate` takes."""
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


class StructureType(types.Type):
    """The numba type of a class of structures: its name and its fields, (name, type, word)."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type, int], ...]) -> None:
        self.fields = fields
        self.by_name = {field: (kind, place) for field, kind, place in fields}
        super().__init__(name)

    @property
    def key(self) -> Any:
        return self.name, self.fields

    def can_convert_to(self, context: Any, other: types.Type) -> Any:
        """A structure is also any that it begins with."""
        if isinstance(other, StructureType) and self.fields[: len(other.fields)] == other.fields:
            return Conversion.safe
        return None


class Structure:
    """See the head of this file."""

    __slots__ = ("__dict__", "_begin", "_block", "_kept", "_numbers", "_words", "address")
    numba_type: ClassVar[StructureType]
    _fields: ClassVar[list[Field]]
    _size: ClassVar[int]
    _layout: ClassVar[Any]
    _runs: ClassVar[list[tuple[struct.Struct, int, int, int]]]

    def __init_subclass__(cls) -> None:
        inherited = [field for base in cls.__mro__[1:] for field in base.__dict__.get("_fields", [])]
        own = [field for field in vars(cls).values() if isinstance(field, Field)]
        cls._fields = inherited + own
        place = sum(field.words for field in inherited)
        for field in own:
            field.place, place = place, place + field.words
        cls._size = place
        fields = tuple((field.name, field.type, field.place) for field in cls._fields)
        cls.numba_type = StructureType(f"{cls.__module__}.{cls.__qualname__}", fields)
        layout, cls._runs = _shapes_of(cls._fields)
        cls._layout = staticmethod(layout)

    def __init__(self) -> None:
        self._words = np.zeros(self._size, np.int64)
        self._numbers = self._words.view(np.float64)
        self.address = self._words.__array_interface__["data"][0]
        self._block, self._begin, self._kept = None, 0, {}

    @classmethod
    def allocate(cls: type[Kind], **dimensions: int) -> Kind:
        """An object whose arrays with a shape are zero, in one block; all else is zero or not set."""
        made = cls()
        made.place_arrays(**dimensions)
        return made

    def place_arrays(self, **dimensions: int) -> None:
        """Place the arrays with a shape, as zeros, in one block."""
        total, values = self._layout(**dimensions)
        block = self._block = np.zeros(total)
        begin = self._begin = block.__array_interface__["data"][0]
        for run, offset, count, first in self._runs:
            run.pack_into(self._words, offset, *values(begin)[first : first + count])

    def __getstate__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds addresses and cannot be copied; set up anew instead")


def _shapes_of(fields: list[Field]) -> tuple[Any, list[tuple[struct.Struct, int, int, int]]]:
    """How to place the arrays that have a shape.

    Returns a function from the dimensions to (words in all, a function from the address of the block to the words
    that describe the arrays), and the runs of neighbouring words among these: (packer, byte, words, first of them).
    """
    names: dict[str, None] = {}
    lines, total, words, runs = [], "0", [], []
    for field in fields:
        if field.shape is None:
            continue
        axes = [f"({axis.strip()})" for axis in field.shape.split(",")]
        names.update(dict.fromkeys(compile(",".join(axes) + ",", "<shape>", "eval").co_names))
        at = len(lines)
        lines.append(f"e{at} = {total}")
        total = f"e{at} + {'*'.join(axes)}" + (f"*{field.item}" if field.item != 1 else "")
        if runs and runs[-1][1] + runs[-1][2] == field.place:
            runs[-1][2] += field.words
        else:
            runs.append([len(words), field.place, field.words])
        words += [f"begin + {WORD} * e{at}", *axes]
    arguments = "".join(f"{name}=0, " for name in names)
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def layout({arguments}**other):\n{body}    return {total}, lambda begin: ({''.join(f'{w}, ' for w in words)})"
    space: dict[str, Any] = {}
    exec(source, space)
    packed = [(struct.Struct(f"{count}q"), WORD * place, count, first) for first, place, count in runs]
    return space["layout"], packed


@typeof_impl.register(Structure)
def _type_of(value: Structure, context: Any) -> StructureType:
    return value.numba_type


@register_model(StructureType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: StructureType) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@unbox(StructureType)
def _unbox(kind: StructureType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    failed = cgutils.is_null(c.builder, address)
    with c.builder.if_else(failed) as (bad, good):
        with bad:
            block_bad = c.builder.basic_block
            from_bad = c.context.get_constant_null(kind)
        with good:
            number = c.pyapi.long_as_longlong(address)
            c.pyapi.decref(address)
            from_good = c.builder.inttoptr(number, c.context.get_value_type(kind))
            block_good = c.builder.basic_block
    pointer = c.builder.phi(c.context.get_value_type(kind))
    pointer.add_incoming(from_bad, block_bad)
    pointer.add_incoming(from_good, block_good)
    return NativeValue(pointer, is_error=failed)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = StructureType

    def generic_resolve(self, kind: StructureType, name: str) -> types.Type | None:
        return kind.by_name[name][0] if name in kind.by_name else None


def _word(context: Any, builder: Any, pointer: Any, place: int) -> Any:
    return builder.gep(pointer, [context.get_constant(types.intp, place)])


@lower_getattr_generic(StructureType)
def _get(context: Any, builder: Any, kind: StructureType, pointer: Any, name: str) -> Any:
    field, place = kind.by_name[name]
    word = _word(context, builder, pointer, place)
    if not isinstance(field, types.Array):
        data_type = context.get_value_type(field)
        if field == types.boolean:
            return builder.trunc(builder.load(word), data_type)
        return builder.load(builder.bitcast(word, data_type.as_pointer()))
    data_pointer = context.get_data_type(field.dtype).as_pointer()
    data = builder.load(builder.bitcast(word, data_pointer.as_pointer()))
    shape = [builder.load(_word(context, builder, pointer, place + 1 + axis)) for axis in range(field.ndim)]
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(field.dtype)))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(field)(context, builder)
    items = shape[0] if field.ndim == 1 else builder.mul(shape[0], shape[1])
    array.data, array.itemsize, array.nitems = data, size, items
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    return array._getvalue()


@lower_setattr_generic(StructureType)
def _set(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    (kind, value_type), (pointer, value) = sig.args, args
    field, place = kind.by_name[name]
    if isinstance(field, (types.Array, StructureType)):
        raise TypeError(f"a kernel may not set {kind.name}.{name}")
    value = context.cast(builder, value, value_type, field)
    word = _word(context, builder, pointer, place)
    if field == types.boolean:
        builder.store(builder.zext(value, ir.IntType(64)), word)
    else:
        builder.store(value, builder.bitcast(word, value.type.as_pointer()))


@lower_cast(StructureType, StructureType)
def _cast(context: Any, builder: Any, came: Any, wanted: Any, pointer: Any) -> Any:
    return pointer
