"""Samples in blocks of rows have the answer of samples in memory, however they are cut, and are checked by block."""

import itertools
import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models import LinearDiscriminant, LinearSVC, LogisticRegression, Prototypes, QuadraticDiscriminant
from models.base import blocks as row_blocks
from models.base.blocks import Block, RowBlocks, Sequential, Slices, row_blocks_of

MODELS = [
    LinearSVC(C=0.5, intercept_scaling=2.0, tol=1e-13),
    LinearSVC(C=0.5, fit_intercept=False, tol=1e-13),
    LogisticRegression(C=0.5, tol=1e-16),
    LogisticRegression(C=0.5, fit_intercept=False, tol=1e-16),
    LinearDiscriminant(),
    LinearDiscriminant(shrinkage="auto"),
    LinearDiscriminant("spherical", mean_prior=(0.5, 3.0)),
    QuadraticDiscriminant(shrinkage="auto"),
    QuadraticDiscriminant("diagonal", covariance_prior=(5.0, 1.0)),
    Prototypes(),
]
COEFFICIENTS = ("coef_", "intercept_", "means_", "covariance_", "covariances_", "class_count_", "shrinkage_")


def copy_of(model, **changes):
    return type(model)(**{**model.get_params(), **changes})


def samples(classes=2, n=300, p=3, seed=0, labels="abcd"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.arange(1.0, p + 1.0)
    y = (X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))).argmax(axis=1)
    return X, np.array(list(labels))[y], rng.integers(0, 3, size=n).astype(float)


def cut(ends, *columns):
    ends = [0, *sorted(ends), len(columns[-1])]
    return [tuple(column[a:b] for column in columns) for a, b in itertools.pairwise(ends)]


def agree(found, known, X, near=1e-8):
    for name in COEFFICIENTS:
        if hasattr(known, name):
            np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=near, atol=near, err_msg=name)
    np.testing.assert_allclose(found.decision_function(X), known.decision_function(X), rtol=near, atol=near)
    assert found.classes_.tolist() == known.classes_.tolist() and found.n_features_in_ == X.shape[1]


@cache
def in_memory(model, classes, seed):
    return copy_of(model).fit(*samples(classes, seed=seed))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(max_examples=40, deadline=None)
@given(ends=st.lists(st.integers(0, 300), max_size=6), classes=st.integers(2, 4), seed=st.integers(0, 5))
def test_any_cut_into_blocks_has_the_answer_of_memory(model, ends, classes, seed):
    X, y, weights = samples(classes, seed=seed)
    agree(copy_of(model).fit(cut(ends, X, y, weights)), in_memory(model, classes, seed), X)


@pytest.mark.parametrize("model", MODELS[:4], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 0.2, "b": 3.0, "c": 1.0}])
def test_weights_of_classes(model, classes, class_weight):
    X, y, weights = samples(classes)
    model = copy_of(model, class_weight=class_weight)
    agree(copy_of(model).fit(cut([7, 150], X, y, weights)), model.fit(X, y, weights), X)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], *MODELS[4:]], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_columns_far_from_zero(model, classes):
    """The answer in columns plus 1e6 is that of the columns themselves, where the program does not see the offset."""
    X, y, weights = samples(classes, n=2000)
    X = np.round(X, 6)  # X + 1e6 keeps these digits
    far = X + np.array([1e6, -1e6, 0.0])
    found = copy_of(model).fit(cut([30, 900], far, y, weights))
    if isinstance(model, LinearSVC):  # its penalty sees the offset
        known = copy_of(model, tol=1e-8).fit(far, y, weights)
        assert found.objective_ <= known.objective_ * (1.0 + 1e-10)
        assert abs(found.objective_ - found.dual_objective_) <= 1e-9 * found.objective_
    elif model.get_params().get("mean_prior") is None:
        known = copy_of(model).fit(X, y, weights)
        agree(copy_of(model).fit(far, y, weights), found, far, 1e-7)
        np.testing.assert_allclose(found.decision_function(far), known.decision_function(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_array_on_disk_is_read_in_blocks(model, tmp_path, monkeypatch):
    X, y, weights = samples(3)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    known = copy_of(model).fit(X.astype(np.float32).astype(float), y, weights)
    monkeypatch.setattr(row_blocks, "BLOCK", 100)
    passes = []
    monkeypatch.setattr(Slices, "__iter__", lambda self, start=Slices.__iter__: passes.append(self) or start(self))
    for mode in ("r", "c"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        agree(copy_of(model).fit(mapped, y, weights), known, X)
        agree(copy_of(model).fit(mapped[:], y, weights), known, X)
    assert len(passes) >= 12


@pytest.mark.parametrize("model", MODELS[:4], ids=repr)
def test_sparse_blocks(model):
    X, y, weights = samples(3)
    X[np.abs(X) < 1.0] = 0.0
    known = copy_of(model).fit(X, y, weights)
    agree(copy_of(model).fit(cut([40, 41, 200], sp.csr_array(X), y, weights)), known, X)
    mixed = [(sp.csr_array(X[:90]), y[:90], weights[:90]), (X[90:], y[90:], weights[90:])]
    agree(copy_of(model).fit(mixed), known, X)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_dask_arrays(model):
    da = pytest.importorskip("dask.array")
    X, y, weights = samples(3)
    known = copy_of(model).fit(X, y, weights)
    cuts = da.from_array(X, chunks=(70, 2)), da.from_array(y, chunks=50), da.from_array(weights, chunks=300)
    agree(copy_of(model).fit(*cuts), known, X)
    agree(copy_of(model).fit(cuts[0], y, weights), known, X)
    agree(copy_of(model).fit(cuts[0][X[:, 0] > -9.0], cuts[1][X[:, 0] > -9.0]), copy_of(model).fit(X, y), X)


class Counted:
    """Blocks whose iterator starts again, with the number of starts."""

    def __init__(self, blocks, change=None):
        self.blocks, self.change, self.starts = blocks, change, 0

    def __iter__(self):
        self.starts += 1
        for k, block in enumerate(self.blocks, 1):
            yield block if self.change is None else self.change(self.starts, k, block)


def test_workers_sum_where_the_blocks_lie():
    distributed = pytest.importorskip("distributed")
    import dask.array as da

    X, y, _ = samples(3, n=600)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as here:
        with distributed.Client(here):
            cuts = da.from_array(X, chunks=(100, 3)).persist(), da.from_array(y, chunks=100).persist()
            for model in (MODELS[0], MODELS[2], MODELS[4]):
                agree(copy_of(model).fit(*cuts), copy_of(model).fit(X, y), X)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
def test_labels_are_found_in_the_first_pass(model):
    X, y, weights = samples(3)
    order = np.argsort(y)
    sorted_blocks = cut([50, 100, 220], X[order], y[order], weights[order])  # the first lacks two classes
    agree(copy_of(model).fit(Counted(sorted_blocks)), copy_of(model).fit(X, y, weights), X)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
def test_few_passes_suffice(model):
    X, y, _ = samples(2, n=4000)
    data = Counted(cut(range(0, 4000, 500), X, y))
    copy_of(model).fit(data)
    assert data.starts <= 30  # those over the first block alone included


def bad(value, column):
    def change(start, k, block):
        if k != 3:
            return block
        X, y = block[0].copy(), block[1]
        if column == "X":
            X[4, 1] = value
        elif column == "features":
            X = X[:, :2]
        elif column == "y":
            y = y[1:]
        elif column == "label":
            y = np.full(y.size, 7)
        elif column == "kind":
            return [X]
        return X, y

    return change


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
@pytest.mark.parametrize("change, words", [
    (bad(np.nan, "X"), "block 3: Input X contains NaN or infinity"),
    (bad(-np.inf, "X"), "block 3: Input X contains NaN or infinity"),
    (bad(0, "features"), "block 3: the blocks before have features 3, this one 2"),
    (bad(0, "y"), "block 3: Found input variables with inconsistent numbers of samples"),
    (bad(0, "label"), "block 3: the blocks before have labels of the kind text, this one numbers"),
    (bad(0, "kind"), r"block 3: \(X, y\) or \(X, y, sample_weight\) must come, but list did"),
])  # fmt: skip
def test_a_bad_block_is_named(model, change, words):
    X, y, _ = samples(2)
    data = Counted(cut([100, 200], X, y), change)
    with pytest.raises((ValueError, TypeError), match=words):
        copy_of(model).fit(data)
    assert data.starts <= 3 and not hasattr(model, "coef_")


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
@pytest.mark.parametrize("change, words", [
    (lambda start, k, block: block if start < 3 or k != 2 else (block[0][:5], block[1][:5]), "other samples in each"),
    (lambda start, k, block: block if start < 3 or k != 2 else (block[0], np.full(len(block[1]), "z")),
     r"block 2: the labels \['z'\] are not those of the first pass"),
    (lambda start, k, block: block if start < 3 or k != 2 else (block[0][:, :2], block[1]),
     "block 2: the first pass found 3 features, this one 2"),
])  # fmt: skip
def test_blocks_that_change_between_passes_are_refused(model, change, words):
    X, y, _ = samples(2)
    with pytest.raises(ValueError, match=words):
        copy_of(model).fit(Counted(cut([100, 200], X, y), change))


class Spent:
    """An object whose iterator is always the same one."""

    def __init__(self, blocks):
        self.iterator = iter(blocks)

    def __iter__(self):
        return self.iterator


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
def test_blocks_that_come_once_are_refused_before_any_is_read(model):
    X, y, _ = samples(2)
    read = []
    generator = (read.append(block) or block for block in cut([100], X, y))
    for data in (generator, Spent(generator), iter(cut([100], X, y))):
        with pytest.raises(TypeError, match="an iterable whose iterator starts again"):
            copy_of(model).fit(data)
    assert not read


def test_what_needs_all_samples_says_so():
    X, y, _ = samples(2)
    for model, words in (
        (LinearSVC(loss="hinge"), "loss='hinge' needs all samples at once"),
        (LogisticRegression(C=np.inf), "C=inf need all samples"),
        (LogisticRegression(solver="conjugate_gradients"), "need all samples"),
    ):
        with pytest.raises(ValueError, match="X must be in memory, but an iterable of blocks came: .*" + words):
            model.fit(cut([100], X, y))
    with pytest.raises(ValueError, match="X_unlabelled must be None"):
        LinearDiscriminant().fit(cut([100], X, y), X_unlabelled=X)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        LinearSVC().fit(cut([100], X, y), None, np.ones(300))
    for blocks in (cut([100], X, y), Counted(cut([100], X, y))):
        with pytest.raises(ValueError, match=r"y must be None where X is an iterable of blocks"):
            LinearSVC().fit(blocks, y)
    with pytest.raises(TypeError, match=r"block 1: \(X, y\) or \(X, y, sample_weight\) must come, but ndarray did"):
        LinearSVC().fit([X, X])
    with pytest.raises(ValueError, match="X holds no blocks"):
        LinearSVC().fit([])
    with pytest.raises(ValueError, match="block 1: Input X contains NaN"):
        LinearDiscriminant().fit([(np.full((3, 2), np.nan), [0, 1, 0])])
    with pytest.raises(ValueError, match="no samples"):
        LinearSVC().fit(Counted([]))
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit([(X, np.zeros(300))])
    with pytest.raises(ValueError, match="zero for every sample of the classes"):
        LinearSVC().fit([(X, y, (y == "a").astype(float))])
    with pytest.raises(ValueError, match="fewer features"):
        LogisticRegression().fit([(np.zeros((2, 6000)), [0, 1])])


@pytest.mark.parametrize("model", [LinearSVC(C=0.1), LogisticRegression(C=0.1)], ids=repr)
def test_an_interrupt_keeps_the_last_whole_pass(model):
    X, y, _ = samples(2)

    def change(start, k, block):
        if start == 6 and k == 2:
            raise KeyboardInterrupt
        return block

    with pytest.warns(UserWarning, match="ended after"), pytest.raises(KeyboardInterrupt):
        model.fit(Counted(cut([100, 200], X, y), change))
    known = copy_of(model).fit(X, y)
    assert model.score(X, y) > 0.9 * known.score(X, y)
    agree(model.fit(Counted(cut([100, 200], X, y))), copy_of(model, tol=1e-15).fit(X, y), X, 1e-7)


def test_a_time_limit_keeps_the_last_whole_pass():
    X, y, _ = samples(2)
    with pytest.warns(UserWarning, match="time_limit"):
        model = LinearSVC(C=100.0, time_limit=1e-9).fit(cut([100, 200], X, y))
    assert model.coef_.shape == (1, 3) and model.n_iter_ <= 1


def test_column_names_must_be_those_of_the_first_block():
    pd = pytest.importorskip("pandas")
    X, y, _ = samples(2)
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    model = LinearSVC().fit(cut([100], table, y))
    assert model.feature_names_in_.tolist() == ["u", "v", "w"] and model.predict(table[:3]).size == 3
    with pytest.raises(ValueError, match="block 2: the blocks before have column names"):
        LinearSVC().fit([(table, y), (table[["v", "u", "w"]], y)])


def test_what_is_fitted_leaves_the_blocks_behind():
    X, y, _ = samples(2)
    for model in (LinearSVC(), LogisticRegression(), LinearDiscriminant()):
        model.fit(cut([100], X, y))
        assert len(pickle.dumps(model)) < X.nbytes
    added = LinearDiscriminant().fit(cut([100], X, y)).add_class(X + 4.0, "c")
    agree(added, LinearDiscriminant().fit(np.vstack([X, X + 4.0]), np.append(y, np.full(300, "c"))), X)


def test_lists_of_rows_and_small_arrays_on_disk_stay_in_memory(tmp_path):
    X, y, _ = samples(2)
    np.save(tmp_path / "X.npy", X)
    for given_X, given_y in (
        ([[1.0, 2.0], [3.0, 4.0]], None),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), y),
        ("a", None),
    ):
        assert row_blocks_of(given_X, given_y, None, "LinearSVC", True, True) is None


def test_the_means_of_the_survey_are_right():
    X, y, weights = samples(3)
    found = RowBlocks(Sequential(cut([1, 100], X + 1e6, y, weights)), "X", False).survey()
    for label, mean, weight in zip(found.classes, found.means, found.weights):
        own = y == label
        np.testing.assert_allclose(mean, np.average(X[own], axis=0, weights=weights[own]) + 1e6, rtol=1e-15)
        assert weight == weights[own].sum()
    np.testing.assert_allclose(found.mean, np.average(X, axis=0, weights=weights) + 1e6, rtol=1e-15)


def test_sums_are_over_rows_of_positive_weight():
    X, y, weights = samples(2)
    blocks = RowBlocks(Sequential(cut([1, 100], X, y, weights)), "X", False)
    blocks.survey()
    blocks.weigh({"a": 2.0, "b": 1.0})
    blocks.centre()

    def count(block: Block):
        return block.codes.size, block.weights.sum(), block.weights @ block.X

    size, total, moment = blocks.fold(count)
    assert size == (weights > 0).sum() and total == (weights * np.where(y == "a", 2.0, 1.0)).sum()
    centred = X - np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(moment, (weights * np.where(y == "a", 2.0, 1.0)) @ centred, atol=1e-10)
