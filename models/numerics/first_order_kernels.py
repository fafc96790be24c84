"""The perceptron and sub-gradient descent on the hinge loss, compiled; rows as in `models.base.rows`."""

import math

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.compiled.structures import Structure, flag, floats, integer, integers, number, structure
from socp.linalg.vectors import dot_within

from ..base.rows import Rows, add_row, draw, row_times

PATIENCE = 30  # steps without a quarter of the improvement asked for, after which it is halved


class Stochastic(Structure):
    """A method that takes one sample after the other, in random orders.

    delayed : every step times a number that says when it came, for the average of w.
    seen : samples, in all passes.
    """

    rows = structure(Rows)
    y, sizes = floats(), floats()  # the signs, and the factors of the losses
    w, delayed = floats("features"), floats("features")
    order = integers()
    random, seen = integer(), integer()


class Descent(Structure):
    """Steps along d for w, with the least f so far at `best`, of which the next are to be below by `delta`."""

    rows = structure(Rows)
    y, C = floats(), floats()
    w, best, gradient, d = floats("features"), floats("features"), floats("features"), floats("features")
    least, delta, tol = number(), number(), number()
    waited = integer()  # steps since the last good one
    ended = flag()


@kernel
def learn_from_mistakes(state: Stochastic, margin: float, mistakes: Ints) -> float:
    """One pass in a random order, w := w + size y x where y w'x <= margin; returns the mistakes, size by size.

    A step counts in `delayed` as often as samples were seen before it: w - delayed / seen is the average.
    """
    rows, y, w, order = state.rows, state.y, state.w, state.order
    random, seen, found = state.random, state.seen, 0.0
    for k in range(order.size):
        random = draw(order, k, order.size, random)
        i = order[k]
        if y[i] * row_times(rows, i, w) <= margin:
            step = state.sizes[i] * y[i]
            add_row(rows, i, step, w)
            add_row(rows, i, step * seen, state.delayed)
            mistakes[i] += 1
            found += state.sizes[i]
        seen += 1
    state.random, state.seen = random, seen
    return found


@inner
def hinge_at(state: Descent) -> float:
    """f = 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w'x_i), and a sub-gradient; the last weight is not in |w|."""
    rows, y, C, w, gradient = state.rows, state.y, state.C, state.w, state.gradient
    last, value = w.size - 1, 0.0
    for j in range(last):
        value += 0.5 * w[j] * w[j]
        gradient[j] = w[j]
    gradient[last] = 0.0
    for i in range(y.size):
        slack = 1.0 - y[i] * row_times(rows, i, w)
        if slack > 0.0:
            value += C[i] * slack
            add_row(rows, i, -C[i] * y[i], gradient)
    return value


@kernel
def descend_by_polyak(state: Descent, objectives: Floats) -> int:
    """Steps as many as there is room for in `objectives`, fewer where the descent ends; returns how many.

    d := g + (|g| / |d|) d has the same angle with the sub-gradient and with the last direction.
    """
    w, best, gradient, d = state.w, state.best, state.gradient, state.d
    for k in range(objectives.size):
        f = hinge_at(state)
        objectives[k] = f
        state.waited += 1
        if f < state.least:
            if f <= state.least - 0.25 * state.delta:
                state.waited = 0
            for j in range(w.size):
                best[j] = w[j]
            state.least, state.delta = f, min(state.delta, 0.5 * f)  # f >= 0: no target is far below
        length = math.sqrt(dot_within(gradient, 0, gradient, 0, w.size))
        if state.waited > PATIENCE:
            for j in range(w.size):
                w[j] = best[j]
            state.delta *= 0.5
            state.waited = 0
            state.ended = state.delta <= state.tol * max(state.least, 1e-300)
        elif length > 0.0:
            former = math.sqrt(dot_within(d, 0, d, 0, w.size))
            share, squared = (length / former if former > 0.0 else 0.0), 0.0
            for j in range(w.size):
                d[j] = gradient[j] + share * d[j]
                squared += d[j] * d[j]
            if squared > 0.0:
                step = (f - state.least + state.delta) / squared
                for j in range(w.size):
                    w[j] -= step * d[j]
        if state.ended or length == 0.0:
            state.ended = True
            return k + 1
    return objectives.size


@kernel
def descend_by_samples(state: Stochastic, tail: int) -> None:
    """A pass of Pegasos: w := (1 - 1/t) w + (n C_i / t) [y_i w'x_i < 1] y_i x_i, one sample after the other.

    With v = t w it is v := v + n C_i y_i x_i where y_i v'x_i < t: a step costs one row.  The last weight is in |w|.
    t = `seen`.  From t = tail on, `delayed` is the sum of every step of v times sum_{s = tail}^{t} 1/s.
    """
    rows, y, v, order = state.rows, state.y, state.w, state.order
    random, t, harmonic = state.random, state.seen, 0.0
    for s in range(tail, t + 1):
        harmonic += 1.0 / s
    for k in range(order.size):
        random = draw(order, k, order.size, random)
        i = order[k]
        t += 1
        if y[i] * row_times(rows, i, v) < t - 1 or t == 1:
            step = order.size * state.sizes[i] * y[i]
            add_row(rows, i, step, v)
            if t >= tail:
                add_row(rows, i, step * harmonic, state.delayed)
        if t >= tail:
            harmonic += 1.0 / t
    state.random, state.seen = random, t
