"""Expected statistics of hidden Markov models and their derivatives along a direction, compiled.

The forward and backward recursions are as in `recursions`; every quantity has its derivative (d...) with respect to
epsilon, if the sequence's log start, transition and emission probabilities move by a direction times epsilon.
"""

import numpy as np

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Ints, Matrix

from .recursions import add_features


def expected_statistics(offsets, features, start, transitions, potentials, directions):
    """Return E[(starts, transitions, sums of f(x))], flat, of every sequence, and its derivative along `directions`.

    `features` (positions, K) are the f(x), with log P(x | state) = `potentials` f(x).  `directions`, of the shape of
    both results, (sequences, S + S^2 + S K), are the changes of the logarithms of `start` and `transitions` and of the
    potentials; with shape (sequences, 0) the derivative is zero.
    """
    number, states, size = offsets.size - 1, start.size, features.shape[1]
    chain = states + states * states
    if directions.shape[1] == 0:
        directions = np.zeros((number, chain + states * size))
    owner = np.repeat(np.arange(number), np.diff(offsets))
    logs = features @ potentials.T
    rows = np.exp(logs - logs.max(axis=1, keepdims=True))
    moves = np.einsum("tk,tik->ti", features, directions[:, chain:].reshape(number, states, size)[owner])
    counts, tangents = np.zeros((number, chain)), np.zeros((number, chain))
    gamma, d_gamma = np.zeros(rows.shape), np.zeros(rows.shape)
    counts_and_tangents(
        offsets, rows, moves, np.ascontiguousarray(start), np.ascontiguousarray(transitions),
        np.ascontiguousarray(directions[:, :chain]), np.empty((4 + 4 * int(np.diff(offsets).max()), states)),
        counts, tangents, gamma, d_gamma,
    )  # fmt: skip
    ones, features = np.ones(number), np.ascontiguousarray(features, dtype=np.float64)
    sums, d_sums = np.zeros((number * states, size)), np.zeros((number * states, size))
    add_features(offsets, features, gamma, ones, np.arange(number), sums)
    add_features(offsets, features, d_gamma, ones, np.arange(number), d_sums)
    return np.hstack([counts, sums.reshape(number, -1)]), np.hstack([tangents, d_sums.reshape(number, -1)])


@kernel
def counts_and_tangents(
    offsets: Ints, rows: Matrix, moves: Matrix, start: Floats, transitions: Matrix, directions: Matrix, work: Matrix,
    counts: Matrix, tangents: Matrix, gamma: Matrix, d_gamma: Matrix,
) -> None:  # fmt: skip
    """Compute expected counts, posteriors gamma, and their derivatives; see `expected_statistics`.

    rows (positions, S) are likelihoods, moves the derivatives of their logarithms.  counts, tangents and directions
    (sequences, S + S^2) are of the chain; gamma, d_gamma (positions, S); work (4 + 4 longest sequence, S).
    """
    S = start.size
    longest = (work.shape[0] - 4) // 4
    later, d_later, r, d_r = work[0], work[1], work[2], work[3]
    alpha, p = work[4 : 4 + longest], work[4 + longest : 4 + 2 * longest]
    d_alpha, d_p = work[4 + 2 * longest : 4 + 3 * longest], work[4 + 3 * longest : 4 + 4 * longest]
    for s in range(offsets.size - 1):
        first, length = offsets[s], offsets[s + 1] - offsets[s]
        move = directions[s]
        for t in range(length):
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
                b = rows[first + t, j]
                alpha[t, j] = p[t, j] * b
                d_alpha[t, j] = (d_p[t, j] + p[t, j] * moves[first + t, j]) * b
                c += alpha[t, j]
                d_c += d_alpha[t, j]
            for j in range(S):
                alpha[t, j] /= c
                d_alpha[t, j] = (d_alpha[t, j] - alpha[t, j] * d_c) / c
        for i in range(S):
            later[i], d_later[i] = alpha[length - 1, i], d_alpha[length - 1, i]
        for t in range(length - 1, -1, -1):
            for i in range(S):
                gamma[first + t, i], d_gamma[first + t, i] = later[i], d_later[i]
            if t == 0:
                break
            for j in range(S):
                r[j] = later[j] / p[t, j]
                d_r[j] = (d_later[j] - r[j] * d_p[t, j]) / p[t, j]
            for i in range(S):
                later[i] = 0.0
                d_later[i] = 0.0
                for j in range(S):
                    k = S + i * S + j
                    a = transitions[i, j]
                    xi = alpha[t - 1, i] * a * r[j]
                    d_xi = (d_alpha[t - 1, i] * r[j] + alpha[t - 1, i] * (move[k] * r[j] + d_r[j])) * a
                    counts[s, k] += xi
                    tangents[s, k] += d_xi
                    later[i] += xi
                    d_later[i] += d_xi
        for i in range(S):
            counts[s, i] += later[i]
            tangents[s, i] += d_later[i]
