"""Mercer kernels between dense samples, compiled: exact ones in float64, and rows in float32 to descend along.

    linear   x'z
    poly     (gamma x'z + coef0)^degree
    rbf      exp(-gamma |x - z|^2)

Products of 32 samples with 512 others at a time come from gemm; the kernel is evaluated while they are in the cache.
For rbf the samples are centred, so that |x|^2 + |z|^2 - 2 x'z cancels as little as possible.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from socp.compiled.blas import NO_TRANSPOSE, TRANSPOSE, sgemm
from socp.compiled.exponential import exponential, smaller
from socp.compiled.kernels import deferred_kernel, inner
from socp.compiled.signatures import Floats, Ints, Matrix, Singles
from socp.compiled.structures import Structure, dimension, floats, integer, matrix, number, singles
from socp.compiled.vec import LANES, load, splat, store
from socp.problem.checks import ProgramError, as_scalar

LINEAR, POLY, RBF = range(3)
NAMES = ("linear", "poly", "rbf")
PARAMETERS: dict[str, tuple[str, float, float]] = {  # (requirement in words, least value, largest value)
    "gamma": ("a finite number of at least 0", 0.0, math.inf),
    "coef0": ("a finite number", -math.inf, math.inf),
    "degree": ("a whole number from 0 to 1000", 0, 1000),
}
SIGMOID = (
    "kernel='sigmoid' is not positive semidefinite: a machine with it has no margin, its program many local minima; "
    "where its matrix on your samples happens to be semidefinite, give lambda A, B: np.tanh(gamma * A @ B.T + coef0)"
)
AT_ONCE, WIDTH = 32, 512  # one product takes AT_ONCE samples times WIDTH samples
PITCH = (
    WIDTH + LANES
)  # distance between the products of two samples: at 4096 bytes they would compete for one set of the cache
FAR = 1e4  # gamma |x|^2 from which its rounding would show in exp(-gamma |x - z|^2)
ZERO = np.float32(0.0)


def check_name(kernel: Any, names: tuple[str, ...] = NAMES) -> None:
    """Raise ProgramError unless `kernel` is a function or one of `names`."""
    if isinstance(kernel, str) and kernel == "sigmoid":
        raise ProgramError(SIGMOID)
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in names):
        raise ProgramError(f"kernel must be one of {', '.join(map(repr, names))} or a function, but {kernel!r} came")


def check_parameter(name: str, value: Any) -> Any:
    """Return a kernel parameter as a float, or as an int if it must be whole; raise ProgramError as `PARAMETERS` says.

    Examples
    --------
    >>> check_parameter("degree", np.float32(2.0))
    2
    """
    (what, low, high), value = PARAMETERS[name], as_scalar(value)
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if is_real else math.nan
    except OverflowError:  # an int beyond the range of float
        number = math.inf
    is_whole = "whole" in what
    if not (low <= number <= high and math.isfinite(number)) or (is_whole and number != round(number)):
        raise ProgramError(f"{name} must be {what}, but {value!r} came")
    return round(number) if is_whole else number


def is_mercer(name: str, coef0: float) -> bool:
    """Return True if the matrices of a kernel with allowed parameters are positive semidefinite."""
    return name in ("linear", "rbf") or (name == "poly" and coef0 >= 0.0)


def check_range(x: np.ndarray, name: str, gamma: float, coef0: float, degree: int) -> None:
    """Raise ProgramError if the kernel of two samples, or a term of it, may exceed the range of double precision."""
    with np.errstate(over="ignore"):
        square = np.einsum("ij,ij->i", x, x).max(initial=0.0)
        largest = square
        if name == "poly":
            largest = (gamma * square + abs(coef0)) ** degree + gamma * square
        elif name == "rbf":
            largest = 4.0 * gamma * max(square, 1.0) + square
    if not np.isfinite(largest):
        raise ProgramError(
            f"samples are too large for kernel={name!r}, gamma={gamma:g}, coef0={coef0:g}, degree={degree}"
        )


class Samples(Structure):
    """Dense samples and their kernel."""

    count, features = dimension(), dimension()
    name = integer()  # LINEAR, POLY or RBF
    gamma, coef0, degree = number(), number(), integer()
    x, squares = floats(), floats()  # samples by rows; |x_i|^2
    x32, squares32 = singles(), singles()
    lanes = matrix("(count + 7) // 8 * features, 8")  # feature f of samples 8 t, 8 t + 1, ... in row t * features + f
    rows, powers = floats("32 * features"), floats("512")
    products, product_lanes = floats(), matrix()  # inner products of `rows` and WIDTH samples; two views of one array
    rows32, products32, powers32 = singles(), singles(), singles()


def samples_of(x: np.ndarray, name: str, gamma: float, coef0: float, degree: int, centred: bool = False) -> Samples:
    """Return the `Samples` of x, shape (count, features); for rbf the mean is subtracted unless x is `centred`.

    Where a few samples are so far that the others lose their digits about the mean, the median is subtracted.
    """
    count, features = x.shape
    if name == "rbf" and not centred:
        near = x - x.mean(axis=0)
        is_far = gamma * float(np.einsum("ij,ij->i", near, near).max(initial=0.0)) > FAR
        x = x - np.median(x, axis=0) if is_far else near
    x = np.ascontiguousarray(x, np.float64)
    found = Samples(count=count, features=features)
    found.name, found.gamma, found.coef0, found.degree = NAMES.index(name), gamma, coef0, degree
    found.x, found.squares = x.reshape(-1), np.einsum("ij,ij->i", x, x)
    lanes, whole = found.lanes.reshape(-1, features, LANES).swapaxes(1, 2), count - count % LANES
    lanes[: whole // LANES] = x[:whole].reshape(-1, LANES, features)
    lanes[whole // LANES :, : count - whole] = x[whole:]
    found.product_lanes = np.zeros((AT_ONCE * PITCH // LANES, LANES))
    found.products = found.product_lanes.reshape(-1)
    found.rows32, found.products32 = np.zeros(AT_ONCE * features, np.float32), np.zeros(AT_ONCE * PITCH, np.float32)
    found.powers32 = np.zeros(WIDTH, np.float32)
    return found


def add_singles(samples: Samples) -> None:
    """Add float32 copies of the samples, which `fill_singles` needs."""
    samples.x32, samples.squares32 = samples.x.astype(np.float32), samples.squares.astype(np.float32)


@inner
def from_products(samples: Samples, s: Floats, powers: Floats, squares: Floats, own: float) -> None:
    """Replace the inner products s of a sample with |x|^2 = `own` and other samples by kernel values."""
    gamma = samples.gamma
    if samples.name == RBF:
        double = 2.0 * gamma
        for c in range(s.size):
            s[c] = exponential(smaller(double * s[c] - gamma * (squares[c] + own), 0.0))
    elif samples.name == POLY:
        coef0, degree = samples.coef0, samples.degree
        for c in range(s.size):
            powers[c] = gamma * s[c] + coef0
            s[c] = 1.0
        for _ in range(degree):
            for c in range(s.size):
                s[c] *= powers[c]


@inner
def from_single_products(samples: Samples, s: Singles, powers: Singles, squares: Singles, own: np.float32) -> None:
    """Evaluate the kernel from float32 inner products; see `from_products`."""
    gamma = np.float32(samples.gamma)
    if samples.name == RBF:
        double = gamma + gamma
        for c in range(s.size):
            s[c] = exponential(smaller(double * s[c] - gamma * (squares[c] + own), ZERO))
    elif samples.name == POLY:
        coef0, degree = np.float32(samples.coef0), samples.degree
        for c in range(s.size):
            powers[c] = gamma * s[c] + coef0
            s[c] = np.float32(1.0)
        for _ in range(degree):
            for c in range(s.size):
                s[c] *= powers[c]


@inner
def multiply_four(samples: Samples, tile: int, first: int, out: int) -> None:
    """Write x_i'x_j to `product_lanes` for four samples i of `rows` and the samples j of a tile."""
    d, rows, lanes, found = samples.features, samples.rows, samples.lanes, samples.product_lanes
    a, b, c, e = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    begin, i = tile * d, first * d
    j, k, l = i + d, i + 2 * d, i + 3 * d
    for f in range(d):
        x = load(lanes, begin + f)
        a += rows[i + f] * x
        b += rows[j + f] * x
        c += rows[k + f] * x
        e += rows[l + f] * x
    store(found, out, a)
    store(found, out + PITCH // LANES, b)
    store(found, out + 2 * (PITCH // LANES), c)
    store(found, out + 3 * (PITCH // LANES), e)


@inner
def kernel_tile(samples: Samples, which: Ints, first: int, count: int, begin: int, end: int) -> None:
    """products[r * PITCH + c] := k(x_i, x_(begin+c)) with i = which[first + r], r < count; `rows` hold the x_i."""
    width = end - begin
    for tile in range((width + LANES - 1) // LANES):
        for r in range(0, count, 4):
            multiply_four(samples, begin // LANES + tile, r, r * (PITCH // LANES) + tile)
    for r in range(count):
        from_products(
            samples, samples.products[r * PITCH : r * PITCH + width], samples.powers, samples.squares[begin:end],
            samples.squares[which[first + r]],
        )  # fmt: skip


@inner
def gather(samples: Samples, which: Ints, first: int, count: int) -> None:
    """Copy the samples which[first:first + count] to `rows`."""
    d, lanes, rows = samples.features, samples.lanes, samples.rows
    for r in range(count):
        begin, lane = which[first + r] // LANES * d, which[first + r] % LANES
        for f in range(d):
            rows[r * d + f] = lanes[begin + f, lane]


@deferred_kernel
def add_expansion(samples: Samples, which: Ints, coefficients: Floats, out: Floats) -> None:
    """out_i += sum_r coefficients_r k(x_which(r), x_i) for all samples i."""
    n = samples.count
    for first in range(0, which.size, AT_ONCE):
        count = min(AT_ONCE, which.size - first)
        gather(samples, which, first, count)
        for begin in range(0, n, WIDTH):
            end = min(n, begin + WIDTH)
            kernel_tile(samples, which, first, count, begin, end)
            for r in range(count):
                share, s = coefficients[first + r], samples.products[r * PITCH :]
                for c in range(end - begin):
                    out[begin + c] += share * s[c]


@deferred_kernel
def make_rows(samples: Samples, size: int, which: Ints, total: int, places: Ints, out: Matrix) -> None:
    """out[places[r], i] := k(x_which(r), x_i) for r < total and i < size, and 0 for i >= size."""
    for first in range(0, total, AT_ONCE):
        count = min(AT_ONCE, total - first)
        gather(samples, which, first, count)
        for begin in range(0, size, WIDTH):
            end = min(size, begin + WIDTH)
            kernel_tile(samples, which, first, count, begin, end)
            for r in range(count):
                row = out[places[first + r]]
                for c in range(end - begin):
                    row[begin + c] = samples.products[r * PITCH + c]
        for r in range(count):
            row = out[places[first + r]]
            for c in range(size, row.size):
                row[c] = 0.0


@deferred_kernel
def fill_gram(samples: Samples, out: Matrix) -> None:
    """out[i, j] := k(x_i, x_j), exactly symmetric."""
    n, which = samples.count, np.arange(samples.count)
    for first in range(0, n, AT_ONCE):
        count = min(AT_ONCE, n - first)
        gather(samples, which, first, count)
        for begin in range(first, n, WIDTH):
            end = min(n, begin + WIDTH)
            kernel_tile(samples, which, first, count, begin, end)
            for r in range(count):
                row = out[first + r]
                for c in range(end - begin):
                    row[begin + c] = samples.products[r * PITCH + c]
            for c in range(end - begin):
                column = out[begin + c]
                for r in range(min(count, begin + c - first)):
                    column[first + r] = samples.products[r * PITCH + c]
    if samples.name == RBF:
        for i in range(n):
            out[i, i] = 1.0


@inner
def fill_singles(samples: Samples, which: Ints, count: int, places: Ints, out: Singles) -> None:
    """out[places[r] * n + i] := k(x_which(r), x_i) in float32, for at most AT_ONCE rows r < count and all samples i."""
    n, d, x, rows = samples.count, samples.features, samples.x32, samples.rows32
    for r in range(count):
        for f in range(d):
            rows[r * d + f] = x[which[r] * d + f]
    for begin in range(0, n, WIDTH):
        end = min(n, begin + WIDTH)
        sgemm(
            TRANSPOSE, NO_TRANSPOSE, end - begin, count, d, 1.0, x, begin * d, d, rows, 0, d, 0.0, samples.products32,
            0, PITCH,
        )  # fmt: skip
        for r in range(count):
            s = samples.products32[r * PITCH : r * PITCH + end - begin]
            from_single_products(
                samples, s, samples.powers32, samples.squares32[begin:end], samples.squares32[which[r]]
            )
            row = out[places[r] * n + begin : places[r] * n + end]
            for c in range(row.size):
                row[c] = s[c]
