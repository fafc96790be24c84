"""Linear algebra of `LANES` programs at once: products, and the factors of P + A'WA + diag(w).

A matrix is stored by rows in a flat array.  If programs share it, it is a vector of numbers, which are broadcast when
they are loaded; else it has a lane for each program.  Each function is written once and compiled for both.  Loops run
over `Spans`: all entries of a dense matrix, the band of a banded one.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..compiled.kernels import inner, leaf
from ..compiled.signatures import Floats, Ints, Matrix
from ..compiled.vec import Vec, absolute, largest, load, splat, store
from ..verify.stopping import LOST
from .spans import Spans


def specialized(function: Any, kind: Any, *names: str) -> Any:
    """Return a kernel with the code of `function`, whose arguments `names` have the type `kind`."""
    name = f"{function.__name__[1:]}_{'shared' if kind is Floats else 'own'}"
    made = FunctionType(function.__code__, function.__globals__, name)
    made.__annotations__ = {**function.__annotations__, **dict.fromkeys(names, kind)}
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, name, function.__doc__
    return inner(made)


def _multiply(m: int, n: int, A: Any, first: Ints, end: Ints, x: Matrix, out: Matrix) -> None:
    """out[:m] := A x, four rows at a time; row i has entries in the columns first[i]:end[i] only."""
    i = 0
    while i + 4 <= m:
        a, b, c, d = i * n, i * n + n, i * n + 2 * n, i * n + 3 * n
        t0, t1, t2, t3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(first[i], end[i + 3]):
            v = load(x, j)
            t0 += load(A, a + j) * v
            t1 += load(A, b + j) * v
            t2 += load(A, c + j) * v
            t3 += load(A, d + j) * v
        store(out, i, t0)
        store(out, i + 1, t1)
        store(out, i + 2, t2)
        store(out, i + 3, t3)
        i += 4
    while i < m:
        t0 = splat(0.0)
        for j in range(first[i], end[i]):
            t0 += load(A, i * n + j) * load(x, j)
        store(out, i, t0)
        i += 1


def _multiply_transposed(m: int, n: int, A: Any, first: Ints, end: Ints, v: Matrix, out: Matrix) -> None:
    """out := A'v[:m] + v[m:], four columns at a time; column j has entries in the rows first[j]:end[j] only."""
    j = 0
    while j + 4 <= n:
        t0, t1, t2, t3 = load(v, m + j), load(v, m + j + 1), load(v, m + j + 2), load(v, m + j + 3)
        for i in range(first[j], end[j + 3]):
            a, w = i * n + j, load(v, i)
            t0 += load(A, a) * w
            t1 += load(A, a + 1) * w
            t2 += load(A, a + 2) * w
            t3 += load(A, a + 3) * w
        store(out, j, t0)
        store(out, j + 1, t1)
        store(out, j + 2, t2)
        store(out, j + 3, t3)
        j += 4
    while j < n:
        t0 = load(v, m + j)
        for i in range(first[j], end[j]):
            t0 += load(A, i * n + j) * load(v, i)
        store(out, j, t0)
        j += 1


def _assemble(m: int, n: int, P: Any, A: Any, spans: Spans, w: Matrix, C: Matrix) -> None:
    """C := the lower triangle of P + A' diag(w[:m]) A + diag(w[m:]), in blocks of four rows and two columns."""
    first, end, last = spans.column_first, spans.column_end, spans.end
    for j in range(0, n, 2):
        k = j + 1 if j + 1 < n else j  # A last column without a neighbour is its own partner.
        d00, d10 = load(P, j * n + j) + load(w, m + j), splat(0.0) + load(P, k * n + j)
        d11 = load(P, k * n + k) + load(w, m + k)
        for r in range(first[j], end[k]):
            a0, a1, wr = load(A, r * n + j), load(A, r * n + k), load(w, r)
            w0 = wr * a0
            d00 += w0 * a0
            d10 += w0 * a1
            d11 += wr * a1 * a1
        store(C, k * n + j, d10)
        store(C, k * n + k, d11)
        store(C, j * n + j, d00)
        i = j + 2
        while i + 4 <= n and i < last[k]:
            at = i * n + j
            x0, x1 = splat(0.0) + load(P, at), splat(0.0) + load(P, at + n)
            x2, x3 = splat(0.0) + load(P, at + 2 * n), splat(0.0) + load(P, at + 3 * n)
            y0, y1 = splat(0.0) + load(P, at + 1), splat(0.0) + load(P, at + n + 1)
            y2, y3 = splat(0.0) + load(P, at + 2 * n + 1), splat(0.0) + load(P, at + 3 * n + 1)
            for r in range(first[i], end[k]):
                a, wr = r * n, load(w, r)
                u, v = wr * load(A, a + j), wr * load(A, a + k)
                b0, b1, b2, b3 = load(A, a + i), load(A, a + i + 1), load(A, a + i + 2), load(A, a + i + 3)
                x0 += u * b0
                x1 += u * b1
                x2 += u * b2
                x3 += u * b3
                y0 += v * b0
                y1 += v * b1
                y2 += v * b2
                y3 += v * b3
            store_column(C, at, n, x0, x1, x2, x3)
            store_column(C, at + 1, n, y0, y1, y2, y3)
            i += 4
        while i < last[k]:
            x0, y0 = splat(0.0) + load(P, i * n + j), splat(0.0) + load(P, i * n + k)
            for r in range(first[i], end[k]):
                wa = load(w, r) * load(A, r * n + i)
                x0 += wa * load(A, r * n + j)
                y0 += wa * load(A, r * n + k)
            store(C, i * n + j, x0)
            store(C, i * n + k, y0)
            i += 1


@leaf
def store_column(C: Matrix, at: int, n: int, x0: Vec, x1: Vec, x2: Vec, x3: Vec) -> None:
    """Store four entries of a column of C, from index `at` on."""
    store(C, at, x0)
    store(C, at + n, x1)
    store(C, at + 2 * n, x2)
    store(C, at + 3 * n, x3)


multiply_shared = specialized(_multiply, Floats, "A")
multiply_own = specialized(_multiply, Matrix, "A")
multiply_transposed_shared = specialized(_multiply_transposed, Floats, "A")
multiply_transposed_own = specialized(_multiply_transposed, Matrix, "A")
assemble_shared = specialized(_assemble, Floats, "P", "A")
assemble_own = specialized(_assemble, Matrix, "P", "A")


@inner
def eliminate(n: int, spans: Spans, C: Matrix, T: Matrix, pivots: Matrix) -> None:
    """Factor C = T D T', T unit lower, pivots = 1 / D, and set C := T D below the diagonal, in blocks of 4 by 2."""
    begin, last = spans.begin, spans.end
    for j in range(0, n, 2):
        l = j + 1 if j + 1 < n else j
        d00, d10, d11 = load(C, j * n + j), load(C, l * n + j), load(C, l * n + l)
        least0, least1 = LOST * absolute(d00), LOST * absolute(d11)  # Smaller pivots are rounding errors; raise them.
        for k in range(begin[j], j):
            t0, t1 = load(T, j * n + k), load(T, l * n + k)
            c0, c1 = load(C, j * n + k), load(C, l * n + k)
            d00 -= c0 * t0
            d10 -= c1 * t0
            d11 -= c1 * t1
        p0 = 1.0 / largest(d00, least0)
        t10 = d10 * p0
        p1 = 1.0 / largest(d11 - d10 * t10, least1)
        store(pivots, l, p1)
        store(pivots, j, p0)
        if l > j:
            store(C, l * n + j, d10)
            store(T, l * n + j, t10)
        i = j + 2
        while i + 4 <= n and i < last[l]:
            at = i * n + j
            x0, x1, x2, x3 = load(C, at), load(C, at + n), load(C, at + 2 * n), load(C, at + 3 * n)
            y0, y1, y2, y3 = load(C, at + 1), load(C, at + n + 1), load(C, at + 2 * n + 1), load(C, at + 3 * n + 1)
            for k in range(begin[i], j):
                f0, f1, a = load(T, j * n + k), load(T, l * n + k), i * n + k
                c0, c1, c2, c3 = load(C, a), load(C, a + n), load(C, a + 2 * n), load(C, a + 3 * n)
                x0 -= f0 * c0
                x1 -= f0 * c1
                x2 -= f0 * c2
                x3 -= f0 * c3
                y0 -= f1 * c0
                y1 -= f1 * c1
                y2 -= f1 * c2
                y3 -= f1 * c3
            y0 -= t10 * x0
            y1 -= t10 * x1
            y2 -= t10 * x2
            y3 -= t10 * x3
            store_column(C, at, n, x0, x1, x2, x3)
            store_column(C, at + 1, n, y0, y1, y2, y3)
            store_column(T, at, n, x0 * p0, x1 * p0, x2 * p0, x3 * p0)
            store_column(T, at + 1, n, y0 * p1, y1 * p1, y2 * p1, y3 * p1)
            i += 4
        while i < last[l]:
            x0, y0 = load(C, i * n + j), load(C, i * n + l)
            for k in range(begin[i], j):
                c0 = load(C, i * n + k)
                x0 -= load(T, j * n + k) * c0
                y0 -= load(T, l * n + k) * c0
            y0 -= t10 * x0
            store(C, i * n + j, x0)
            store(C, i * n + l, y0)
            store(T, i * n + j, x0 * p0)
            store(T, i * n + l, y0 * p1)
            i += 1


@inner
def solve(n: int, spans: Spans, T: Matrix, pivots: Matrix, b: Matrix) -> None:
    """b := (T D T')^-1 b, two entries at a time in two sums each, as few operations then wait for others."""
    begin, end = spans.begin, spans.end
    for i in range(0, n, 2):
        l = i + 1 if i + 1 < n else i
        t0, t1, u0, u1, k = load(b, i), splat(0.0), load(b, l), splat(0.0), begin[i]
        while k + 2 <= i:
            b0, b1 = load(b, k), load(b, k + 1)
            t0 -= load(T, i * n + k) * b0
            t1 -= load(T, i * n + k + 1) * b1
            u0 -= load(T, l * n + k) * b0
            u1 -= load(T, l * n + k + 1) * b1
            k += 2
        if k < i:
            b0 = load(b, k)
            t0 -= load(T, i * n + k) * b0
            u0 -= load(T, l * n + k) * b0
        t0 += t1
        if l > i:
            store(b, l, u0 + u1 - load(T, l * n + i) * t0)
        store(b, i, t0)
    for i in range(n - 1, -1, -2):
        l = i - 1 if i > 0 else i
        t0, t1, u0, u1 = load(b, i) * load(pivots, i), splat(0.0), load(b, l) * load(pivots, l), splat(0.0)
        k = i + 1
        while k + 2 <= end[i]:
            b0, b1 = load(b, k), load(b, k + 1)
            t0 -= load(T, k * n + i) * b0
            t1 -= load(T, k * n + n + i) * b1
            u0 -= load(T, k * n + l) * b0
            u1 -= load(T, k * n + n + l) * b1
            k += 2
        if k < end[i]:
            b0 = load(b, k)
            t0 -= load(T, k * n + i) * b0
            u0 -= load(T, k * n + l) * b0
        t0 += t1
        if l < i:
            store(b, l, u0 + u1 - load(T, i * n + l) * t0)
        store(b, i, t0)
