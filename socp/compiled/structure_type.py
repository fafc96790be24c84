"""The numba type of a structure: one pointer to its words, and how kernels read and write its fields."""

from __future__ import annotations

from typing import Any

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
    unbox,
)
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate


class StructureType(types.Type):
    """Numba type of a class of structures: its name and its fields (name, type, word)."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type, int], ...]) -> None:
        self.fields = fields
        self.by_name = {field: (kind, place) for field, kind, place in fields}
        super().__init__(name)

    @property
    def key(self) -> Any:
        return self.name, self.fields

    def can_convert_to(self, context: Any, other: types.Type) -> Any:
        """Return a safe conversion if `other` is a structure whose fields this one begins with, else None."""
        if isinstance(other, StructureType) and self.fields[: len(other.fields)] == other.fields:
            return Conversion.safe
        return None


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

    def generic_resolve(self, kind: Any, name: str) -> types.Type | None:  # type: ignore[override]
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
        return builder.load(builder.bitcast(word, data_type.as_pointer()), align=8)  # Vectors are only 8-byte aligned.
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
        builder.store(value, builder.bitcast(word, value.type.as_pointer()), align=8)


@lower_cast(StructureType, StructureType)
def _cast(context: Any, builder: Any, came: Any, wanted: Any, pointer: Any) -> Any:
    return pointer
