"""The perceptron and sub-gradient descent on the hinge loss, compiled; rows as in `models.svm.coordinate_descent`."""

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints

from .coordinate_descent import add_row, next_random, row_times

PATIENCE = 200  # steps without the improvement asked for, after which it is halved


@kernel
def learn_from_mistakes(
    indptr: Ints, indices: Ints, values: Floats, bias: float, y: Floats, sizes: Floats, margin: float,
    w: Floats, delayed: Floats, mistakes: Ints, order: Ints, random: Ints,
) -> int:  # fmt: skip
    """One pass in a random order, w := w + size y x where y w'x <= margin; returns the number of mistakes.

    delayed: the sum of every step times the number of samples seen before it, w - delayed / seen is the average.
    random: the state, and how many samples were seen in all passes.
    """
    state, seen, found = random[0], random[1], 0
    for k in range(order.size):
        state = next_random(state)
        other = k + (state >> 32) % (order.size - k)
        order[k], order[other] = order[other], order[k]
        i = order[k]
        if y[i] * row_times(indptr, indices, values, bias, i, w) <= margin:
            step = sizes[i] * y[i]
            add_row(indptr, indices, values, bias, i, step, w)
            add_row(indptr, indices, values, bias, i, step * seen, delayed)
            mistakes[i] += 1
            found += 1
        seen += 1
    random[0], random[1] = state, seen
    return found


@inner
def hinge_at(
    indptr: Ints, indices: Ints, values: Floats, bias: float, y: Floats, C: Floats, w: Floats, gradient: Floats
) -> float:
    """1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w'x_i), and a sub-gradient; the last weight is not in |w|."""
    last, value = w.size - 1, 0.0
    for j in range(last):
        value += 0.5 * w[j] * w[j]
        gradient[j] = w[j]
    gradient[last] = 0.0
    for i in range(y.size):
        slack = 1.0 - y[i] * row_times(indptr, indices, values, bias, i, w)
        if slack > 0.0:
            value += C[i] * slack
            add_row(indptr, indices, values, bias, i, -C[i] * y[i], gradient)
    return value


@kernel
def descend_by_polyak(
    indptr: Ints, indices: Ints, values: Floats, bias: float, y: Floats, C: Floats, tol: float, w: Floats,
    best: Floats, gradient: Floats, state: Floats, objectives: Floats,
) -> int:  # fmt: skip
    """Steps as many as there is room for in `objectives`, fewer where the descent ends; returns how many.

    state: the best value, delta, the steps since the last good one, and 1 once the descent has ended.
    """
    for k in range(objectives.size):
        f = hinge_at(indptr, indices, values, bias, y, C, w, gradient)
        objectives[k] = f
        if not np.isfinite(state[1]):
            state[1] = 0.5 * f
        state[2] += 1.0
        if f < state[0]:
            if f <= state[0] - 0.5 * state[1]:
                state[2] = 0.0
            for j in range(w.size):
                best[j] = w[j]
            state[0] = f
        if state[2] > PATIENCE:
            for j in range(w.size):
                w[j] = best[j]
            state[1] *= 0.5
            state[2] = 0.0
            if state[1] <= tol * max(state[0], 1e-300):
                state[3] = 1.0
                return k + 1
            continue
        length = 0.0
        for j in range(gradient.size):
            length += gradient[j] * gradient[j]
        if length == 0.0:
            state[3] = 1.0
            return k + 1
        step = (f - state[0] + state[1]) / length
        for j in range(w.size):
            w[j] -= step * gradient[j]
    return objectives.size


@kernel
def descend_by_samples(
    indptr: Ints, indices: Ints, values: Floats, bias: float, y: Floats, C: Floats, tail: int, w: Floats,
    delayed: Floats, order: Ints, random: Ints,
) -> None:  # fmt: skip
    """A pass of Pegasos: w := (1 - 1/t) w + (n C_i / t) [y_i w'x_i < 1] y_i x_i, one sample after the other.

    With v = t w it is v := v + n C_i y_i x_i where y_i v'x_i < t: a step costs one row.  The last weight is in |w|.
    random: the state and t.  From t = tail on, delayed is the sum of every step of v times sum_{s = tail}^{t} 1/s.
    """
    state, t = random[0], random[1]
    harmonic = 0.0
    for s in range(tail, t + 1):
        harmonic += 1.0 / s
    for k in range(order.size):
        state = next_random(state)
        other = k + (state >> 32) % (order.size - k)
        order[k], order[other] = order[other], order[k]
        i = order[k]
        t += 1
        if y[i] * row_times(indptr, indices, values, bias, i, w) < t - 1 or t == 1:
            step = order.size * C[i] * y[i]
            add_row(indptr, indices, values, bias, i, step, w)
            if t >= tail:
                add_row(indptr, indices, values, bias, i, step * harmonic, delayed)
        if t >= tail:
            harmonic += 1.0 / t
    random[0], random[1] = state, t
