"""Numbers of `LANES` programs side by side: a vector of doubles as a type of numba, and what kernels do with it.

LLVM does not vectorize loops over lanes; with a type of its own, arithmetic that is written on numbers compiles to
vector instructions of whatever width the processor has.

    load(a, i)        row i of an array with LANES columns as a Vec; entry i of a vector, which lanes share, as a number
    store(a, i, v)    the other way
    splat(c)          c in every lane
    v[lane]           one of the numbers
    put(v, lane, c)   v with another number in a lane
    + - * /  -v       lane by lane; numbers are the same in every lane
    < > <= >= & |     masks
    select(mask, v, w), largest(v, w), smallest(v, w), absolute(v), root(v)

Products and sums may be fused.  `plain_product`, `plain_sum`, `product_error` and `sum_error` never are: these errors
are exact.  `largest` and `smallest` take the second argument where one is not a number.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic as numba_intrinsic
from numba.core.extending import models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from .kernels import INTERPRETED
from .structures import Field, Structure

LANES = 8  # eight doubles are a register of AVX-512, two of AVX2, four of SSE2: results are the same but for fusing
SPLITTER = 134217729.0  # 2^27 + 1: half of the bits
FUSED, DOUBLE = ("contract", "nsz", "arcp"), ir.DoubleType()


class VecType(types.Type):
    """A vector of doubles, one a lane."""

    def __init__(self) -> None:
        super().__init__(name=f"Vec{LANES}")


class MaskType(types.Type):
    """A truth value for every lane."""

    def __init__(self) -> None:
        super().__init__(name=f"Mask{LANES}")


if TYPE_CHECKING:
    Vec = Any
else:

    class Vec:
        """What kernels are annotated with that take or return a vector."""

        numba_type: VecType


VEC, MASK, WIDE = VecType(), MaskType(), ir.VectorType(DOUBLE, LANES)
Vec.numba_type = VEC


@register_model(VecType)
class _VecModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WIDE)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), LANES))


def _in_all_lanes(builder: Any, value: Any) -> Any:
    nothing, places = ir.Constant(WIDE, ir.Undefined), ir.VectorType(ir.IntType(32), LANES)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(places, [0] * LANES))


def _lanes(context: Any, builder: Any, value: Any, kind: Any) -> Any:
    """The value as a vector, a number in every lane."""
    if kind is VEC:
        return value
    return _in_all_lanes(builder, context.cast(builder, value, kind, types.float64))


def _define_operators(operators: list[Any], result: Any, build: Any) -> None:
    """The operators on two vectors, or a vector and a number."""

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return build(builder, *(_lanes(context, builder, *pair) for pair in zip(arguments, sig.args)))

    for each in operators:

        @infer_global(each)
        class Typed(AbstractTemplate):
            def generic(self, arguments: Any, keywords: Any) -> Any:
                if VEC in arguments and all(kind is VEC or isinstance(kind, types.Number) for kind in arguments):
                    return signature(result, *arguments)
                return None

        if each is operator.neg:
            lower_builtin(each, VecType)(lower)
            continue
        for pair in ((VecType, VecType), (VecType, types.Number), (types.Number, VecType)):
            lower_builtin(each, *pair)(lower)


_define_operators([operator.add, operator.iadd], VEC, lambda b, v, w: b.fadd(v, w, flags=FUSED))
_define_operators([operator.sub, operator.isub], VEC, lambda b, v, w: b.fsub(v, w, flags=FUSED))
_define_operators([operator.mul, operator.imul], VEC, lambda b, v, w: b.fmul(v, w, flags=FUSED))
_define_operators([operator.truediv, operator.itruediv], VEC, lambda b, v, w: b.fdiv(v, w, flags=FUSED))
_define_operators([operator.neg], VEC, lambda b, v: b.fneg(v, flags=FUSED))
_define_operators([operator.lt], MASK, lambda b, v, w: b.fcmp_ordered("<", v, w))
_define_operators([operator.gt], MASK, lambda b, v, w: b.fcmp_ordered(">", v, w))
_define_operators([operator.le], MASK, lambda b, v, w: b.fcmp_ordered("<=", v, w))
_define_operators([operator.ge], MASK, lambda b, v, w: b.fcmp_ordered(">=", v, w))


def _define_mask_operator(each: Any, build: Any) -> None:
    @infer_global(each)
    class Typed(AbstractTemplate):
        def generic(self, arguments: Any, keywords: Any) -> Any:
            return signature(MASK, *arguments) if tuple(arguments) == (MASK, MASK) else None

    lower_builtin(each, MaskType, MaskType)(lambda context, builder, sig, arguments: build(builder, *arguments))


_define_mask_operator(operator.and_, lambda b, v, w: b.and_(v, w))
_define_mask_operator(operator.or_, lambda b, v, w: b.or_(v, w))


def _on_lanes(build: Any) -> Any:
    """The code of a function of vectors or numbers."""

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return build(builder, *(_lanes(context, builder, *pair) for pair in zip(arguments, sig.args)))

    return lower


def _place(context: Any, builder: Any, kinds: Any, array: Any, i: Any) -> Any:
    """The address of row i of a matrix, or of entry i of a vector."""
    kind = kinds[0]
    i = context.cast(builder, i, kinds[1], types.int64)
    if kind.ndim == 1:
        return builder.gep(context.make_array(kind)(context, builder, array).data, [i], inbounds=True)
    row = builder.mul(i, ir.Constant(i.type, LANES))
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [row], inbounds=True)
    return builder.bitcast(first, WIDE.as_pointer())


def intrinsic(function: Any) -> Any:
    """`numba.extending.intrinsic`, of which mypy does not know that it takes an argument less."""
    return numba_intrinsic(function)


@intrinsic
def load(typing, a, i):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, sig.args, *arguments), align=8)

    return (VEC if a.ndim == 2 else types.float64)(a, i), lower


@intrinsic
def store(typing, a, i, v):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        place = _place(context, builder, sig.args, *arguments[:2])
        builder.store(_lanes(context, builder, arguments[2], sig.args[2]), place, align=8)
        return context.get_dummy_value()

    return types.void(a, i, v), lower


@intrinsic
def splat(typing, c):  # type: ignore[no-untyped-def]
    return VEC(c), _on_lanes(lambda b, v: v)


@intrinsic
def put(typing, v, lane, c):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[2], sig.args[2], types.float64)
        return builder.insert_element(
            arguments[0], number, context.cast(builder, arguments[1], sig.args[1], types.int64)
        )

    return VEC(v, lane, c), lower


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        return signature(types.float64, VEC, types.int64) if arguments[0] is VEC else None


@lower_builtin(operator.getitem, VecType, types.int64)
def _item(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return builder.extract_element(*arguments)


@intrinsic
def select(typing, mask, v, w):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        both = (_lanes(context, builder, *pair) for pair in zip(arguments[1:], sig.args[1:]))
        return builder.select(arguments[0], *both)

    return VEC(mask, v, w), lower


@intrinsic
def largest(typing, v, w):  # type: ignore[no-untyped-def]
    return VEC(v, w), _on_lanes(lambda b, v, w: b.select(b.fcmp_ordered(">", v, w), v, w))


@intrinsic
def smallest(typing, v, w):  # type: ignore[no-untyped-def]
    return VEC(v, w), _on_lanes(lambda b, v, w: b.select(b.fcmp_ordered("<", v, w), v, w))


def _call(name: str) -> Any:
    def build(builder: Any, v: Any) -> Any:
        kind = ir.FunctionType(WIDE, [WIDE])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64"), [v])

    return _on_lanes(build)


@intrinsic
def absolute(typing, v):  # type: ignore[no-untyped-def]
    return VEC(v), _call("fabs")


@intrinsic
def root(typing, v):  # type: ignore[no-untyped-def]
    return VEC(v), _call("sqrt")


@intrinsic
def plain_product(typing, v, w):  # type: ignore[no-untyped-def]
    return VEC(v, w), _on_lanes(lambda b, v, w: b.fmul(v, w))


@intrinsic
def plain_sum(typing, v, w):  # type: ignore[no-untyped-def]
    return VEC(v, w), _on_lanes(lambda b, v, w: b.fadd(v, w))


def _halves(b: Any, v: Any) -> tuple[Any, Any]:
    far = b.fmul(_in_all_lanes(b, ir.Constant(DOUBLE, SPLITTER)), v)
    high = b.fsub(far, b.fsub(far, v))
    return high, b.fsub(v, high)


def _product_error(b: Any, v: Any, w: Any, product: Any) -> Any:
    (high_v, low_v), (high_w, low_w) = _halves(b, v), _halves(b, w)
    rest = b.fsub(product, b.fmul(high_v, high_w))
    rest = b.fsub(b.fsub(rest, b.fmul(low_v, high_w)), b.fmul(high_v, low_w))
    return b.fsub(b.fmul(low_v, low_w), rest)


def _sum_error(b: Any, v: Any, w: Any, total: Any) -> Any:
    part = b.fsub(total, v)
    return b.fadd(b.fsub(v, b.fsub(total, part)), b.fsub(w, part))


@intrinsic
def product_error(typing, v, w, product):  # type: ignore[no-untyped-def]
    return VEC(v, w, product), _on_lanes(_product_error)


@intrinsic
def sum_error(typing, v, w, total):  # type: ignore[no-untyped-def]
    return VEC(v, w, total), _on_lanes(_sum_error)


def _interpreted() -> dict[str, Any]:
    """The same without compilation, on NumPy's vectors."""

    def high(v: Any) -> Any:
        return SPLITTER * v - (SPLITTER * v - v)

    def product_error(v: Any, w: Any, product: Any) -> Any:
        high_v, high_w = high(v), high(w)
        low_v, low_w = v - high_v, w - high_w
        return low_v * low_w - (((product - high_v * high_w) - low_v * high_w) - high_v * low_w)

    def sum_error(v: Any, w: Any, total: Any) -> Any:
        part = total - v
        return (v - (total - part)) + (w - part)

    def put(v: Any, lane: int, c: float) -> Any:
        v = v.copy()
        v[lane] = c
        return v

    return {
        "put": put, "load": lambda a, i: a[i].copy() if a.ndim == 2 else float(a[i]), "store": operator.setitem,
        "splat": lambda c: np.full(LANES, float(c)), "select": np.where, "absolute": np.abs, "root": np.sqrt,
        "largest": lambda v, w: np.where(np.greater(v, w), v, w),
        "smallest": lambda v, w: np.where(np.less(v, w), v, w),
        "plain_product": operator.mul, "plain_sum": operator.add, "product_error": product_error,
        "sum_error": sum_error,
    }  # fmt: skip


if INTERPRETED:
    globals().update(_interpreted())


class LaneField(Field):
    """A number for each lane."""

    words = LANES

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._block[self.place : self.place + LANES].copy()

    def __set__(self, owner: Any, value: Any) -> None:
        owner._block[self.place : self.place + LANES] = value


def lane_numbers() -> Any:
    """The field of a structure that kernels have as a vector."""
    return LaneField(VEC)


def lane_rows(rows: int) -> np.ndarray:
    """Zeros of shape (rows, LANES) that begin at a line of the cache."""
    raw = np.zeros(rows * LANES + LANES)
    first = -raw.ctypes.data // raw.itemsize % LANES
    return raw[first : first + rows * LANES].reshape(rows, LANES)


def bind_lanes(owner: Structure, rows: dict[str, int]) -> None:
    """Arrays of so many rows of lanes for the fields of these names, in one block of memory."""
    room, at = lane_rows(sum(rows.values())), 0
    address, kind = room.ctypes.data, type(owner)
    for name, size in rows.items():  # binding each array by itself takes five times as long
        field = getattr(kind, name)
        field._pack(owner._words, room.itemsize * field.place, address + room.itemsize * LANES * at, size, LANES)
        owner._kept[name], at = room[at : at + size], at + size
