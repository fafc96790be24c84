"""Three classifiers on rows that are never in memory together: blocks of a generator, as a reader of files gives them.

`fit` takes an object whose iterator starts again, since each pass of Newton's method reads the rows once.  A block here
is drawn from its number; in earnest it would be a file, a page of a database or a slice of an array on disk
(`numpy.load(..., mmap_mode="r")` and dask arrays need no such class).
"""

import resource
import time

import numpy as np

from models import LinearDiscriminant, LinearSVC, LogisticRegression


class Rows:
    """Blocks (X, y) of `size` rows of 20 features, in single precision; `starts` counts the passes."""

    def __init__(self, rows, size=100_000):
        self.rows, self.size, self.starts = rows, size, 0
        self.truth = 3.0 * np.random.default_rng(1).normal(size=20)

    def block(self, number):
        rng = np.random.default_rng((2, number))
        X = rng.random((min(self.size, self.rows - number * self.size), 20), dtype=np.float32) - np.float32(0.5)
        return X, X @ self.truth > rng.logistic(size=len(X))

    def __iter__(self):
        self.starts += 1
        yield from map(self.block, range(-(-self.rows // self.size)))


def main(rows=200_000, size=20_000):
    truth, fitted = Rows(rows).truth, {}
    for model in (LogisticRegression(), LinearSVC(C=0.1), LinearDiscriminant()):
        data, start = Rows(rows, size), time.perf_counter()
        w = model.fit(data).coef_[0]
        seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cosine = w @ truth / np.linalg.norm(w) / np.linalg.norm(truth)
        print(
            f"{type(model).__name__}: {seconds:.1f} s, {data.starts} passes, 1 - cosine {1 - cosine:.1e}, {peak:.0f} MB"
        )
        fitted[type(model).__name__] = model, cosine
    return fitted


if __name__ == "__main__":
    main()
