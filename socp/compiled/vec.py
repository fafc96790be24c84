"""Vectors of `LANES` doubles, one for each of several programs, as a type of numba, and their operations.

LLVM does not vectorize loops over lanes.  With this type, arithmetic that is written for numbers compiles to vector
instructions of any width that the processor has.  A number in an operation with vectors has its value in every lane.

    load(a, i)        row i of an array with LANES columns as a Vec; entry i of a vector, which lanes share, as a number
    store(a, i, v)    write v to row i
    splat(c)          c in every lane
    v[lane]           one of the numbers
    put(v, lane, c)   v with c in one lane
    + - * /  -v       lane by lane
    < > <= >= & |     masks
    select(mask, v, w), largest(v, w), smallest(v, w), absolute(v), root(v)

Products and sums may be fused.  `largest` and `smallest` return the second argument where one is NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic as numba_intrinsic
from numba.core.extending import lower_cast, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from .kernels import INTERPRETED, Callee
from .structures import Field, Structure

LANES = 8  # doubles in a vector: 1 register of AVX-512, 2 of AVX2, 4 of SSE2; results differ only by fusing
FUSED, DOUBLE = ("contract", "nsz", "arcp"), ir.DoubleType()
WIDE = ir.VectorType(DOUBLE, LANES)


class LanesType(types.Type):
    """Numba type of a vector with one double, or one truth value, per lane."""

    def __init__(self, name: str, wide: Any) -> None:
        self.wide = wide
        super().__init__(name=f"{name}{LANES}")

    def can_convert_from(self, context: Any, other: types.Type) -> Any:
        """Return a safe conversion from any number to a vector, else None."""
        return Conversion.safe if self is VEC and isinstance(other, types.Number) else None


if TYPE_CHECKING:
    Vec = Any
else:

    class Vec:
        """Annotation of vectors among the arguments and results of kernels."""

        numba_type: LanesType


VEC, MASK = LanesType("Vec", WIDE), LanesType("Mask", ir.VectorType(ir.IntType(1), LANES))
Vec.numba_type = VEC


@register_model(LanesType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.wide)


@lower_cast(types.Number, LanesType)
def _in_all_lanes(context: Any, builder: Any, came: Any, wanted: Any, value: Any) -> Any:
    value = context.cast(builder, value, came, types.float64)
    nothing, places = ir.Constant(WIDE, ir.Undefined), ir.VectorType(ir.IntType(32), LANES)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(places, [0] * LANES))


def _define(operators: list[Any], kind: types.Type, result: types.Type, build: Callable[..., Any]) -> None:
    """Define operators on vectors (numbers among them are broadcast) or on masks."""

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    for each in operators:

        @infer_global(each)
        class Typed(AbstractTemplate):
            def generic(self, arguments: Any, keywords: Any) -> Any:
                if kind in arguments and all(self.context.can_convert(came, kind) is not None for came in arguments):
                    return signature(result, *[kind] * len(arguments))
                return None

        lower_builtin(each, *[kind] * (1 if each is operator.neg else 2))(lower)


_define([operator.add, operator.iadd], VEC, VEC, lambda b, v, w: b.fadd(v, w, flags=FUSED))
_define([operator.sub, operator.isub], VEC, VEC, lambda b, v, w: b.fsub(v, w, flags=FUSED))
_define([operator.mul, operator.imul], VEC, VEC, lambda b, v, w: b.fmul(v, w, flags=FUSED))
_define([operator.truediv, operator.itruediv], VEC, VEC, lambda b, v, w: b.fdiv(v, w, flags=FUSED))
_define([operator.neg], VEC, VEC, lambda b, v: b.fneg(v, flags=FUSED))
_define([operator.lt], VEC, MASK, lambda b, v, w: b.fcmp_ordered("<", v, w))
_define([operator.gt], VEC, MASK, lambda b, v, w: b.fcmp_ordered(">", v, w))
_define([operator.le], VEC, MASK, lambda b, v, w: b.fcmp_ordered("<=", v, w))
_define([operator.ge], VEC, MASK, lambda b, v, w: b.fcmp_ordered(">=", v, w))
_define([operator.and_], MASK, MASK, lambda b, v, w: b.and_(v, w))
_define([operator.or_], MASK, MASK, lambda b, v, w: b.or_(v, w))


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        return signature(types.float64, VEC, types.int64) if arguments[0] is VEC else None


@lower_builtin(operator.getitem, VEC, types.int64)
def _item(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return builder.extract_element(*arguments)


class Operation(Callee):
    """Function of vectors: `build` generates instructions, `plain` computes on arrays if nothing is compiled."""

    def __init__(self, name: str, arguments: tuple[types.Type, ...], build: Any, plain: Any) -> None:
        super().__init__(f"centralpath.vec.{name}")
        self.signature, self.build, self.plain = signature(VEC, *arguments), build, plain

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate the instructions and return their result."""
        return self.build(builder, *values)

    def __call__(self, *given: Any) -> Any:
        """Compute the function on arrays."""
        return self.plain(*given)


def _llvms(name: str) -> Callable[[Any, Any], Any]:
    def build(builder: Any, v: Any) -> Any:
        kind = ir.FunctionType(WIDE, [WIDE])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64"), [v])

    return build


def _put(v: Any, lane: int, c: float) -> Any:
    v = v.copy()
    v[lane] = c
    return v


ONE, TWO = (VEC,), (VEC, VEC)
splat: Any = Operation("splat", ONE, lambda b, v: v, lambda c: np.full(LANES, float(c)))
put: Any = Operation("put", (VEC, types.int64, types.float64), lambda b, v, lane, c: b.insert_element(v, c, lane), _put)
select: Any = Operation("select", (MASK, VEC, VEC), lambda b, mask, v, w: b.select(mask, v, w), np.where)
largest: Any = Operation(
    "largest", TWO, lambda b, v, w: b.select(b.fcmp_ordered(">", v, w), v, w),
    lambda v, w: np.where(np.greater(v, w), v, w),
)  # fmt: skip
smallest: Any = Operation(
    "smallest", TWO, lambda b, v, w: b.select(b.fcmp_ordered("<", v, w), v, w),
    lambda v, w: np.where(np.less(v, w), v, w),
)  # fmt: skip
absolute: Any = Operation("absolute", ONE, _llvms("fabs"), np.abs)
root: Any = Operation("root", ONE, _llvms("sqrt"), np.sqrt)


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """Return the address of row i of a matrix, or of entry i of a vector."""
    if kind.ndim == 1:
        return builder.gep(context.make_array(kind)(context, builder, array).data, [i], inbounds=True)
    row = builder.mul(i, ir.Constant(i.type, LANES))
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [row], inbounds=True)
    return builder.bitcast(first, WIDE.as_pointer())


intrinsic: Any = numba_intrinsic  # mypy does not know that a call takes an argument less


@intrinsic
def load(typing, a, i):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, sig.args[0], *arguments), align=8)

    return (VEC if a.ndim == 2 else types.float64)(a, types.int64), lower


@intrinsic
def store(typing, a, i, v):  # type: ignore[no-untyped-def]
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(context, builder, sig.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(a, types.int64, VEC), lower


if INTERPRETED:

    def load(a: Any, i: int) -> Any:
        return a[i].copy() if a.ndim == 2 else float(a[i])

    store = operator.setitem


class LaneField(Field):
    """Field with one number per lane."""

    words = LANES

    def __get__(self, owner: Any, kind: type) -> Any:
        return self if owner is None else owner._block[self.place : self.place + LANES].copy()

    def __set__(self, owner: Any, value: Any) -> None:
        owner._block[self.place : self.place + LANES] = value


def lane_numbers() -> Any:
    """Return a field of a structure with one number per lane, which kernels read as a vector."""
    return LaneField(VEC)


def lane_rows(rows: int) -> np.ndarray:
    """Return zeros of shape (rows, LANES) that begin at a cache line."""
    raw = np.zeros(rows * LANES + LANES)
    first = -raw.ctypes.data // raw.itemsize % LANES
    return raw[first : first + rows * LANES].reshape(rows, LANES)


def bind_lanes(owner: Structure, rows: dict[str, int]) -> None:
    """Allocate arrays of shape (rows[name], LANES) in one block of memory and bind them to the fields `name`."""
    memory, at = lane_rows(sum(rows.values())), 0
    address, kind = memory.ctypes.data, type(owner)
    for name, size in rows.items():  # Binding arrays one by one takes five times as long.
        field = getattr(kind, name)
        field._pack(owner._words, memory.itemsize * field.place, address + memory.itemsize * LANES * at, size, LANES)
        owner._kept[name], at = memory[at : at + size], at + size
