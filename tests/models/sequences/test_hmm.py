"""Hidden Markov models against the enumeration of all paths, EM that never goes down, and refusals that say why."""

import itertools
import warnings

import numpy as np
import pytest

from models import DiscreteHMM, GaussianHMM, encode_symbols
from models.base.validation import as_generator
from models.numerics.recursions import random_paths
from models.sequences.hmm import Bend, scaled, unflatten
from tests.support import chains


def posteriors(weights, states):
    """Return gamma, the expected transitions, and the expected logs of the chain's conditional probabilities."""
    total, length = sum(weights.values()), len(next(iter(weights)))
    gamma, xi = np.zeros((length, states)), np.zeros((length - 1, states, states))
    for path, weight in weights.items():
        for t, i in enumerate(path):
            gamma[t, i] += weight / total
        for t, (i, j) in enumerate(itertools.pairwise(path)):
            xi[t, i, j] += weight / total
    given = np.where(gamma > 0, gamma, 1.0)[:-1, :, None]
    logs = xi * (np.log(np.where(xi > 0, xi, 1.0)) - np.log(given))
    return gamma, xi.sum(axis=0), logs.sum(axis=0)


def cases():
    rng = np.random.default_rng(3)
    start, transitions, emissions = (
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(3), 3),
        rng.dirichlet(np.ones(4), 3),
    )
    transitions[0, 2] = emissions[0, 1] = emissions[1, 3] = emissions[2, 0] = 0.0
    rows = (part / part.sum(axis=1, keepdims=True) for part in (transitions, emissions))
    never = DiscreteHMM(3).set_model(start, *rows)  # at most positions some state is impossible
    found = {"discrete": (chains.random_discrete(rng), chains.DISCRETE), "impossible": (never, chains.DISCRETE)}
    found["gaussian"] = chains.random_gaussian(rng), chains.VECTORS
    return [pytest.param(*case, id=name) for name, case in found.items()]


@pytest.mark.parametrize("model, sequences", cases())
def test_inference_is_the_sum_over_all_paths(model, sequences):
    found = model._infer(model._batch(sequences), by_sequence=True, chain_logs=True)
    log_likelihood, gammas, paths = (f(sequences) for f in (model.score_samples, model.predict_proba, model.predict))
    for s, sequence in enumerate(map(np.asarray, sequences)):
        weights = chains.enumerate_paths(model, sequence)
        gamma, transitions, logs = posteriors(weights, 3)
        assert log_likelihood[s] == pytest.approx(np.log(sum(weights.values())), rel=1e-12)
        np.testing.assert_allclose(gammas[s], gamma, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.starts[s], gamma[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.transitions[s], transitions, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.chain_logs[s], logs, rtol=0, atol=1e-12)
        assert weights[tuple(paths[s])] == pytest.approx(max(weights.values()), rel=1e-12, abs=0.0)
    assert model.score(sequences) == pytest.approx(log_likelihood.mean())
    together = model._infer(model._batch(sequences), weight=np.arange(1.0, len(sequences) + 1.0), chain_logs=True)
    share = np.arange(1.0, len(sequences) + 1.0)
    np.testing.assert_allclose(together.emissions[0], np.tensordot(share, found.emissions, 1), atol=1e-10)
    np.testing.assert_allclose(together.transitions[0], np.tensordot(share, found.transitions, 1), atol=1e-12)


@pytest.mark.parametrize("model, sequences", cases())
def test_in_logarithms_the_posterior_is_the_same(model, sequences, monkeypatch):
    batch = model._batch(sequences)
    usual = model._infer(batch, by_sequence=True, chain_logs=True)
    fast = model._filter

    def all_lost(batch, bend=None, keep=True):
        alpha, predicted, log_likelihood, lost, chain, _ = fast(batch, bend)
        slow = {s: model._filter_in_logs(batch, chain, s, bend) for s in range(len(batch))}
        ours = np.array([slow[s][0] for s in slow])
        np.testing.assert_allclose(ours, log_likelihood, rtol=1e-12, atol=1e-15)
        return alpha * np.nan, predicted * np.nan, ours, np.ones_like(lost), chain, slow

    monkeypatch.setattr(model, "_filter", all_lost)
    weight = np.arange(2.0, 2.0 + len(batch))
    for by_sequence in (True, False):
        logs = model._infer(batch, weight, by_sequence, chain_logs=True)
        for name, value in vars(usual).items():
            if name not in ("log_likelihood", "gamma"):
                value = weight.reshape(-1, *[1] * (value.ndim - 1)) * value
                value = value if by_sequence else value.sum(axis=0, keepdims=True)
            np.testing.assert_allclose(getattr(logs, name), value, rtol=0, atol=1e-10, err_msg=name)


def test_a_bent_chain_is_the_sum_over_all_bent_paths():
    rng = np.random.default_rng(5)
    model = chains.random_discrete(rng)
    bend = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
    strength = np.array([1.5, -0.7, 0.0, 2.0])
    found = model._infer(model._batch(chains.DISCRETE), by_sequence=True, bend=Bend(strength, *bend))
    for s, sequence in enumerate(chains.DISCRETE):
        weights = chains.enumerate_paths(model, sequence, strength[s], bend)
        gamma, transitions, _ = posteriors(weights, 3)
        assert found.log_likelihood[s] == pytest.approx(np.log(sum(weights.values())), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(found.starts[s], gamma[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.transitions[s], transitions, rtol=0, atol=1e-12)
    assert np.allclose(model._infer(model._batch(chains.DISCRETE), bend=Bend(strength, *bend)).gamma.sum(axis=1), 1.0)


def test_a_product_of_scales_that_underflows_is_no_impossibility():
    # the two scales, 1e-160 and 1e-200, are doubles, but their product underflows
    chain = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
    model = DiscreteHMM(2).set_model(*chain, [[1.0 - 1e-160, 1e-160, 1e-200]] * 2)
    assert model.score_samples([[1, 2]])[0] == pytest.approx(-360 * np.log(10.0), rel=1e-14)
    np.testing.assert_allclose(model.predict_proba([[1, 2]])[0], 0.5, rtol=1e-14)


def test_a_transition_that_underflows_is_found_when_later_evidence_needs_it():
    # to stay in state 0 costs e^-1000 in all, to change to state 1 only e^-800, though at once
    model = DiscreteHMM(2).set_model([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
    bend = np.zeros(2), np.array([[0.0, -800.0], [-2000.0, 0.0]]), np.array([[0.0, -500.0], [0.0, 0.0]])
    x = [0, 0, 1, 1]
    logs = chains.enumerate_log_weights(model, x, 1.0, bend)
    found = model._infer(model._batch([x]), bend=Bend(np.ones(1), *bend))
    assert found.log_likelihood[0] == pytest.approx(np.logaddexp.reduce(list(logs.values())), rel=1e-14)
    np.testing.assert_allclose(found.gamma[-1], [0.0, 1.0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", [10.0, 100.0, 1e4])
def test_what_a_double_loses_is_found_in_logarithms(distance):
    # the first step makes state 1 less likely by e^-distance and worse, the second gives that back
    chain = [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]
    model = GaussianHMM(2).set_model(*chain, [[0.0, 0.0], [1.0, 2.0]], np.ones((2, 2)))
    x = distance * np.array([[-1.0, 0.0], [1.5, 0.0]])
    log = [-0.5 * (((x - mean) ** 2).sum() + 4 * np.log(2 * np.pi)) + np.log(0.5) for mean in model.means_]
    expected = np.logaddexp(*log)
    assert model.score_samples([x])[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(model.predict_proba([x])[0], [np.exp(log - expected)] * 2, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba([x * 1e140])[0].sum(axis=1), 1.0)


def test_evidence_that_comes_late_turns_a_lost_state_round():
    chain = [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]
    model = DiscreteHMM(2).set_model(*chain, [[1.0 - 1e-9, 1e-9], [1e-9, 1.0 - 1e-9]])
    x = [0] * 40 + [1] * 41  # after forty steps state 1 has a probability of 1e-360
    assert model.score_samples([x])[0] == pytest.approx(40 * np.log(1e-9) + np.log(0.5), rel=1e-9)
    np.testing.assert_allclose(model.predict_proba([x])[0], [[1e-9, 1.0]] * 81, rtol=1e-6, atol=0)
    _, table = model._random_paths(model._batch([[0, 1], x]), 20, np.random.default_rng(0))
    assert (table[1, :, :2] == [0.0, 1.0]).all() and (table[1, :, 5] == 80.0).all()  # each stays in state 1
    never = DiscreteHMM(2).set_model([1.0, 0.0], chain[1], model.emissionprob_)  # state 1 is not to be reached
    assert [one._filter(one._batch([x]))[3].tolist() for one in (model, never)] == [[True], [False]]


def test_seeds_and_warm_starts():
    rng = np.random.default_rng(6)
    sequences = chains.random_discrete(rng).sample([15] * 20, rng)[0]
    one, two = (DiscreteHMM(3, random_state=7).fit(sequences) for _ in range(2))
    np.testing.assert_array_equal(one.transmat_, two.transmat_)
    whole = DiscreteHMM(3, random_state=7, tol=0.0, max_iter=10).fit(sequences)
    half = DiscreteHMM(3, random_state=7, tol=0.0, max_iter=5, warm_start=True).fit(sequences).fit(sequences)
    np.testing.assert_allclose(half.transmat_, whole.transmat_, atol=1e-12)
    assert DiscreteHMM(3).fit(sequences).fit([[0, 1]]).emissionprob_.shape == (3, 2)  # a plain fit starts over


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_samples_come_from_the_model(kind):
    rng = np.random.default_rng(9)
    model = chains.random_discrete(rng) if kind == "discrete" else chains.random_gaussian(rng)
    sequences, states = model.sample([2000, 1], random_state=1)
    assert [len(s) for s in sequences] == [len(s) for s in states] == [2000, 1]
    counts = np.zeros((3, 3))
    np.add.at(counts, (states[0][:-1], states[0][1:]), 1.0)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), model.transmat_, atol=0.12)
    for i in range(3):
        own = sequences[0][states[0] == i]
        if kind == "discrete":
            np.testing.assert_allclose(np.bincount(own, minlength=4) / own.size, model.emissionprob_[i], atol=0.12)
        else:
            full = np.diag(model.covariances_[i])
            assert abs(own.mean(axis=0) - model.means_[i]).max() < 5 * np.sqrt(full.max() / own.shape[0])
            np.testing.assert_allclose(np.cov(own.T), full, atol=0.35 * full.max())


REFUSED = {
    "no list": (3, "must be a list of arrays, but int came"),
    "text": ("acgt", "must be a list of arrays, but str came"),
    "letters": ([["a", "c"]], "encode_symbols makes numbers of letters"),
    "none": ([], "at least one sequence"),
    "empty": ([[0, 1], []], r"sequences\[1\] has length 0"),
    "depth": ([[[0, 1]]], r"of 1 dimension\(s\), but sequences\[0\] has 2"),
    "fraction": ([[0, 1], [0.5]], r"sequences\[1\]\[0\] is 0.5"),
    "large": ([[0, 1], [1, 9]], r"from 0 to 3 \(-1 is a missing one\), but sequences\[1\]\[1\] is 9"),
    "negative": ([[-2]], r"sequences\[0\]\[0\] is -2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_symbols_that_are_refused(name):
    sequences, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        DiscreteHMM(2, n_symbols=4).fit(sequences)
    with pytest.raises(ValueError, match=message):
        chains.random_discrete(np.random.default_rng(0)).score_samples(sequences)


NORMAL, EVEN = chains.random_gaussian(np.random.default_rng(0)), ([0.5, 0.5], np.full((2, 2), 0.5))
REFUSED_OTHERWISE = [
    (lambda: NORMAL.predict([[[0.0, np.inf]]]), r"sequences\[0\]\[0\] has an infinity"),
    (lambda: NORMAL.predict([[[0.0, 1.0]], [[1.0]]]), r"2 features each, but sequences\[1\] has 1"),
    (lambda: NORMAL.predict([[["a", "b"]]]), "must hold numbers"),
    (lambda: GaussianHMM(2).fit([[[1.0, chains.NAN], [2.0, chains.NAN]]]), "feature 1 is missing in all sequences"),
    (lambda: DiscreteHMM(2).fit([[-1, -1]]), "every observation in sequences is missing"),
    (lambda: DiscreteHMM(2, n_symbols=0).fit([[0, 1]]), "n_symbols must be"),
    (lambda: DiscreteHMM(random_state="x").fit([[0, 1]]), "random_state must be"),
    (lambda: DiscreteHMM(2).set_model(EVEN[0], [[1.0]], [[1.0]]), r"transmat must have shape \(2, 2\)"),
    (lambda: DiscreteHMM(2).set_model([1.0], [[1.0]], [[1.0]]), "n_states = 2"),
    (lambda: DiscreteHMM(2, 3).set_model(*EVEN, EVEN[1]), r"\(2, 3\)"),
    (lambda: DiscreteHMM(2).set_model([0.5 + 1.2e-8, 0.5], EVEN[1], EVEN[1]), "startprob must be nonnegative with row"),
    (lambda: DiscreteHMM(1).set_model([1.0], [[1.0]], [[0.5, 0.6]]), "emissionprob must be nonnegative with rows"),
    (lambda: GaussianHMM(2).set_model(*EVEN, [0.0, 1.0], np.ones((2, 2))), r"means must have shape \(2, features\)"),
    (lambda: GaussianHMM(2).set_model(*EVEN, [[0.0], [1.0]], EVEN[1]), r"covariances must have shape \(2, 1\)"),
    (lambda: GaussianHMM(2).set_model(*EVEN, [[0.0], [1.0]], [[1.0], [0.0]]), "covariances must be positive"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", REFUSED_OTHERWISE)
def test_vectors_and_parameters_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_impossible_sequence_has_likelihood_zero_and_no_posterior():
    model = DiscreteHMM(2, pseudocount=0.0).set_model([1.0, 0.0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(model.score_samples([[0, 0], [0, 1], [1]]), [0.0, -np.inf, -np.inf])
    with pytest.raises(ValueError, match=r"sequences\[1\] has probability zero .* pseudocount > 0"):
        model.predict_proba([[0, 0], [0, 1]])


def test_emissions_are_scaled_by_the_largest_of_their_row_and_what_is_possible_stays_so():
    logs = np.array([[-2.0, 0.5, -np.inf], [-np.inf] * 3, [-2000.0, -2001.0, -9000.0], [800.0, 790.0, 801.0]])
    found, top = scaled(logs)
    np.testing.assert_array_equal(top, [0.5, 0.0, -2000.0, 801.0])
    expected = [[np.exp(-2.5), 1.0, 0.0], [0.0] * 3, [1.0, np.exp(-1.0), 1e-300], np.exp([-1.0, -11.0, 0.0])]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_letters_and_seeds():
    assert [a.tolist() for a in encode_symbols([["x", "y"], "yz"], ["x", "y"])] == [[0, 1], [1, -1]]
    with pytest.raises(ValueError, match="each symbol once"):
        encode_symbols(["a"], "aa")
    legacy = [as_generator(np.random.RandomState(3)).random() for _ in range(2)]
    assert legacy[0] == legacy[1]


def test_random_paths_do_not_enter_impossible_states():
    # the largest uniform numbers may be rounded up to the whole weight: the last possible state then, not the last one
    alpha = np.array([[0.3, 0.7, 0.0], [0.1, 0.9, 0.0]])
    uniforms = np.array([[np.nextafter(1.0, 0.0)] * 2, [1.0, 1.0], [0.0, 0.0]])
    paths = np.empty((3, 2), dtype=np.int64)
    random_paths(np.eye(3), alpha, uniforms, paths)
    assert paths.tolist() == [[1, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize("kind", [DiscreteHMM, GaussianHMM])
def test_a_near_uniform_start_has_states_nearly_alike(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(20, 15)) if kind is DiscreteHMM else rng.normal(size=(20, 15, 2)) * [1.0, 100.0] + 7.0
    started = kind(6, init="near_uniform", max_iter=0, random_state=1).fit(X)
    rows = [started.startprob_[None], started.transmat_]
    if kind is DiscreteHMM:
        rows.append(started.emissionprob_)
    else:
        off = (started.means_ - X.mean(axis=(0, 1))) / X.std(axis=(0, 1))
        assert 0.02 < abs(off).max() < 0.5
    for part in rows:
        np.testing.assert_allclose(part.sum(axis=1), 1.0)
        assert part.max() <= 2.0 * part.min() and part.std() > 0.0  # in proportion to 1 + U
    spread = kind(6, max_iter=0, random_state=1).fit(X)
    assert spread.transmat_.std() > 2.0 * started.transmat_.std()
    again = kind(6, init="near_uniform", max_iter=5, tol=0.0, random_state=1).fit(X)
    assert again.n_iter_ == 5 and (np.diff(again.objectives_) >= 0.0).all()


@pytest.mark.parametrize("leading", [(), (3,), (3, 2)])
def test_columns_are_arrays_behind_each_other(leading):
    shapes = [(2,), (2, 3), (1, 1), (4,)]
    parts = [np.random.default_rng(1).normal(size=(*leading, *shape)) for shape in shapes]
    flat = np.concatenate([part.reshape(*leading, -1) for part in parts], axis=-1)
    for one, other in zip(unflatten(flat, shapes), parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_random_emissions_are_the_shares_of_the_symbols_times_flat_dirichlet_rows():
    symbols, states = np.repeat([0, 1, 3], [50, 30, 20]), 20000
    model = DiscreteHMM(states, n_symbols=4)
    model._initialize(model._batch([symbols]), np.random.default_rng(0))
    rows = model.emissionprob_ / ([0.501, 0.301, 0.001, 0.201])  # a symbol that is not seen has a share, too
    shares = rows / rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(shares.mean(axis=0), 0.25, atol=0.01)
    assert (shares**2).sum(axis=1).mean() == pytest.approx(2.0 / 5.0, abs=0.01)


def test_a_table_is_not_read_as_sequences_without_a_word():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.warns(UserWarning, match=r"read as 40 sequences of 3 positions, with one feature: give \[X\]"):
        assert GaussianHMM(2, random_state=0).fit(X).means_.shape == (2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianHMM(2, random_state=0).fit([X])
        assert model.means_.shape == (2, 3)
        assert GaussianHMM(2, random_state=0).fit(X[:, :, None]).means_.shape == (2, 1)
        assert GaussianHMM(2, random_state=0).fit(list(X)).means_.shape == (2, 1)
        DiscreteHMM(2, random_state=0).fit(np.zeros((4, 3), dtype=int))
    with pytest.raises(ValueError, match=r"3 features each.* \[X\] is one sequence"):
        model.predict(X)
    with pytest.warns(UserWarning, match=r"read as 4 sequences of one position: give \[X.ravel\(\)\]"):
        DiscreteHMM(2, random_state=0).fit(np.zeros((4, 1), dtype=int))


STARTS = [[0.7, 0.3], [0.3, 0.7]], [[-1.0, 0.0], [2.0, 1.0]]


def fitted(sequences, offset=0.0, scale=1.0, **given):
    """Return a model fitted by EM from a given start, and its means and variances in the units of `sequences`."""
    transitions, means = STARTS
    model = GaussianHMM(2, pseudocount=0.0, tol=0.0, max_iter=10, warm_start=True)
    model.set_model([0.5, 0.5], transitions, np.array(means) * scale + offset, np.full((2, 2), scale**2))
    model.fit([x * scale + offset for x in sequences], **given)
    return model, (model.means_ - offset) / scale, model.covariances_ / scale**2


def drawn():
    truth = GaussianHMM(2).set_model([0.6, 0.4], STARTS[0], [[0.0, 0.0], [3.0, 1.0]], [[1.0, 1.0], [0.5, 2.0]])
    return truth.sample([40, 30, 50, 1], random_state=1)[0]


@pytest.mark.parametrize("offset, scale", [(1e9, 1.0), (0.0, 1e12), (0.0, 1e-12), (-1e8, 1e-2)])
def test_vectors_have_any_origin_and_units(offset, scale):
    sequences = [x.round(3) for x in drawn()]
    one, means, variances = fitted(sequences)
    other, moved, scaled_variances = fitted(sequences, offset, scale)
    loss = 1e-12 + 1e-14 * abs(offset) / scale  # of the sequences themselves
    np.testing.assert_allclose(moved, means, atol=100.0 * loss)
    np.testing.assert_allclose(scaled_variances, variances, rtol=100.0 * loss)
    logs = 2.0 * np.log(scale) * sum(map(len, sequences))
    assert other.objectives_[-1] + logs == pytest.approx(one.objectives_[-1], rel=100.0 * loss)


@pytest.mark.parametrize("init", ["spread", "near_uniform"])
def test_a_constant_coordinate_tells_nothing(init):
    sequences, floor = drawn(), 1e-3
    model = GaussianHMM(2, random_state=0, init=init, min_variance=floor)
    plain = model.fit(sequences).objectives_
    model.fit([np.column_stack([x, np.full(len(x), 1e9 + 0.1)]) for x in sequences])
    assert (model.covariances_[:, 2] == floor).all() and (np.diff(model.objectives_) > -1e-9).all()
    constant = -0.5 * np.log(2.0 * np.pi * floor) * sum(map(len, sequences))
    if init == "spread":  # the other start draws a number for each coordinate
        assert model.objectives_[-1] == pytest.approx(plain[-1] + constant)


def test_a_sequence_without_weight_is_not_there():
    sequences = drawn()
    far = [sequences[0] * 100.0 + 1e6]
    one, other = (fitted(s, sample_weight=w)[0] for s, w in ((sequences, None), (sequences + far, [1, 1, 1, 1, 0])))
    np.testing.assert_array_equal(one.means_, other.means_)
    np.testing.assert_array_equal(one.covariances_, other.covariances_)
    start = GaussianHMM(2, random_state=0).fit(sequences)
    np.testing.assert_array_equal(
        start.means_, GaussianHMM(2, random_state=0).fit(sequences + far, sample_weight=[1, 1, 1, 1, 0]).means_
    )


def test_the_least_variance_holds_from_any_start():
    model, _, _ = fitted([np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [3.0, 2.0]])])
    assert model.covariances_.min() == pytest.approx(1e-3 * 2.25) and np.isfinite(model.objectives_).all()
