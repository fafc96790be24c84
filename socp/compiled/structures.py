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

from itertools import accumulate
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

    def __init__(self, numba_type: types.Type, shape: str | None = None, dtype: np.dtype | None = None) -> None:
        self.type, self.shape = numba_type, shape
        if isinstance(numba_type, types.Array):
            self.dtype = as_dtype(numba_type.dtype) if dtype is None else dtype
        self.words = 1 + (numba_type.ndim if isinstance(numba_type, types.Array) else 0)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class NumberField(Field):
    """A float, an int or a bool."""

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        if self.type == types.float64:
            return owner._numbers.item(self.place)
        word = owner._words.item(self.place)
        return bool(word) if self.type == types.boolean else word

    def __set__(self, owner: Any, value: Any) -> None:
        (owner._numbers if self.type == types.float64 else owner._words)[self.place] = value


class ArrayField(Field):
    """An array, kept alive by the structure."""

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        found = owner._kept.get(self.name)
        if found is None:
            found = owner._kept[self.name] = self._view(owner)
        return found

    def _view(self, owner: Any) -> np.ndarray:
        """The array where `allocate` put it."""
        begin, *sizes = owner._words[self.place : self.place + self.words].tolist()
        if owner._block is None:
            raise AttributeError(f"{type(owner).__name__}.{self.name} is not set")
        return np.ndarray(tuple(sizes), self.dtype, owner._block, begin - owner._begin)

    def __set__(self, owner: Any, value: np.ndarray) -> None:
        array = np.ascontiguousarray(value, self.dtype)
        if array.ndim != self.type.ndim:
            raise TypeError(f"{type(owner).__name__}.{self.name} has {self.type.ndim} axes, but {array.ndim} came")
        owner._kept[self.name] = array
        owner._words[self.place] = array.__array_interface__["data"][0]
        owner._words[self.place + 1 : self.place + self.words] = array.shape


class StructureField(Field):
    """Another structure."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._kept[self.name]

    def __set__(self, owner: Any, value: Structure) -> None:
        owner._kept[self.name] = value
        owner._words[self.place] = value.address


def number() -> Any:
    """A float."""
    return NumberField(types.float64)


def integer() -> Any:
    """An int."""
    return NumberField(types.int64)


def flag() -> Any:
    """A bool."""
    return NumberField(types.boolean)


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


def records(dtype: np.dtype) -> Any:
    """A vector of records."""
    return ArrayField(from_dtype(dtype)[::1], None, dtype)


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
        cls._layout = staticmethod(_shapes_of(cls._fields))

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
        sizes = self._layout(**dimensions)
        ends = list(accumulate([size for size, _, _ in sizes], initial=0))
        self._block = np.zeros(ends[-1])
        begin = self._begin = self._block.__array_interface__["data"][0]
        words = self._words
        for (_, place, shape), start in zip(sizes, ends):
            words[place] = begin + WORD * start
            for axis, length in enumerate(shape):
                words[place + 1 + axis] = length

    def __getstate__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds addresses and cannot be copied; set up anew instead")


def _shapes_of(fields: list[Field]) -> Any:
    """A function from the dimensions to (size, word, shape) of each array that has a shape."""
    parts = []
    for field in fields:
        if field.shape is not None:
            axes = [f"({axis})" for axis in field.shape.split(",")]
            parts.append(f"({'*'.join(axes)}, {field.place}, ({', '.join(axes)},))")
    names = compile(f"[{', '.join(parts)}]", "<shapes>", "eval").co_names
    arguments = "".join(f"{name}=0, " for name in names)
    return eval(f"lambda {arguments}**other: [{', '.join(parts)}]")


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
