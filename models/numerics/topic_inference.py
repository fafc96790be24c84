"""Inference in topic models, compiled: the variational E-step of a document, sweeps of the collapsed Gibbs sampler.

Documents are the rows of a CSR matrix of word counts: (indptr, words, counts).
"""

import math

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, IntMatrix, Ints, Matrix

LEAST = 1e-280  # sums over the topics below this may have lost terms to underflow


@inner
def digamma(x: float) -> float:
    """Return psi(x) for x > 0, by its recurrence up to 10 and the asymptotic series from there."""
    below = 0.0
    while x < 10.0:
        below += 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return math.log(x) - 0.5 / x - series - below


@inner
def set_relative_weights(gamma: Floats, logs: Floats, weights: Floats) -> float:
    """weights_k := exp(E log theta_k) under Dirichlet(gamma), divided by the largest; return the largest's log.

    logs := log(weights), also for a weight that is too small for a double.
    """
    largest, total = gamma[0], 0.0
    for k in range(gamma.size):
        largest = max(largest, gamma[k])
        total += gamma[k]
    top = digamma(largest)
    for k in range(gamma.size):
        logs[k] = digamma(gamma[k]) - top
        weights[k] = math.exp(logs[k])
    return top - digamma(total)


@inner
def bend_word(
    topics: Floats, bend: Floats, strength: float, tilt: Matrix, document: int, logs: Floats, own: Floats
) -> float:
    """own_k := beta_k exp(strength bend_k + tilt_k), divided by the largest; return the log of the largest.

    logs := log(own), also for an entry that is too small for a double.
    """
    top = -np.inf
    for k in range(own.size):
        logs[k] = strength * bend[k] + (math.log(topics[k]) if topics[k] > 0.0 else -np.inf)
        if tilt.shape[0] > 0:
            logs[k] += tilt[document, k]
        top = max(top, logs[k])
    for k in range(own.size):
        logs[k] -= top
        own[k] = math.exp(logs[k])
    return top


@inner
def share_word(logs: Floats, log_weights: Floats, shares: Floats) -> float:
    """shares_k := exp(logs_k + log_weights_k), divided by their sum; return the log of the sum."""
    top, total = -np.inf, 0.0
    for k in range(shares.size):
        top = max(top, logs[k] + log_weights[k])
    for k in range(shares.size):
        shares[k] = math.exp(logs[k] + log_weights[k] - top)
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total
    return top + math.log(total)


@inner
def dirichlet_bound(prior: Floats, gamma: Floats) -> float:
    """Return E[log p(theta)] - E[log q(theta)] = -KL(Dirichlet(gamma) || Dirichlet(prior))."""
    prior_sum, gamma_sum = 0.0, 0.0
    for k in range(gamma.size):
        prior_sum += prior[k]
        gamma_sum += gamma[k]
    total = math.lgamma(prior_sum) - math.lgamma(gamma_sum)
    psi = digamma(gamma_sum)
    for k in range(gamma.size):
        total += math.lgamma(gamma[k]) - math.lgamma(prior[k])
        total += (prior[k] - gamma[k]) * (digamma(gamma[k]) - psi)
    return total


@kernel
def infer_documents(
    indptr: Ints, words: Ints, counts: Floats, prior: Floats, topics: Matrix, bend: Matrix, strength: Floats,
    tilt: Matrix, max_rounds: int, tol: float, weight: Floats, group: Ints, work: Matrix, gamma: Matrix, bound: Floats,
    sums: Matrix,
) -> None:  # fmt: skip
    """Update gamma (documents, topics), the variational posterior of every document, from its given value.

    topics (words, topics) is beta transposed.  In document d, beta_kw is multiplied by exp(strength_d bend_wk) and, if
    tilt (documents, topics) has rows, by exp(tilt_dk).  Coordinate ascent (Blei, Ng and Jordan 2003, section 5.2) ends
    when gamma moves by less than tol on average.  bound (documents) is set at gamma and its best phi; the expected
    counts under this phi, weighted, are added to sums (groups words, topics).  work (5 + 2 words of the longest
    document, topics).
    """
    K, vocabulary, longest = prior.size, topics.shape[0], (work.shape[0] - 5) // 2
    relative, log_relative, new, apart, shares = work[0], work[1], work[2], work[3], work[4]
    own, logs = work[5 : 5 + longest], work[5 + longest :]
    for d in range(indptr.size - 1):
        first, end = indptr[d], indptr[d + 1]
        bent = strength[d] != 0.0 or tilt.shape[0] > 0
        taken_out = 0.0  # sum of the logs of the factors that `bend_word` divided out
        for n in range(first, end):
            i, w = n - first, words[n]
            if bent:
                taken_out += counts[n] * bend_word(topics[w], bend[w], strength[d], tilt, d, logs[i], own[i])
            else:
                for k in range(K):
                    own[i, k] = topics[w, k]
        for _ in range(max_rounds):
            set_relative_weights(gamma[d], log_relative, relative)
            for k in range(K):
                new[k] = apart[k] = 0.0
            for n in range(first, end):
                norm = 0.0
                for k in range(K):
                    norm += own[n - first, k] * relative[k]
                if bent and norm < LEAST:
                    share_word(logs[n - first], log_relative, shares)
                    for k in range(K):
                        apart[k] += counts[n] * shares[k]
                else:
                    share = counts[n] / norm
                    for k in range(K):
                        new[k] += share * own[n - first, k]
            change = 0.0
            for k in range(K):
                value = prior[k] + relative[k] * new[k] + apart[k]
                change += abs(value - gamma[d, k])
                gamma[d, k] = value
            if change < tol * K:
                break
        log_top = set_relative_weights(gamma[d], log_relative, relative)
        total = dirichlet_bound(prior, gamma[d]) + taken_out
        for n in range(first, end):
            norm = 0.0
            for k in range(K):
                shares[k] = own[n - first, k] * relative[k]
                norm += shares[k]
            if bent and norm < LEAST:
                log_norm, norm = share_word(logs[n - first], log_relative, shares), 1.0
            else:
                log_norm = math.log(norm)
            total += counts[n] * (log_norm + log_top)
            share = weight[d] * counts[n] / norm
            for k in range(K):
                sums[group[d] * vocabulary + words[n], k] += share * shares[k]
        bound[d] = total


@kernel
def sample_topics(
    owner: Ints, entry: Ints, weights: Matrix, prior: Floats, uniforms: Floats, topic: Ints, in_document: IntMatrix,
    sums: Matrix,
) -> None:  # fmt: skip
    """Draw every token's topic given its document's other topics and all `weights` (Griffiths and Steyvers 2004).

        P(z = k | rest) ~ (n_dk + prior_k) weights_ek

    owner (document), entry (row of weights), uniforms and topic have one entry per token; in_document (documents,
    topics) is updated.  The new topics are counted in sums (entries, topics), unless it is of size zero.
    """
    K = prior.size
    cumulative = np.empty(K)
    for n in range(owner.size):
        d, e = owner[n], entry[n]
        in_document[d, topic[n]] -= 1
        total = 0.0
        for k in range(K):
            total += (in_document[d, k] + prior[k]) * weights[e, k]
            cumulative[k] = total
        target, new = uniforms[n] * total, 0
        while new < K - 1 and cumulative[new] <= target:
            new += 1
        topic[n] = new
        in_document[d, new] += 1
        if sums.size:
            sums[e, new] += 1.0
