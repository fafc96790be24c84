"""BLAS and LAPACK of SciPy for compiled kernels.

All matrices are stored by columns in flat float64 arrays: entry (i, j) of the matrix that begins at
`a[a0]` with leading dimension `lda` is `a[a0 + i + j * lda]`.  Vectors are contiguous and begin at `x[x0]`.
Letters are given as the constants below.

    gemm(trans_a, trans_b, m, n, k, alpha, a, a0, lda, b, b0, ldb, beta, c, c0, ldc)
        C := alpha op(A) op(B) + beta C;  op(A) is m by k, op(B) k by n  (sgemm: all arrays of float32)
    syrk(triangle, trans, n, k, alpha, a, a0, lda, beta, c, c0, ldc)
        C := alpha op(A) op(A)' + beta C, the given triangle of the n by n matrix C;  op(A) is n by k
    trsm(side, triangle, trans, diagonal, m, n, alpha, a, a0, lda, b, b0, ldb)
        B := alpha op(A)^-1 B (side LEFT) or alpha B op(A)^-1 (RIGHT);  B is m by n, A triangular
    gemv(trans, m, n, alpha, a, a0, lda, x, x0, beta, y, y0)
        y := alpha op(A) x + beta y;  A is m by n
    symv(triangle, n, alpha, a, a0, lda, x, x0, beta, y, y0)
        y := alpha A x + beta y;  A is n by n and symmetric, given by one triangle
    trsv(triangle, trans, diagonal, n, a, a0, lda, x, x0)
        x := op(A)^-1 x;  A is n by n and triangular
    potrf(triangle, n, a, a0, lda)
        A = L L' (LOWER) or U'U (UPPER), over its triangle;  0, or k where the leading minor of order k is not positive

The machine code of a calling kernel holds the name of the routine; this module binds the name to the address in this
process.  The routines run on as many threads as the caller lets BLAS have (OPENBLAS_NUM_THREADS); the bits of a result
may depend on that number.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import get_cython_function_address
from scipy.linalg import cython_blas, cython_lapack

from .kernels import Callee
from .target import integer_bits

# np.int64, because numba would compile a caller again for every Python integer that is a compile-time constant.
NO_TRANSPOSE, TRANSPOSE = np.int64(ord("N")), np.int64(ord("T"))
LEFT, RIGHT = np.int64(ord("L")), np.int64(ord("R"))
LOWER, UPPER = np.int64(ord("L")), np.int64(ord("U"))
UNIT, NOT_UNIT = np.int64(ord("U")), np.int64(ord("N"))

BYTE, INTEGER = ir.IntType(8), ir.IntType(integer_bits())
C_INTEGER = ctypes.c_int64 if integer_bits() == 64 else ctypes.c_int32


class Routine(Callee):
    """BLAS or LAPACK routine that kernels and Python call.

    Parameters
    ----------
    module : module
        Cython module of SciPy that exports the routine.
    name : str
        Name in the module, with the letter of the precision.
    arguments : str
        Kinds of the arguments in order: c a letter, i an integer, x a number, A a matrix or vector (given as an array
        and the index at which it begins), 1 the increment of a vector (not given), r the integer result (not given).
    """

    def __init__(self, module: Any, name: str, arguments: str) -> None:
        super().__init__(f"centralpath.blas.{name}")
        self.arguments, self.address = arguments, get_cython_function_address(module.__name__, name)
        single = name.startswith("s")
        self.number: Any = types.float32 if single else types.float64
        self.c_number: Any = ctypes.c_float if single else ctypes.c_double
        came = {"c": (types.int64,), "i": (types.int64,), "x": (types.float64,), "A": (self.number[::1], types.int64)}
        self.signature = signature(
            types.int64 if "r" in arguments else types.none, *(kind for a in arguments for kind in came.get(a, ()))
        )
        llvmlite.binding.add_symbol(self.name, self.address)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate a call and return its result; Fortran takes the addresses of all arguments."""
        places, number, given = [], context.get_value_type(self.number), iter(zip(values, self.signature.args))
        for letter in self.arguments:
            if letter == "A":
                (array, kind), (first, _) = next(given), next(given)
                places.append(builder.gep(context.make_array(kind)(context, builder, array).data, [first]))
                continue
            value = INTEGER(1) if letter in "1r" else next(given)[0]
            if letter == "c":
                value = builder.trunc(value, BYTE)
            elif letter == "i" and INTEGER.width < value.type.width:
                value = builder.trunc(value, INTEGER)
            elif letter == "x" and value.type != number:
                value = builder.fptrunc(value, number)
            places.append(cgutils.alloca_once_value(builder, value))
        kind = ir.FunctionType(ir.VoidType(), [place.type for place in places])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, self.name), places)
        if "r" not in self.arguments:
            return context.get_dummy_value()
        answer = builder.load(places[self.arguments.index("r")])
        return builder.sext(answer, ir.IntType(64)) if INTEGER.width < 64 else answer

    def __call__(self, *given: Any) -> Any:
        """Call the routine from Python; return its integer result, or None."""
        boxes = list(self._boxes(iter(given)))
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(boxes))
        kind(self.address)(*(box if isinstance(box, int) else ctypes.addressof(box) for box in boxes))
        return boxes[self.arguments.index("r")].value if "r" in self.arguments else None

    def _boxes(self, given: Iterator[Any]) -> Iterator[Any]:
        """Yield the address of each array, and every other argument in memory of its own."""
        for letter in self.arguments:
            if letter == "A":
                array, first = next(given), next(given)
                yield array.ctypes.data + int(first) * array.itemsize
            elif letter == "c":
                yield ctypes.c_uint8(next(given))
            elif letter == "x":
                yield self.c_number(next(given))
            else:
                yield C_INTEGER(int(next(given)) if letter == "i" else 1)


gemm = Routine(cython_blas, "dgemm", "cciiixAiAixAi")
sgemm = Routine(cython_blas, "sgemm", "cciiixAiAixAi")
syrk = Routine(cython_blas, "dsyrk", "cciixAixAi")
trsm = Routine(cython_blas, "dtrsm", "cccciixAiAi")
gemv = Routine(cython_blas, "dgemv", "ciixAiA1xA1")
symv = Routine(cython_blas, "dsymv", "cixAiA1xA1")
trsv = Routine(cython_blas, "dtrsv", "ccciAiA1")
potrf = Routine(cython_lapack, "dpotrf", "ciAir")
