"""Dense linear algebra of `LANES` programs side by side: products, and the factors of P + A'WA + diag(w).

A matrix lies by rows in a flat array.  Where programs share it, it is a vector of numbers, which are broadcast as they
are loaded; else it has a lane for each program.  Each function is written once and compiled for both.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..compiled.kernels import inner
from ..compiled.signatures import Floats, Matrix
from ..compiled.vec import largest, load, splat, store

TINY = 1e-300  # a pivot that is not positive becomes this


def specialized(function: Any, kind: Any, *names: str) -> Any:
    """The function as a kernel of its own whose arguments of these names are of the given kind."""
    name = f"{function.__name__[1:]}_{'shared' if kind is Floats else 'own'}"
    made = FunctionType(function.__code__, function.__globals__, name)
    made.__annotations__ = {**function.__annotations__, **dict.fromkeys(names, kind)}
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, name, function.__doc__
    return inner(made)


def _multiply(m: int, n: int, A: Any, x: Matrix, out: Matrix) -> None:
    """out[:m] := A x, four rows at a time."""
    i = 0
    while i + 4 <= m:
        a, b, c, d = i * n, i * n + n, i * n + 2 * n, i * n + 3 * n
        t0, t1, t2, t3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(n):
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
        for j in range(n):
            t0 += load(A, i * n + j) * load(x, j)
        store(out, i, t0)
        i += 1


def _multiply_transposed(m: int, n: int, A: Any, v: Matrix, out: Matrix) -> None:
    """out := A'v[:m] + v[m:], four columns at a time."""
    j = 0
    while j + 4 <= n:
        t0, t1, t2, t3 = load(v, m + j), load(v, m + j + 1), load(v, m + j + 2), load(v, m + j + 3)
        for i in range(m):
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
        for i in range(m):
            t0 += load(A, i * n + j) * load(v, i)
        store(out, j, t0)
        j += 1


def _factor(m: int, n: int, P: Any, A: Any, w: Matrix, C: Matrix, T: Matrix, pivots: Matrix) -> None:
    """P + A' diag(w[:m]) A + diag(w[m:]) = T D T', T unit lower, C = T D, pivots = 1/D.

    Blocks of four rows and two columns are assembled and eliminated in registers.
    """
    j = 0
    while j < n:
        k1 = j + 1 if j + 1 < n else j  # an odd last column is its own neighbour
        d00, d10, d11 = (
            load(P, j * n + j) + load(w, m + j),
            splat(0.0) + load(P, k1 * n + j),
            load(P, k1 * n + k1) + load(w, m + k1),
        )
        for i in range(m):
            a0, a1, wi = load(A, i * n + j), load(A, i * n + k1), load(w, i)
            w0 = wi * a0
            d00 += w0 * a0
            d10 += w0 * a1
            d11 += wi * a1 * a1
        for k in range(j):
            t0, t1 = load(T, j * n + k), load(T, k1 * n + k)
            c0, c1 = load(C, j * n + k), load(C, k1 * n + k)
            d00 -= c0 * t0
            d10 -= c1 * t0
            d11 -= c1 * t1
        p0 = 1.0 / largest(d00, TINY)
        t10 = d10 * p0
        p1 = 1.0 / largest(d11 - d10 * t10, TINY)
        store(pivots, j, p0)
        if k1 > j:
            store(pivots, k1, p1)
            store(C, k1 * n + j, d10)
            store(T, k1 * n + j, t10)
        i = j + 2
        while i + 4 <= n:
            at = i * n + j
            x0, x1 = splat(0.0) + load(P, at), splat(0.0) + load(P, at + n)
            x2, x3 = splat(0.0) + load(P, at + 2 * n), splat(0.0) + load(P, at + 3 * n)
            y0, y1 = splat(0.0) + load(P, at + 1), splat(0.0) + load(P, at + n + 1)
            y2, y3 = splat(0.0) + load(P, at + 2 * n + 1), splat(0.0) + load(P, at + 3 * n + 1)
            for r in range(m):
                a = r * n
                wr = load(w, r)
                u, v = wr * load(A, a + j), wr * load(A, a + j + 1)
                b0, b1, b2, b3 = load(A, a + i), load(A, a + i + 1), load(A, a + i + 2), load(A, a + i + 3)
                x0 += u * b0
                x1 += u * b1
                x2 += u * b2
                x3 += u * b3
                y0 += v * b0
                y1 += v * b1
                y2 += v * b2
                y3 += v * b3
            for k in range(j):
                f0, f1, a = load(T, j * n + k), load(T, j * n + n + k), i * n + k
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
            store(C, at, x0)
            store(C, at + n, x1)
            store(C, at + 2 * n, x2)
            store(C, at + 3 * n, x3)
            store(C, at + 1, y0)
            store(C, at + n + 1, y1)
            store(C, at + 2 * n + 1, y2)
            store(C, at + 3 * n + 1, y3)
            store(T, at, x0 * p0)
            store(T, at + n, x1 * p0)
            store(T, at + 2 * n, x2 * p0)
            store(T, at + 3 * n, x3 * p0)
            store(T, at + 1, y0 * p1)
            store(T, at + n + 1, y1 * p1)
            store(T, at + 2 * n + 1, y2 * p1)
            store(T, at + 3 * n + 1, y3 * p1)
            i += 4
        while i < n:
            at = i * n + j
            x0, y0 = splat(0.0) + load(P, at), splat(0.0) + load(P, at + 1)
            for r in range(m):
                wa = load(w, r) * load(A, r * n + i)
                x0 += wa * load(A, r * n + j)
                y0 += wa * load(A, r * n + j + 1)
            for k in range(j):
                c0 = load(C, i * n + k)
                x0 -= load(T, j * n + k) * c0
                y0 -= load(T, j * n + n + k) * c0
            y0 -= t10 * x0
            store(C, at, x0)
            store(C, at + 1, y0)
            store(T, at, x0 * p0)
            store(T, at + 1, y0 * p1)
            i += 1
        j += 2


multiply_shared = specialized(_multiply, Floats, "A")
multiply_own = specialized(_multiply, Matrix, "A")
multiply_transposed_shared = specialized(_multiply_transposed, Floats, "A")
multiply_transposed_own = specialized(_multiply_transposed, Matrix, "A")
factor_shared = specialized(_factor, Floats, "P", "A")
factor_own = specialized(_factor, Matrix, "P", "A")


@inner
def solve(n: int, T: Matrix, pivots: Matrix, b: Matrix) -> None:
    """b := (T D T')^-1 b, two entries at a time."""
    for i in range(n):
        t0, t1 = load(b, i), splat(0.0)
        k = 0
        while k + 2 <= i:
            t0 -= load(T, i * n + k) * load(b, k)
            t1 -= load(T, i * n + k + 1) * load(b, k + 1)
            k += 2
        if k < i:
            t0 -= load(T, i * n + k) * load(b, k)
        store(b, i, t0 + t1)
    for i in range(n - 1, -1, -1):
        t0, t1 = load(b, i) * load(pivots, i), splat(0.0)
        k = i + 1
        while k + 2 <= n:
            t0 -= load(T, k * n + i) * load(b, k)
            t1 -= load(T, k * n + n + i) * load(b, k + 1)
            k += 2
        if k < n:
            t0 -= load(T, k * n + i) * load(b, k)
        store(b, i, t0 + t1)
