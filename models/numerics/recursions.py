"""Inference in hidden Markov chains, compiled: filtering, smoothing, the best path, random paths.

A batch of sequences is one flat array; sequence s is at the positions offsets[s] to offsets[s + 1].  The likelihood at
t of state i is the probability (up to a factor that belongs to the position) of the observation at t in state i.

Filtering goes forward with normalized probabilities,

    p_t(j) = sum_i alpha_{t-1}(i) a_ij,    alpha_t(j) = p_t(j) likelihood_t(j) / c_t,    log P = sum_t log c_t,

and smoothing goes back through the results of the filter, without the observations:

    r_t(j) = gamma_t(j) / p_t(j),    xi_t(i, j) = alpha_t(i) a_ij r_{t+1}(j),    gamma_t(i) = sum_j xi_t(i, j).

All of these are probabilities or their ratios, so nothing overflows.  A double loses only the alpha of a state that is
so unlikely that it underflows, although a later observation makes it likely again; `filter_states` bounds this loss and
marks such a sequence, which `*_in_logs` then treat slowly.

A sequence may bend the chain by a strength of its own: start and transitions are multiplied by
exp(strength * bend_start[i]) and exp(strength * bend_transitions[i, j]), and log P is the log of the sum over all
paths (the potentials need not be normalized).  Strength zero is the chain itself.
"""

import math

import numpy as np

from socp.compiled.kernels import inner, kernel, leaf
from socp.compiled.signatures import Bools, Floats, IntMatrix, Ints, Matrix

LOST = 1e-280  # relative to the scale c: smaller probabilities count as lost
TINY = 1e-300  # numbers below this may have lost digits to underflow
HARMLESS = -46.0  # log of the largest share of the probability that may be lost unmarked: 1e-20


@inner
def bend_chain(
    start: Floats, transitions: Matrix, bend_start: Floats, bend_transitions: Matrix, strength: float,
    own_start: Floats, own_transitions: Matrix,
) -> tuple[float, float]:  # fmt: skip
    """own_start := start exp(strength bend_start), own_transitions likewise, each divided by its largest factor.

    Return the logarithms of the two factors.
    """
    states = start.size
    for i in range(states):
        own_start[i] = start[i]
        for j in range(states):
            own_transitions[i, j] = transitions[i, j]
    if strength == 0.0:
        return 0.0, 0.0
    top_start, top = -np.inf, -np.inf
    for i in range(states):
        top_start = max(top_start, strength * bend_start[i])
        for j in range(states):
            top = max(top, strength * bend_transitions[i, j])
    for i in range(states):
        own_start[i] *= math.exp(strength * bend_start[i] - top_start)
        for j in range(states):
            own_transitions[i, j] *= math.exp(strength * bend_transitions[i, j] - top)
    return top_start, top


@leaf
def is_reached(shares: Floats, transitions: Matrix, j: int) -> bool:
    """Return True if a state with a positive share has a transition to state j."""
    for i in range(shares.size):
        if shares[i] > 0.0 and transitions[i, j] > 0.0:
            return True
    return False


@kernel
def filter_states(
    offsets: Ints, start: Floats, transitions: Matrix, bend_start: Floats, bend_transitions: Matrix, strength: Floats,
    rows: Matrix, row: Ints, keep: bool, work: Matrix, alpha: Matrix, predicted: Matrix, log_likelihood: Floats,
    lost: Bools,
) -> None:  # fmt: skip
    """Filter every sequence: set log_likelihood, lost (sequences) and, if `keep`, alpha, predicted.

    Position t has the likelihoods rows[row[t]], one a state.  `alpha` and `predicted` have the shape
    (positions, states), `work` (states + 3, states).
    """
    states = start.size
    own_start, p, a, own = work[0], work[1], work[2], work[3:]
    for s in range(offsets.size - 1):
        top_start, top = bend_chain(start, transitions, bend_start, bend_transitions, strength[s], own_start, own)
        total = top_start + top * (offsets[s + 1] - offsets[s] - 1)
        worst = -np.inf  # log of a bound on the lost probability, relative to the kept probability
        lost[s] = False
        product = 1.0  # product of scales c whose logarithms are not in `total` yet
        for t in range(offsets[s], offsets[s + 1]):
            begins = t == offsets[s]
            for j in range(states):
                p[j] = own_start[j] if begins else 0.0
            if not begins:
                for i in range(states):
                    share = a[i]
                    for j in range(states):
                        p[j] += share * own[i, j]
            seen = rows[row[t]]
            least = np.inf
            for j in range(states):  # a state that is possible, but whose p underflows
                if p[j] < TINY and (start[j] > 0.0 if begins else is_reached(a, transitions, j)):
                    least = 0.0
            c = 0.0
            for j in range(states):
                a[j] = p[j] * seen[j]
                c += a[j]
                if p[j] > 0.0 and seen[j] > 0.0:
                    least = min(least, a[j])
            if not c > 1e-290:
                lost[s] = True
                break
            floor = max(LOST * c, TINY)
            if least <= floor or worst > -np.inf:
                worst -= math.log(c)
                if least <= floor:
                    worst = max(worst, math.log(floor / c))
            if c < 1e-100:  # product * c could underflow
                total += math.log(c)
            else:
                product *= c
            if product < 1e-200:
                total += math.log(product)
                product = 1.0
            inverse = 1.0 / c
            for j in range(states):
                a[j] *= inverse
            if keep:
                for j in range(states):
                    predicted[t, j] = p[j]
                    alpha[t, j] = a[j]
        log_likelihood[s] = total + math.log(product)
        lost[s] = lost[s] or worst > HARMLESS


@kernel
def smooth_states(
    offsets: Ints, start: Floats, transitions: Matrix, bend_start: Floats, bend_transitions: Matrix, strength: Floats,
    alpha: Matrix, predicted: Matrix, skip: Bools, weight: Floats, group: Ints, work: Matrix, gamma: Matrix,
    starts: Matrix, counts: Matrix, chain_logs: Matrix,
) -> None:  # fmt: skip
    """Smooth every sequence with skip False: set gamma, and add to starts, counts and chain_logs.

    gamma (n, states).  With the sequence's weight and in its group, starts (groups, states) gets gamma at the start,
    counts (groups states, states) the transitions and chain_logs, unless it is of size zero,
    sum_t xi_t(i, j) log(xi_t(i, j) / gamma_t(i)).  work (4 states + 3, states).
    """
    states = start.size
    own_start, r, acc, own = work[0], work[1], work[2], work[3 : 3 + states]
    transposed = work[3 + states : 3 + 2 * states]
    pairs, logs = work[3 + 2 * states : 3 + 3 * states], work[3 + 3 * states : 3 + 4 * states]
    for s in range(offsets.size - 1):
        if skip[s]:
            continue
        bend_chain(start, transitions, bend_start, bend_transitions, strength[s], own_start, own)
        for i in range(states):
            for j in range(states):
                transposed[j, i] = own[i, j]
                pairs[i, j] = logs[i, j] = 0.0
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(states):
            gamma[last, i] = alpha[last, i]
        for t in range(last - 1, first - 1, -1):
            for i in range(states):
                acc[i] = 0.0
            for j in range(states):
                r[j] = gamma[t + 1, j] / predicted[t + 1, j] if gamma[t + 1, j] > 0.0 else 0.0
                for i in range(states):
                    acc[i] += transposed[j, i] * r[j]
            for i in range(states):
                a = alpha[t, i]
                gamma[t, i] = a * acc[i]
                for j in range(states):
                    pairs[i, j] += a * r[j]
            if chain_logs.size:
                for j in range(states):
                    log_r = math.log(r[j]) if r[j] > 0.0 else 0.0
                    for i in range(states):
                        xi = alpha[t, i] * own[i, j] * r[j]
                        if xi > 0.0:
                            logs[i, j] += xi * (log_r - math.log(acc[i]))
        g, w = group[s], weight[s]
        for i in range(states):
            starts[g, i] += w * gamma[first, i]
            for j in range(states):
                count = pairs[i, j] * own[i, j]
                counts[g * states + i, j] += w * count
                if chain_logs.size and count > 0.0:
                    chain_logs[g * states + i, j] += w * (logs[i, j] + count * math.log(own[i, j]))


@inner
def log_sum(values: Floats) -> float:
    """Return log sum exp(values), -inf if all values are -inf."""
    top = -np.inf
    for i in range(values.size):
        if values[i] > top or values[i] != values[i]:
            top = values[i]
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(values.size):
        total += math.exp(values[i] - top)
    return top + math.log(total)


@kernel
def filter_in_logs(
    log_start: Floats, log_transitions: Matrix, log_likelihood: Matrix, terms: Floats, log_alpha: Matrix,
    log_predicted: Matrix,
) -> float:  # fmt: skip
    """Filter one sequence in logarithms that are not normalized, and return log P; see `filter_states`.

    terms (states) is a work array.
    """
    states = log_start.size
    for t in range(log_likelihood.shape[0]):
        for j in range(states):
            if t == 0:
                log_predicted[t, j] = log_start[j]
            else:
                for i in range(states):
                    terms[i] = log_alpha[t - 1, i] + log_transitions[i, j]
                log_predicted[t, j] = log_sum(terms)
            log_alpha[t, j] = log_predicted[t, j] + log_likelihood[t, j]
    return log_sum(log_alpha[log_alpha.shape[0] - 1])


@kernel
def smooth_in_logs(
    log_transitions: Matrix, log_alpha: Matrix, log_predicted: Matrix, work: Matrix, gamma: Matrix, start: Floats,
    counts: Matrix, chain_logs: Matrix,
) -> None:  # fmt: skip
    """Smooth one sequence in logarithms; set gamma, add to start, counts, chain_logs; work (states + 2, states)."""
    states, end = log_transitions.shape[0], log_alpha.shape[0]
    total = log_sum(log_alpha[end - 1])
    if total == -np.inf:  # a sequence of probability 0 has no posterior
        return
    log_gamma, before, xi = work[0], work[1], work[2:]
    for i in range(states):
        log_gamma[i] = log_alpha[end - 1, i] - total
        gamma[end - 1, i] = math.exp(log_gamma[i])
    for t in range(end - 2, -1, -1):
        for i in range(states):
            for j in range(states):
                xi[i, j] = -np.inf
                if log_gamma[j] > -np.inf:
                    xi[i, j] = log_alpha[t, i] + log_transitions[i, j] + log_gamma[j] - log_predicted[t + 1, j]
            before[i] = log_sum(xi[i])
            gamma[t, i] = math.exp(before[i])
            for j in range(states):
                probability = math.exp(xi[i, j])
                counts[i, j] += probability
                if chain_logs.size and probability > 0.0:
                    chain_logs[i, j] += probability * (xi[i, j] - before[i])
        for i in range(states):
            log_gamma[i] = before[i]
    for i in range(states):
        start[i] += gamma[0, i]


def best_paths(
    offsets: np.ndarray, log_start: np.ndarray, log_transitions: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the most probable states of every sequence (Viterbi), and log P of these states and the observations.

    logs[t] are the log likelihoods at t.
    """
    path, log_probability = np.empty(offsets[-1], dtype=np.int64), np.empty(offsets.size - 1)
    given = (np.ascontiguousarray(part) for part in (log_start, log_transitions.T, logs))
    work, back = np.empty((2, log_start.size)), np.empty(logs.shape, dtype=np.int64)
    find_best_paths(offsets, *given, work, back, path, log_probability)
    return path, log_probability


@kernel
def find_best_paths(
    offsets: Ints, log_start: Floats, transposed: Matrix, logs: Matrix, work: Matrix, back: IntMatrix, path: Ints,
    log_probability: Floats,
) -> None:  # fmt: skip
    """Set path and log P of `best_paths`; transposed[j, i] = log P(j | i), work (2, states), back (n, states)."""
    states = log_start.size
    score, new = work[0], work[1]
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(states):
            score[i] = log_start[i] + logs[first, i]
        for t in range(first + 1, last + 1):
            for j in range(states):
                best, highest = 0, score[0] + transposed[j, 0]
                for i in range(1, states):
                    value = score[i] + transposed[j, i]
                    if value > highest:
                        best, highest = i, value
                back[t, j] = best
                new[j] = highest + logs[t, j]
            for j in range(states):
                score[j] = new[j]
        best = 0
        for i in range(1, states):
            if score[i] > score[best]:
                best = i
        path[last] = best
        log_probability[s] = score[best]
        for t in range(last, first, -1):
            path[t - 1] = back[t, path[t]]


@kernel
def random_paths(transitions: Matrix, alpha: Matrix, uniforms: Matrix, paths: IntMatrix) -> None:
    """Draw paths (draws, positions) of a sequence from the posterior, from the last state back to the first."""
    states, end = transitions.shape[0], alpha.shape[0]
    cumulative = np.empty((states, states))  # [j, i]: weight of the states 0..i before the next state j
    last = np.empty(states, dtype=np.int64)  # [j]: last state with positive weight before j
    for t in range(end - 1, -1, -1):
        for j in range(states if t < end - 1 else 1):
            total = 0.0
            last[j] = 0
            for i in range(states):
                weight = alpha[t, i] * transitions[i, j] if t < end - 1 else alpha[t, i]
                total += weight
                cumulative[j, i] = total
                if weight > 0.0:
                    last[j] = i
        for d in range(paths.shape[0]):
            j = paths[d, t + 1] if t < end - 1 else 0
            share = uniforms[d, t] * cumulative[j, states - 1]
            chosen = 0
            for i in range(states - 1):
                chosen += int(cumulative[j, i] <= share)
            paths[d, t] = min(chosen, last[j])


@kernel
def path_statistics(states: int, paths: IntMatrix, features: Matrix, table: Matrix) -> None:
    """Add the statistics of every path to its row of table, which must be zero: start, transitions, and the sums of
    features (positions, columns) in each state; table is (draws, states + states^2 + states columns)."""
    columns = features.shape[1]
    for d in range(paths.shape[0]):
        table[d, paths[d, 0]] += 1.0
        for t in range(1, paths.shape[1]):
            table[d, states + states * paths[d, t - 1] + paths[d, t]] += 1.0
    for t in range(paths.shape[1]):
        for k in range(columns):
            feature = features[t, k]
            if feature != 0.0:
                for d in range(paths.shape[0]):
                    table[d, states + states * states + paths[d, t] * columns + k] += feature


@kernel
def count_symbols(
    offsets: Ints, symbols: Ints, gamma: Matrix, weight: Floats, group: Ints, counts: Matrix
) -> None:  # fmt: skip
    """Add the expected counts of symbols in the states to counts (groups states, symbols); symbol -1 is missing."""
    states = gamma.shape[1]
    for s in range(offsets.size - 1):
        g, w = group[s], weight[s]
        for t in range(offsets[s], offsets[s + 1]):
            if symbols[t] >= 0:
                for i in range(states):
                    counts[g * states + i, symbols[t]] += w * gamma[t, i]


def diagonal_log_densities(values: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return log densities (n, states) of independent normal variables at values (n, features), NaN left out."""
    out = np.empty((values.shape[0], means.shape[0]))
    fill_log_densities(
        np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(means, dtype=np.float64),
        np.ascontiguousarray(1.0 / variances), np.ascontiguousarray(np.log(2.0 * np.pi * variances)), out,
    )  # fmt: skip
    return out


@kernel
def fill_log_densities(values: Matrix, means: Matrix, inverse: Matrix, constant: Matrix, out: Matrix) -> None:
    """Set `out` as `diagonal_log_densities`; inverse is 1 / variance and constant log(2 pi variance)."""
    n, features = values.shape
    states = means.shape[0]
    for t in range(n):
        for i in range(states):
            total = 0.0
            for k in range(features):
                if not math.isnan(values[t, k]):
                    total += constant[i, k] + (values[t, k] - means[i, k]) ** 2 * inverse[i, k]
            out[t, i] = -0.5 * total


@kernel
def add_features(
    offsets: Ints, features: Matrix, gamma: Matrix, weight: Floats, group: Ints, sums: Matrix
) -> None:  # fmt: skip
    """Add sum_t gamma_t(i) features_t, times the sequence's weight, to sums (groups states, features)."""
    states = gamma.shape[1]
    for s in range(offsets.size - 1):
        g, w = group[s], weight[s]
        for t in range(offsets[s], offsets[s + 1]):
            for i in range(states):
                share = w * gamma[t, i]
                for k in range(features.shape[1]):
                    sums[g * states + i, k] += share * features[t, k]
