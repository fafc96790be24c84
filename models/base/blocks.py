"""Samples in blocks of rows, for data larger than memory, and sums over their rows.

Three kinds of data come in blocks: an array on disk (`numpy.memmap`), a dask array, whose workers sum over the blocks
where they lie, and any object whose iterator starts again and gives (X, y) or (X, y, sample_weight).  A first pass
finds labels, weights and means; `RowBlocks.fold` adds up what a function finds in each block.
"""

from __future__ import annotations

import functools
import itertools
import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from .multiclass import class_weights
from .validation import as_labels, as_matrix, as_weights, check_same_length, feature_names

Found = TypeVar("Found")
BLOCK = 2**21  # numbers in a block of an array on disk
PIECE, ROWS_A_FEATURE = 2**17, 16  # numbers in a piece of a block that stays in the cache; fewest rows, per feature
MOST_FEATURES = 500  # most features of dask arrays and arrays on disk that are not brought to memory


class Block(NamedTuple):
    """Checked rows of positive weight: samples, the class of each, and sample weights times class weights."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray


@dataclass
class Survey:
    """What the first pass finds: shape, column names, and of every class its label, its weight and its mean."""

    samples: int
    features: int
    names: np.ndarray | None
    is_sparse: bool
    classes: np.ndarray
    weights: np.ndarray
    means: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of all samples."""
        return self.weights @ self.means / self.weights.sum()  # type: ignore[no-any-return]

    def joined(self, other: Survey) -> Survey:
        """Return the survey of both parts of the data."""
        for what, mine, came in (
            ("features", self.features, other.features),
            ("labels of the kind", _kind(self.classes), _kind(other.classes)),
            ("column names", _listed(self.names), _listed(other.names)),
        ):
            if mine != came:
                raise ValueError(f"the blocks before have {what} {mine}, this one {came}")
        classes = np.unique(np.concatenate([self.classes, other.classes]))
        weights, means = np.zeros(classes.size), np.zeros((classes.size, self.features))
        for part in (self, other):
            at = np.searchsorted(classes, part.classes)
            weights[at] += part.weights
            share = np.divide(part.weights, weights[at], out=np.zeros(at.size), where=part.weights > 0.0)
            means[at] += share[:, None] * (part.means - means[at])
        return Survey(
            self.samples + other.samples, self.features, self.names, self.is_sparse or other.is_sparse, classes,
            weights, means,
        )  # fmt: skip


def _kind(labels: np.ndarray) -> str:
    return "text" if isinstance(labels.tolist()[0], str) else "numbers"


def _listed(names: np.ndarray | None) -> list[str] | None:
    return None if names is None else names.tolist()


def pieces(X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield a block in pieces, between which nothing as large as the block is made; tables and sparse X as they are."""
    columns = [y, sample_weight] if np.ndim(sample_weight) else [y]
    arrays = [isinstance(one, np.ndarray) and one.ndim > 0 for one in (X, *columns)]
    if not all(arrays) or X.ndim != 2 or any(len(one) != len(X) for one in columns):
        yield X, y, sample_weight
        return
    step = max(PIECE // max(X.shape[1], 1), ROWS_A_FEATURE * X.shape[1])
    for begin in range(0, max(len(X), 1), step):
        rows = slice(begin, begin + step)
        yield X[rows], y[rows], sample_weight[rows] if np.ndim(sample_weight) else sample_weight


def survey(who: str, sparse: bool, *raw: Any) -> Survey | None:
    """Check one block and return what it holds, or None if it has no rows."""
    found = None
    for piece in pieces(*raw):
        found = _surveyed(found, _survey_of(who, sparse, *piece))
    return found


def _survey_of(who: str, sparse: bool, X: Any, y: Any, sample_weight: Any) -> Survey | None:
    names, matrix = feature_names(X), as_matrix(X, who, sparse, fewest=0)
    samples, features = matrix.shape
    if samples == 0:
        return None
    classes, codes = as_labels(y, samples, who, fewest=1, warns=False)
    weights = as_weights(sample_weight, samples, needed=False)
    own = sp.csr_array((weights, (codes, np.arange(samples))), shape=(classes.size, samples))
    total = np.bincount(codes, weights, classes.size)
    first = 0.0 if sp.issparse(matrix) else matrix[0]  # the means lose no digits where columns have an offset
    sums = own @ matrix.toarray() if sp.issparse(matrix) and features < samples else own @ (matrix - first)
    sums = sums.toarray() if sp.issparse(sums) else sums
    means = first + np.divide(sums, total[:, None], out=np.zeros_like(sums), where=total[:, None] > 0.0)
    return Survey(samples, features, names, sp.issparse(matrix), classes, total, means)


@dataclass(frozen=True)
class Reader:
    """Turns raw blocks into checked ones: labels into classes, and X less `centre`."""

    who: str
    sparse: bool
    features: int
    classes: np.ndarray
    factors: np.ndarray
    centre: np.ndarray | None = None

    def __call__(self, X: Any, y: Any, sample_weight: Any) -> tuple[int, Block | None]:
        """Return the number of rows, and the block without its rows of weight zero, or None if nothing is left."""
        X = as_matrix(X, self.who, self.sparse, fewest=0)
        samples, features = X.shape
        if features != self.features:
            raise ValueError(f"the first pass found {self.features} features, this one {features}")
        if samples == 0:
            return 0, None
        labels, codes = as_labels(y, samples, self.who, fewest=1, warns=False)
        at = np.minimum(np.searchsorted(self.classes, labels), self.classes.size - 1)
        if (self.classes[at] != labels).any():
            raise ValueError(
                f"the labels {labels[self.classes[at] != labels].tolist()} are not those of the first pass"
            )
        codes = at[codes]
        weights = as_weights(sample_weight, samples, needed=False)
        used = weights > 0.0
        if not used.all():
            X, codes, weights = X[used], codes[used], weights[used]
        if weights.size == 0:
            return samples, None
        return samples, Block(X if self.centre is None else X - self.centre, codes, weights * self.factors[codes])


def numbered(number: int, function: Callable[..., Found], *given: Any) -> Found:
    """Return `function` of what is given; its errors name the block `number`, the first being 1."""
    try:
        return function(*given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"block {number}: {error}") from error


def read(
    reader: Reader, function: Callable[[Block], Any], add: Callable[[Any, Any], Any], *raw: Any
) -> tuple[int, Any]:  # fmt: skip
    """Return the number of rows of a raw block, and the sum of `function` over its checked pieces."""
    found: tuple[int, Any] = 0, None
    for piece in pieces(*raw):
        samples, block = reader(*piece)
        found = _joined(add, found, (samples, None if block is None else function(block)))
    return found


def add_up(one: Any, other: Any) -> Any:
    """Return the sums of the entries of two tuples."""
    return tuple(a + b for a, b in zip(one, other))


def _joined(add: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Return the sum of two results of `read`."""
    found = [part for _, part in (one, other) if part is not None]
    return one[0] + other[0], add(*found) if len(found) == 2 else (found or [None])[0]


def _surveyed(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one.joined(other)


class Slices:
    """Blocks of an array on disk, with labels and weights; memory of the pages that were read is released."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.X, self.y, self.sample_weight = X, np.asarray(y), sample_weight
        check_same_length("y", self.y, len(X))
        if sample_weight is not None and np.ndim(sample_weight) > 0:
            self.sample_weight = np.asarray(sample_weight)
            check_same_length("sample_weight", self.sample_weight, len(X))

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        step, weights = max(1, BLOCK // self.X.shape[1]), self.sample_weight
        pages: Any = getattr(self.X, "_mmap", None)
        for begin in range(0, len(self.X), step):
            rows = slice(begin, begin + step)
            yield self.X[rows], self.y[rows], weights if np.ndim(weights) == 0 else weights[rows]
            if self.X.mode in ("r", "r+") and hasattr(pages, "madvise"):  # "c" keeps its changes in memory alone
                pages.madvise(mmap.MADV_DONTNEED)


class Sequential:
    """Blocks of an iterator, one after the other in this process."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def fold(self, function: Callable[..., Any], add: Callable[[Any, Any], Any], first: bool = False) -> Any:
        """Return the sum of ``function(X, y, sample_weight)`` over the blocks, or of the `first` one alone."""
        total: Any = None
        for number, raw in enumerate(self.source, 1):
            if not isinstance(raw, (tuple, list)) or len(raw) not in (2, 3):
                raise TypeError(
                    f"block {number}: (X, y) or (X, y, sample_weight) must come, but {type(raw).__name__} did"
                )
            part = numbered(number, function, *raw, *[None] * (3 - len(raw)))
            total = part if number == 1 else numbered(number, add, total, part)
            if first:
                break
        return total


class OnWorkers:
    """Blocks of a dask array; each is worked on where it lies, and only sums travel."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = X.rechunk({1: -1})
        self.columns = [X.to_delayed().ravel().tolist()]
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is None or np.ndim(values) == 0:
                self.columns.append([values] * X.numblocks[0])
                continue
            if not is_dask(values):
                values = np.asarray(values)
                check_same_length(name, values, X.shape[0])
                ends = np.cumsum((0, *X.chunks[0]))
                self.columns.append([values[begin:end] for begin, end in itertools.pairwise(ends)])
                continue
            values = values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
            if not np.isnan([X.shape[0], values.shape[0]]).any():
                check_same_length(name, values, X.shape[0])
                values = values.rechunk((X.chunks[0],))
            self.columns.append(values.to_delayed().ravel().tolist())
        if len({len(column) for column in self.columns}) > 1:
            raise ValueError("X, y and sample_weight must be cut into the same blocks of rows")

    def fold(self, function: Callable[..., Any], add: Callable[[Any, Any], Any], first: bool = False) -> Any:
        """As `Sequential.fold`; sums are added in pairs, by the workers, too."""
        import dask

        work, join = dask.delayed(numbered), dask.delayed(add)
        task = dask.delayed(function)
        parts = [work(number, task, *raw) for number, raw in enumerate(zip(*self.columns), 1)][: 1 if first else None]
        while len(parts) > 1:
            pairs = [join(*pair) for pair in zip(parts[::2], parts[1::2])]
            parts = pairs + parts[2 * len(pairs) :]
        return dask.compute(*parts)[0] if parts else None


@dataclass
class RowBlocks:
    """Samples in blocks, each pass over them checked; `surveyed` is the result of the first pass."""

    source: Sequential | OnWorkers
    who: str
    sparse: bool
    surveyed: Any = None
    reader: Any = None

    def survey(self) -> Survey:
        """Run the first pass; the caller then calls `read_as`."""
        found = self.source.fold(functools.partial(survey, self.who, self.sparse), _surveyed)
        if found is None:
            raise ValueError(f"X has no samples, while a minimum of 1 is required by {self.who}.")
        if not found.weights.any():
            raise ValueError("sample_weight is zero for every sample: there is nothing to fit")
        self.surveyed = found
        self.reader = Reader(
            self.who, self.sparse, found.features, found.classes, np.ones(found.classes.size)
        )  # fmt: skip
        return found

    def weigh(self, class_weight: Any) -> np.ndarray:
        """Multiply the weights of each class by its class weight from now on; return the total weight of each class."""
        found = self.surveyed
        factors = class_weights(class_weight, found.classes, np.arange(found.classes.size), found.weights)
        self.reader = replace(self.reader, factors=factors)
        return found.weights * factors  # type: ignore[no-any-return]

    def centre(self) -> np.ndarray:
        """Take the mean of all samples off X from now on and return it; nothing is taken off sparse blocks."""
        if self.surveyed.is_sparse:
            return np.zeros(self.surveyed.features)
        self.reader = replace(self.reader, centre=self.surveyed.mean)
        return self.surveyed.mean

    def fold(
        self, function: Callable[[Block], Any], add: Callable[[Any, Any], Any] = add_up, first: bool = False
    ) -> Any:  # fmt: skip
        """Return the sum of `function` over the blocks, or of the `first` block alone, None if that is empty."""
        work, join = functools.partial(read, self.reader, function, add), functools.partial(_joined, add)
        samples, found = self.source.fold(work, join, first) or (0, None)
        if not first and samples != self.surveyed.samples:
            raise ValueError(
                f"X has other samples in each pass: {self.surveyed.samples} came first, {samples} later. Its blocks "
                "must be the same whenever its iterator starts"
            )
        return found


def is_dask(values: Any) -> bool:
    """Return True for a dask array, without importing dask."""
    return type(values).__module__.split(".")[0] == "dask" and hasattr(values, "to_delayed") and hasattr(values, "ndim")


def is_iterable(X: Any) -> bool:
    """Return True if X gives blocks by its iterator, instead of being samples."""
    if isinstance(X, (list, tuple)):
        one: Any = X[0] if X else None
        is_pair = isinstance(one, (list, tuple)) and len(one) in (2, 3)
        return getattr(one[0] if is_pair else one, "ndim", 0) == 2 or (is_pair and np.ndim(one[0]) == 2)
    is_array = any(hasattr(X, name) for name in ("shape", "__array__", "columns"))
    return hasattr(X, "__iter__") and not is_array and not isinstance(X, (dict, Sequence))


def row_blocks_of(X: Any, y: Any, sample_weight: Any, who: str, sparse: bool, arrays: bool) -> RowBlocks | None:
    """Return the blocks of an iterable and, if `arrays`, of a dask array or a large array on disk, else None."""
    if isinstance(X, (list, tuple)) and not X and y is None:
        raise ValueError("X holds no blocks: a list of (X, y) or (X, y, sample_weight) must come")
    if is_iterable(X):
        for name, one in (("y", y), ("sample_weight", sample_weight)):
            if one is not None:
                raise ValueError(
                    f"{name} must be None where X is an iterable of blocks, each of which is (X, y) or (X, y, "
                    "sample_weight)"
                )
        first = iter(X)
        if first is X or first is iter(X):
            raise TypeError(
                f"X must be an iterable whose iterator starts again, for {who} reads the blocks more than once, but "
                f"{type(X).__name__} came: give a list of blocks, or an object whose __iter__ opens them"
            )
        return RowBlocks(Sequential(X), who, sparse)
    if not arrays or y is None or getattr(X, "ndim", 0) != 2 or not 1 <= X.shape[1] <= MOST_FEATURES:
        return None
    if is_dask(X):
        return RowBlocks(OnWorkers(X, y, sample_weight), who, sparse)
    if isinstance(X, np.memmap) and X.shape[0] * X.shape[1] > BLOCK:
        return RowBlocks(Sequential(Slices(X, y, sample_weight)), who, sparse)
    return None
