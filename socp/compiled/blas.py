"""BLAS and LAPACK of SciPy for compiled kernels.

All matrices are stored by columns in flat float64 arrays: entry (i, j) of the matrix that begins at
`a[a0]` with leading dimension `lda` is `a[a0 + i + j * lda]`.  Letters are given as the constants below.

    gemm   C := alpha op(A) op(B) + beta C  (sgemm: in float32)   syrk   C := alpha op(A) op(A)' + beta C, one triangle
    trsm   B := alpha op(A)^-1 B  or  alpha B op(A)^-1   trsv   x := op(A)^-1 x
    gemv   y := alpha op(A) x + beta y                  symv   y := alpha A x + beta y, A symmetric, one triangle
    potrf  A = L L' or U'U, one triangle, returns LAPACK's info

A kernel that calls them keeps its place in numba's cache: the machine code holds the name of the routine,
which is bound here to its address in this process.  The routines run on as many threads as the caller lets
BLAS have (OPENBLAS_NUM_THREADS); the bits of a result may depend on that number.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from numba.core import cgutils, config, types
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import cython_blas, cython_lapack

from .blas_integers import integer_bits
from .kernels import deferred
from .signatures import Floats, Singles

# int64, as numba would compile a routine once more for each Python integer that is known when it compiles
NO_TRANSPOSE, TRANSPOSE = np.int64(ord("N")), np.int64(ord("T"))
LEFT, RIGHT = np.int64(ord("L")), np.int64(ord("R"))
LOWER, UPPER = np.int64(ord("L")), np.int64(ord("U"))
UNIT, NOT_UNIT = np.int64(ord("U")), np.int64(ord("N"))


_INTEGER = types.int64 if integer_bits() == 64 else types.int32
_letters, _integers, _reals = types.CPointer(types.uint8), types.CPointer(_INTEGER), types.CPointer(types.float64)
_singles = types.CPointer(types.float32)


def _external(module: Any, routine: str, arguments: str) -> Any:
    """The routine as numba calls it; `arguments` has a letter for each: c(har), i(nteger), d(ouble), s(ingle)."""
    symbol = f"centralpath.blas.{routine}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(module.__name__, routine))
    pointer = {"c": _letters, "i": _integers, "d": _reals, "s": _singles}
    return types.ExternalFunction(symbol, types.void(*(pointer[a] for a in arguments)))


def _reference_to(blas_type: Any) -> Any:
    """The intrinsic that puts a number on the stack and returns its address, as Fortran wants it."""

    @intrinsic
    def reference(typing_context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            cast = context.cast(builder, arguments[0], signature.args[0], blas_type)
            return cgutils.alloca_once_value(builder, cast)

        return types.CPointer(blas_type)(value), generate

    return reference


_letter, _integer, _real = _reference_to(types.uint8), _reference_to(_INTEGER), _reference_to(types.float64)
_single = _reference_to(types.float32)


@intrinsic
def _address(typing_context, array, index):  # type: ignore[no-untyped-def]
    """The address of array[index]."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return builder.gep(data, [offset])

    return types.CPointer(array.dtype)(array, index), generate


_at: Any = _address


@intrinsic
def _value(typing_context, pointer):  # type: ignore[no-untyped-def]
    """The integer at an address."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return context.cast(builder, builder.load(arguments[0]), _INTEGER, types.int64)

    return types.int64(pointer), generate


_dgemm = _external(cython_blas, "dgemm", "cciiiddididdi")
_sgemm = _external(cython_blas, "sgemm", "cciiissisissi")
_dsyrk = _external(cython_blas, "dsyrk", "cciiddiddi")
_dtrsm = _external(cython_blas, "dtrsm", "cccciiddidi")
_dgemv = _external(cython_blas, "dgemv", "ciiddididdi")
_dsymv = _external(cython_blas, "dsymv", "ciddididdi")
_dtrsv = _external(cython_blas, "dtrsv", "cccididi")
_dpotrf = _external(cython_lapack, "dpotrf", "cidii")


@deferred
def gemm(
    trans_a: int,
    trans_b: int,
    m: int,
    n: int,
    k: int,
    alpha: float,
    a: Floats,
    a0: int,
    lda: int,
    b: Floats,
    b0: int,
    ldb: int,
    beta: float,
    c: Floats,
    c0: int,
    ldc: int,
) -> None:
    """C := alpha op(A) op(B) + beta C;  op(A) is m by k, op(B) k by n."""
    _dgemm(
        _letter(trans_a), _letter(trans_b), _integer(m), _integer(n), _integer(k), _real(alpha), _at(a, a0),
        _integer(lda), _at(b, b0), _integer(ldb), _real(beta), _at(c, c0), _integer(ldc),
    )  # fmt: skip


@deferred
def sgemm(
    trans_a: int,
    trans_b: int,
    m: int,
    n: int,
    k: int,
    alpha: float,
    a: Singles,
    a0: int,
    lda: int,
    b: Singles,
    b0: int,
    ldb: int,
    beta: float,
    c: Singles,
    c0: int,
    ldc: int,
) -> None:
    """`gemm` in float32."""
    _sgemm(
        _letter(trans_a), _letter(trans_b), _integer(m), _integer(n), _integer(k), _single(alpha), _at(a, a0),
        _integer(lda), _at(b, b0), _integer(ldb), _single(beta), _at(c, c0), _integer(ldc),
    )  # fmt: skip


@deferred
def syrk(
    triangle: int,
    trans: int,
    n: int,
    k: int,
    alpha: float,
    a: Floats,
    a0: int,
    lda: int,
    beta: float,
    c: Floats,
    c0: int,
    ldc: int,
) -> None:
    """C := alpha op(A) op(A)' + beta C, the given triangle of the n by n matrix C;  op(A) is n by k."""
    _dsyrk(
        _letter(triangle), _letter(trans), _integer(n), _integer(k), _real(alpha), _at(a, a0), _integer(lda),
        _real(beta), _at(c, c0), _integer(ldc),
    )  # fmt: skip


@deferred
def trsm(
    side: int,
    triangle: int,
    trans: int,
    diagonal: int,
    m: int,
    n: int,
    alpha: float,
    a: Floats,
    a0: int,
    lda: int,
    b: Floats,
    b0: int,
    ldb: int,
) -> None:
    """B := alpha op(A)^-1 B (side LEFT) or alpha B op(A)^-1 (RIGHT);  B is m by n, A triangular."""
    _dtrsm(
        _letter(side), _letter(triangle), _letter(trans), _letter(diagonal), _integer(m), _integer(n), _real(alpha),
        _at(a, a0), _integer(lda), _at(b, b0), _integer(ldb),
    )  # fmt: skip


@deferred
def gemv(
    trans: int,
    m: int,
    n: int,
    alpha: float,
    a: Floats,
    a0: int,
    lda: int,
    x: Floats,
    x0: int,
    beta: float,
    y: Floats,
    y0: int,
) -> None:
    """y := alpha op(A) x + beta y;  A is m by n, x and y contiguous."""
    _dgemv(
        _letter(trans), _integer(m), _integer(n), _real(alpha), _at(a, a0), _integer(lda), _at(x, x0), _integer(1),
        _real(beta), _at(y, y0), _integer(1),
    )  # fmt: skip


@deferred
def symv(
    triangle: int,
    n: int,
    alpha: float,
    a: Floats,
    a0: int,
    lda: int,
    x: Floats,
    x0: int,
    beta: float,
    y: Floats,
    y0: int,
) -> None:
    """y := alpha A x + beta y;  A is symmetric, given by one triangle, x and y contiguous."""
    _dsymv(
        _letter(triangle), _integer(n), _real(alpha), _at(a, a0), _integer(lda), _at(x, x0), _integer(1), _real(beta),
        _at(y, y0), _integer(1),
    )  # fmt: skip


@deferred
def trsv(triangle: int, trans: int, diagonal: int, n: int, a: Floats, a0: int, lda: int, x: Floats, x0: int) -> None:
    """x := op(A)^-1 x;  A is n by n triangular, x contiguous."""
    _dtrsv(
        _letter(triangle), _letter(trans), _letter(diagonal), _integer(n), _at(a, a0), _integer(lda), _at(x, x0),
        _integer(1),
    )  # fmt: skip


@deferred
def potrf(triangle: int, n: int, a: Floats, a0: int, lda: int) -> int:
    """Cholesky factor of A over its triangle, A = L L' (LOWER) or U'U (UPPER).

    Returns 0, or k > 0 when the leading minor of order k is not positive.
    """
    info = _integer(0)
    _dpotrf(_letter(triangle), _integer(n), _at(a, a0), _integer(lda), info)
    return _value(info)  # type: ignore[call-arg, no-any-return]


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    from . import blas_interpreted as interpreted

    gemm, sgemm, syrk, trsm = interpreted.gemm, interpreted.sgemm, interpreted.syrk, interpreted.trsm
    gemv, symv, trsv, potrf = interpreted.gemv, interpreted.symv, interpreted.trsv, interpreted.potrf
