"""Expected counts of hidden Markov models and their derivatives along a direction, compiled.

Forward and backward as in `recursions`, every quantity with its derivative (d...) when the logarithms of the
sequence's own start, transition and emission probabilities move by a direction times epsilon.
"""

import numpy as np

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Ints, Matrix


def expected_counts(offsets, symbols, start, transitions, emissions, directions):
    """E[(starts, transitions, emissions)], flat, of every sequence, and its derivative along its own direction.

    Parameters
    ----------
    offsets, symbols : arrays of int64
        As in `Sequences`; -1 is a missing observation.
    start, transitions, emissions : arrays, shapes (S,), (S, S), (S, K)
    directions : array, shape (sequences, S + S^2 + S K), or (sequences, 0) for no derivative

    Returns
    -------
    counts, tangents : arrays, shape (sequences, S + S^2 + S K)
    """
    number, size = offsets.size - 1, start.size + transitions.size + emissions.size
    if directions.shape[1] == 0:
        directions = np.zeros((number, size))
    counts, tangents = np.zeros((number, size)), np.zeros((number, size))
    work = np.empty((4 + 4 * int(np.diff(offsets).max()), start.size))
    counts_and_tangents(
        offsets, symbols, np.ascontiguousarray(start), np.ascontiguousarray(transitions),
        np.ascontiguousarray(emissions), np.ascontiguousarray(directions), work, counts, tangents,
    )  # fmt: skip
    return counts, tangents


@kernel
def counts_and_tangents(
    offsets: Ints, symbols: Ints, start: Floats, transitions: Matrix, emissions: Matrix, directions: Matrix,
    work: Matrix, counts: Matrix, tangents: Matrix,
) -> None:  # fmt: skip
    """See `expected_counts`; work (4 + 4 longest sequence, S) holds alpha, p and their derivatives at each position."""
    S, K = emissions.shape
    longest = (work.shape[0] - 4) // 4
    gamma, d_gamma, r, d_r = work[0], work[1], work[2], work[3]
    alpha, p = work[4 : 4 + longest], work[4 + longest : 4 + 2 * longest]
    d_alpha, d_p = work[4 + 2 * longest : 4 + 3 * longest], work[4 + 3 * longest : 4 + 4 * longest]
    for s in range(offsets.size - 1):
        first, length = offsets[s], offsets[s + 1] - offsets[s]
        move = directions[s]
        for t in range(length):
            x = symbols[first + t]
            c, d_c = 0.0, 0.0
            for j in range(S):
                if t == 0:
                    p[t, j] = start[j]
                    d_p[t, j] = start[j] * move[j]
                else:
                    p[t, j] = 0.0
                    d_p[t, j] = 0.0
                    for i in range(S):
                        a = transitions[i, j]
                        p[t, j] += alpha[t - 1, i] * a
                        d_p[t, j] += (d_alpha[t - 1, i] + alpha[t - 1, i] * move[S + i * S + j]) * a
                b, d_b = 1.0, 0.0
                if x >= 0:
                    b = emissions[j, x]
                    d_b = b * move[S + S * S + j * K + x]
                alpha[t, j] = p[t, j] * b
                d_alpha[t, j] = d_p[t, j] * b + p[t, j] * d_b
                c += alpha[t, j]
                d_c += d_alpha[t, j]
            for j in range(S):
                alpha[t, j] /= c
                d_alpha[t, j] = (d_alpha[t, j] - alpha[t, j] * d_c) / c
        for i in range(S):
            gamma[i], d_gamma[i] = alpha[length - 1, i], d_alpha[length - 1, i]
        for t in range(length - 1, -1, -1):
            x = symbols[first + t]
            if x >= 0:
                for i in range(S):
                    counts[s, S + S * S + i * K + x] += gamma[i]
                    tangents[s, S + S * S + i * K + x] += d_gamma[i]
            if t == 0:
                break
            for j in range(S):
                r[j] = gamma[j] / p[t, j]
                d_r[j] = (d_gamma[j] - r[j] * d_p[t, j]) / p[t, j]
            for i in range(S):
                gamma[i] = 0.0
                d_gamma[i] = 0.0
                for j in range(S):
                    k = S + i * S + j
                    a = transitions[i, j]
                    xi = alpha[t - 1, i] * a * r[j]
                    d_xi = (d_alpha[t - 1, i] * r[j] + alpha[t - 1, i] * (move[k] * r[j] + d_r[j])) * a
                    counts[s, k] += xi
                    tangents[s, k] += d_xi
                    gamma[i] += xi
                    d_gamma[i] += d_xi
        for i in range(S):
            counts[s, i] += gamma[i]
            tangents[s, i] += d_gamma[i]
