"""When the max-margin score space helps: sequences of several lengths that differ in how long a hidden state lasts.

Two hidden states show 0 or 1, with probabilities .8 and .2; in one class a state goes on with probability .95, in the
other with .8.  Both classes show equally many ones, so that a machine must use the order, which noise hides from pairs
of neighbours: score spaces are made for this case.  The plain machine gets the frequencies of symbols or of pairs of
neighbours, the score space of Li et al. (2013) gets the sequences.  Each split draws new sequences.
"""

import numpy as np

from models import SVC, DiscreteHMM, MaxMarginScoreSpace

SHOWS = [[0.8, 0.2], [0.2, 0.8]]
CLASSES = [DiscreteHMM(2).set_model([0.5, 0.5], [[a, 1.0 - a], [1.0 - a, a]], SHOWS) for a in (0.95, 0.8)]


def draw(rng, number):
    """Return sequences of 20 to 59 symbols, classes 0 and 1 in turn, and the classes."""
    lengths = rng.integers(20, 60, number // 2)
    both = [model.sample(lengths, random_state=rng)[0] for model in CLASSES]
    return [x for pair in zip(*both) for x in pair], np.arange(number) % 2


def frequencies(sequences, length):
    """Return the frequencies of all runs of `length` symbols in each sequence."""
    found = []
    for x in sequences:
        runs = sum(x[i : x.size - length + 1 + i] * 2**i for i in range(length))
        found.append(np.bincount(runs, minlength=2**length) / runs.size)
    return np.array(found)


def gains(samples, splits=20, test=400):
    """Return the accuracy of the score space minus that of `SVC` on symbols and on pairs, shape (splits, 2)."""
    found = []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        (X, y), (T, z) = draw(rng, samples), draw(rng, test)
        space = MaxMarginScoreSpace(DiscreteHMM(2, random_state=seed)).fit(X, y).score(T, z)
        plain = [SVC().fit(frequencies(X, k), y).score(frequencies(T, k), z) for k in (1, 2)]
        found.append(space - np.array(plain))
    return np.array(found)


def main():
    found = {samples: gains(samples) for samples in (20, 200)}
    for samples, gain in found.items():
        for name, one in zip(("symbols", "pairs"), gain.T):
            error = 100 * one.std(ddof=1) / np.sqrt(one.size)
            print(
                f"{samples} sequences: {100 * one.mean():+.1f} points over SVC() on {name}, standard error {error:.1f}"
            )
    return found


if __name__ == "__main__":
    main()
