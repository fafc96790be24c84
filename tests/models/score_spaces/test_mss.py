"""The max-margin score space: tilted posteriors against enumeration, an objective that never rises, eq. 18 and 22."""

import copy
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from models import SVC, DiscreteHMM, GaussianHMM, LatentDirichletAllocation, MaxMarginScoreSpace
from models.score_spaces.med import best_multipliers, margin_loss
from models.score_spaces.sufficient_statistics import SideBySide, statistics_of
from models.score_spaces.tilts import SampledTilt, tilt_exactly
from tests.support.chains import DISCRETE, enumerate_paths, random_discrete
from tests.support.topic_models import corpus, fitted

A, C = 1.0, 6.0


def two_kinds(lengths, seed=0, sticky=0.7):
    """Return sequences of two chains, whose state changes often in the one and seldom in the other, and labels."""
    emissions = [[0.9, 0.1], [0.1, 0.9]]
    chains = ([[0.2, 0.8], [0.8, 0.2]], [[sticky, 1 - sticky], [1 - sticky, sticky]])
    X = []
    for k, chain in enumerate(chains):
        X += DiscreteHMM(2).set_model([0.5, 0.5], chain, emissions).sample(lengths, random_state=seed + k)[0]
    return X, np.repeat(["often", "seldom"], len(lengths))


@pytest.mark.parametrize("seeds", [(2, 3), pytest.param((14, 18), marks=pytest.mark.full)])
def test_restarts_leave_no_fit_at_chance(seeds, monkeypatch):
    """Some starts of EM end at equal statistics of both kinds; restarts avoid them."""
    X, y = two_kinds([20] * 30, sticky=0.8)
    new, truth = two_kinds([20] * 100, seed=50, sticky=0.8)
    once, best = [], []
    for seed in seeds:
        model = DiscreteHMM(2, random_state=seed)
        one, space = MaxMarginScoreSpace(model, n_init=1).fit(X, y), MaxMarginScoreSpace(model).fit(X, y)
        once.append(one.score(new, truth))
        best.append(space.score(new, truth))
        assert space.objectives_[0][-1] <= one.objectives_[0][-1]
    assert min(once) < 0.75 and min(best) > 0.85, (once, best)
    learn, drawn = MaxMarginScoreSpace._learn_from, []
    monkeypatch.setattr(
        MaxMarginScoreSpace, "_learn_from", lambda *given: drawn.append(given[1].random_state) or learn(*given)
    )
    again = MaxMarginScoreSpace(model).fit(X, y)
    assert np.array_equal(again.coef_, space.coef_)  # the starts' seeds are derived from the model's seed
    assert len(set(drawn)) == len(drawn) > 1


def falls(objectives):
    """Return True if the objectives never rise, up to rounding, and the last one is well below the first."""
    size = abs(objectives[0])
    return (np.diff(objectives) <= 1e-9 * size).all() and objectives[-1] < objectives[0] - 1e-5 * size


def path_statistics(x, path):
    found = np.zeros(3 + 9 + 12)
    found[path[0]] += 1.0
    for i, j in itertools.pairwise(path):
        found[3 + 3 * i + j] += 1.0
    for i, k in zip(path, x):
        if k != -1:
            found[12 + 4 * i + k] += 1.0
    return found


@pytest.mark.full
@pytest.mark.parametrize("xi", [1.0, 4.0])
def test_the_exact_tilt_is_the_best_of_all_distributions_over_paths(xi):
    rng = np.random.default_rng(0)
    model, signs = random_discrete(rng), np.array([1.0, -1.0, 1.0, 1.0])
    w, offset = rng.normal(size=24), 0.3
    found = tilt_exactly(statistics_of(model, DISCRETE), signs, w, offset, A, C, xi)
    for s, (x, sign) in enumerate(zip(DISCRETE, signs)):
        weights = enumerate_paths(model, x)
        paths, log_p = list(weights), np.log(list(weights.values()))
        T = np.array([path_statistics(x, path) for path in paths])

        def cost(logits, T=T, log_p=log_p, sign=sign):
            q = np.exp(logits - logits.max())
            q /= q.sum()
            margin = sign * (q @ T @ w + offset)
            slope = -xi * best_multipliers(np.array([margin]), A, C)[0] * sign * (T @ w)
            entry = np.log(np.maximum(q, 1e-300)) - log_p
            value = q @ entry + xi * margin_loss(np.array([margin]), A, C)[0]
            return value, q * (entry + slope - q @ (entry + slope))

        best = min(
            (minimize(cost, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000})
            for start in (log_p, np.zeros(log_p.size))),
            key=lambda found: found.fun,
        )  # fmt: skip
        assert found.divergence[s] + xi * found.loss[s] == pytest.approx(best.fun, abs=1e-7)
        margin = sign * (found.table[s] @ w + offset)
        assert found.multipliers[s] == pytest.approx(best_multipliers(np.array([margin]), A, C)[0], abs=1e-7)
        assert found.loss[s] == pytest.approx(margin_loss(np.array([margin]), A, C)[0], abs=1e-12)
    plain = statistics_of(model, DISCRETE).expect()
    free = found.multipliers == 0.0
    np.testing.assert_allclose(found.table[free], plain.table[free])
    gained = signs * ((found.table - plain.table) @ w)
    assert (gained >= -1e-12).all() and gained.max() > 0.1  # "favors large margin"


def sequences(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "discrete":
        X, y = two_kinds([12] * 15, seed)
        X[0][3], X[20][0] = -1, -1
        return DiscreteHMM(3, random_state=seed), X, y
    X = [rng.normal(size=(rng.integers(3, 9), 2)) + 0.5 * (s % 3) for s in range(30)]
    X[4][1, 0] = np.nan
    return GaussianHMM(2, random_state=seed), X, np.arange(30) % 3


@pytest.mark.parametrize("xi, c", [(10.0, 60.0), (1000.0, 600.0)])
def test_a_strong_tilt_is_the_best_too(xi, c):
    """The multipliers are optimal for the margins, and the cost is below that of other multipliers."""
    model, X, y = sequences("discrete", 0)
    samples, signs = statistics_of(model.fit(X), X), np.where(y == y[0], 1.0, -1.0)
    w, offset = 3.0 * np.random.default_rng(0).normal(size=3 + 9 + 6), -0.4
    found = tilt_exactly(samples, signs, w, offset, A, c, xi)
    margins = signs * (found.table @ w + offset)
    np.testing.assert_allclose(found.multipliers, best_multipliers(margins, A, c), rtol=0, atol=2e-9 * c)
    costs = found.divergence + xi * found.loss
    for share in (0.0, 0.5, 0.9, 1.1, 2.0):
        other = share * found.multipliers
        tilted = samples.expect(w, xi * other * signs)
        divergence = xi * other * signs * (tilted.table @ w) - tilted.log_partition
        loss = margin_loss(signs * (tilted.table @ w + offset), A, c)
        assert (costs <= divergence + xi * loss + 1e-7 * (1.0 + abs(costs))).all()


@pytest.mark.parametrize("inference", ["exact", "sampler"])
@pytest.mark.parametrize("xi, c", [(10.0, 60.0), (1000.0, 600.0)])
def test_a_strong_tilt_overflows_nowhere(xi, c, inference):
    X, y = two_kinds([40] * 12, sticky=0.6)
    model = DiscreteHMM(3, random_state=0)
    space = MaxMarginScoreSpace(model, xi=xi, c=c, inference=inference, random_state=0).fit(X, y)
    assert np.isfinite(space.objectives_[0]).all() and np.isfinite(space.transform(X)).all()
    if inference == "exact":
        assert falls(space.objectives_[0])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["discrete", "vectors"])
@pytest.mark.parametrize("seed", range(3))
def test_no_round_raises_the_objective(kind, seed):
    model, X, y = sequences(kind, seed)
    space = MaxMarginScoreSpace(model, xi=20.0, max_iter=15, tol=0.0).fit(X, y)
    for objectives in space.objectives_:
        assert objectives.size > 5
        assert falls(objectives) and objectives[-1] < objectives[0] - 0.1


@pytest.mark.parametrize("xi, c", [(5.0, 6.0), (1000.0, 600.0)])
def test_the_objective_of_topics_never_rises_either(xi, c):
    X = corpus(0)
    space = MaxMarginScoreSpace(LatentDirichletAllocation(3, random_state=0), xi=xi, c=c, tol=0.0)
    space.fit(X, np.arange(30) % 2)
    assert (np.diff(space.objectives_[0]) <= 1e-6 * abs(space.objectives_[0][0])).all()
    assert xi == 5.0 or falls(space.objectives_[0])
    assert space.transform(X).shape == (30, 3 + 12 * 3) and np.isfinite(space.transform(X)).all()


def test_the_weights_are_eq_22_and_the_margins_eq_18():
    X, y = two_kinds([20] * 20)
    space = MaxMarginScoreSpace(DiscreteHMM(2, random_state=0), max_iter=1, n_init=1).fit(X, y)
    signs = np.where(y == "seldom", 1.0, -1.0)
    model = DiscreteHMM(2, random_state=0).fit(X)
    samples = statistics_of(model, X)
    table = samples.expect().table
    mean = table.mean(axis=0)
    scale = np.sqrt(((table - mean) ** 2).sum(axis=1).mean())
    # round one: lambda and u of the plain statistics, the tilt, then the last lambda and u of the tilted ones
    from models.score_spaces.med import discriminate

    u = discriminate(signs[:, None] * np.c_[(table - mean) / scale, np.ones(40)], A, C).weights
    tilted = tilt_exactly(samples, signs, u[:-1] / scale, u[-1] - u[:-1] @ mean / scale, A, C, 1.0)
    phi = np.c_[(tilted.table - mean) / scale, np.ones(40)]
    last = (space.multipliers_[0] * signs) @ phi
    np.testing.assert_allclose(space.coef_[0], last[:-1] / scale, atol=1e-6)
    assert space.intercept_[0] == pytest.approx(last[-1] - last[:-1] @ mean / scale, abs=1e-5)
    np.testing.assert_allclose(space.expected_margins_, A - 1 / (C - space.multipliers_))
    margins = signs * (phi @ last)
    assert (margins >= space.expected_margins_[0] - 1e-4).all()
    samples.maximize(tilted.table, np.arange(40))
    np.testing.assert_allclose(space.models_[0].transmat_, model.transmat_, atol=1e-8)


def test_accepted_paths_follow_the_tilted_posterior():
    rng = np.random.default_rng(1)
    model = random_discrete(rng)
    X, signs = DISCRETE, np.array([1.0, -1.0, 1.0, -1.0])
    samples = SideBySide([statistics_of(model, X)], np.zeros(4, dtype=int))
    sampler = SampledTilt(samples, A, C, 1.0, 40_000, np.random.default_rng(0))
    sampler.start()
    w, multipliers = np.append(0.5 * rng.normal(size=24), np.zeros(24)), np.array([1.0, 0.5, 0.0, 1.5])
    found = sampler.tilt(signs, w, 0.0, multipliers)
    exact = statistics_of(model, X).expect(w[:24], multipliers * signs)
    np.testing.assert_allclose(found.table[:, :24], exact.table, atol=0.05)
    divergence = multipliers * signs * (exact.table @ w[:24]) - exact.log_partition
    np.testing.assert_allclose(found.divergence, divergence, atol=0.05)


def test_topics_of_a_given_model_are_tilted_towards_the_label_as_far_as_the_margin_needs():
    model = fitted(np.random.default_rng(0).dirichlet(np.ones(4), 2), np.ones(2))
    X, signs, w = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.append([1.0, -1.0], np.zeros(8))
    samples = statistics_of(model, X)
    tilted, plain = tilt_exactly(samples, signs, w, 0.0, A, C, 1.0), samples.expect().table
    gained = signs * ((tilted.table - plain) @ w)
    np.testing.assert_array_equal(gained > 1e-3, signs * (plain @ w) < A - 1 / C)
    margins = signs * (tilted.table @ w)
    np.testing.assert_allclose(tilted.multipliers, best_multipliers(margins, A, C), atol=1e-6)


def test_a_models_words_topics_are_drawn_as_enumeration_has_them():
    rng = np.random.default_rng(5)
    prior, counts = np.array([0.7, 0.4, 1.1]), np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 3.0, 1.0, 0.0]])
    model = fitted(rng.dirichlet(np.ones(4), 3), prior)
    w, strength = rng.normal(size=3 + 12), np.array([0.9, -1.3])
    found, _ = statistics_of(model, counts).draw_tilted(np.tile(w, (2, 1)), strength, 60_000, np.random.default_rng(0))
    for d, row in enumerate(counts):
        tokens, expected, total = np.repeat(np.arange(4), row.astype(int)), np.zeros(15), 0.0
        for z in itertools.product(range(3), repeat=tokens.size):
            T = np.zeros(15)
            n = np.bincount(z, minlength=3)
            T[:3] = n
            np.add.at(T, 3 + 3 * tokens + np.array(z), 1.0)
            # theta integrated out: the Polya distribution of the topics
            log_p = (gammaln(prior + n) - gammaln(prior)).sum() + np.log(model.components_[list(z), tokens]).sum()
            weight = np.exp(log_p + strength[d] * (w @ T))
            expected, total = expected + weight * T, total + weight
        np.testing.assert_allclose(found[d], expected / total, atol=0.03)


def test_topics_are_learned_by_the_sampler_too():
    X = corpus(0)
    y = (X[:, :6].sum(axis=1) > 20).astype(int)
    model = LatentDirichletAllocation(3, learn_prior=True, random_state=0)
    spaces = [
        MaxMarginScoreSpace(model, inference="sampler", n_draws=60, max_iter=3, random_state=0).fit(X, y)
        for _ in range(2)
    ]
    assert spaces[0].transform(X).shape == (30, 3 + 12 * 3) and spaces[0].score(X, y) > 0.8
    np.testing.assert_array_equal(spaces[0].coef_, spaces[1].coef_)
    exact = MaxMarginScoreSpace(model, max_iter=3, tol=0.0).fit(X, y)
    np.testing.assert_allclose(spaces[0].models_[0].components_, exact.models_[0].components_, atol=0.15)


def pair_of(X, y, seed=0):
    models = [DiscreteHMM(2, 2, random_state=seed).fit([x for x, own in zip(X, y) if own == k]) for k in np.unique(y)]
    return SideBySide([statistics_of(model, X) for model in models], (y == np.unique(y)[1]).astype(int))


def test_a_pair_of_chains_is_tilted_by_one_multiplier_a_sample():
    X, y = two_kinds([12] * 10)
    samples, signs = pair_of(X, y), np.where(y == "seldom", 1.0, -1.0)
    w, offset = np.random.default_rng(1).normal(size=20), 0.2
    found = tilt_exactly(samples, signs, w, offset, A, C, 2.0)
    assert (found.multipliers > 0.0).any()
    evidence = []
    for part, own, table in zip(samples.parts, np.split(w, 2), np.split(found.table, 2, axis=1)):
        alone = part.expect(own, 2.0 * found.multipliers * signs)
        np.testing.assert_allclose(table, alone.table, atol=1e-9)  # given lambda the chains are independent
        evidence.append((alone.log_partition, part.model.score_samples(X)))
    margins = signs * (found.table @ w + offset)
    np.testing.assert_allclose(found.multipliers, best_multipliers(margins, A, C), atol=1e-7)
    exponent = 2.0 * found.multipliers * signs * (found.table @ w)
    divergence = exponent - evidence[0][0] - evidence[1][0]
    other = np.where(y == "seldom", evidence[0][1], evidence[1][1])
    np.testing.assert_allclose(found.divergence, divergence + other, atol=1e-8)
    # lambda = 0 is a candidate, so the cost is at most that of the untilted posteriors
    plain = samples.expect()
    loss = margin_loss(signs * (plain.table @ w + offset), A, C)
    assert (found.divergence + 2.0 * found.loss <= -samples.of_owner() + 2.0 * loss + 1e-9).all()


@pytest.mark.parametrize("inference", ["exact", "sampler"])
def test_a_model_for_each_class_learns_from_its_own_samples(inference):
    X, y = two_kinds([25] * 30)
    new, truth = two_kinds([25] * 30, seed=10)
    model = DiscreteHMM(2, random_state=0, max_iter=10)
    space = MaxMarginScoreSpace(model, per_class=True, inference=inference, max_iter=4, random_state=0).fit(X, y)
    assert len(space.models_) == 2 and space.coef_.shape[0] == 1 and space.multipliers_.shape == (1, 60)
    assert space.transform(new).shape[1] == (20 if inference == "exact" else 40) == space._n_features_out
    assert space.score(new, truth) > 0.85
    own = [model.score_samples(new) for model in space.models_]  # in the order of classes_
    assert ((own[1] > own[0]) == (truth == space.classes_[1])).mean() > 0.85


def test_one_step_of_a_pair_is_the_m_step_of_each_on_its_own_samples():
    X, y = two_kinds([12] * 10)
    samples = pair_of(X, y)
    table, kept = samples.expect().table, [copy.deepcopy(part.model) for part in samples.parts]
    samples.maximize(table)
    for k, (part, model) in enumerate(zip(samples.parts, kept)):
        own = [x for x, owner in zip(X, samples.owners) if owner == k]
        model.set_params(warm_start=True, max_iter=1, tol=0.0).fit(own)
        np.testing.assert_allclose(part.model.transmat_, model.transmat_, atol=1e-12)
        np.testing.assert_allclose(part.model.emissionprob_, model.emissionprob_, atol=1e-12)
    own = [samples.parts[k].model.score_samples([x])[0] for x, k in zip(X, samples.owners)]
    np.testing.assert_allclose(samples.of_owner(), own)


@pytest.mark.parametrize("per_class", [False, True])
def test_one_machine_a_pair_of_classes(per_class):
    rng = np.random.default_rng(3)
    chains = [random_discrete(rng) for _ in range(4)]
    X = [x for k, chain in enumerate(chains) for x in chain.sample([30] * 12, random_state=k)[0]]
    X = [np.where(x == 3, 2, x) if s >= 12 else x for s, x in enumerate(X)]  # a symbol that occurs in one class only
    y = np.repeat([2, 5, 7, 9], 12)
    model = DiscreteHMM(3, random_state=0, max_iter=20)
    space = MaxMarginScoreSpace(model, per_class=per_class, multi_class="ovo", max_iter=2).fit(X, y)
    assert space.coef_.shape[0] == 6 and len(space.models_) == (12 if per_class else 6)
    assert space.decision_function(X).shape == (48, 4) and space.score(X, y) > 0.7
    assert space.multipliers_.shape == (6, 48) and (space.multipliers_[5, :24] == 0.0).all()
    assert space.transform(X[:5]).shape == (5, space._n_features_out)


def test_features_tilted_by_labels_tell_even_meaningless_labels_apart():
    rng = np.random.default_rng(0)
    X, new = (list(rng.integers(0, 3, size=(40, 20))) for _ in range(2))
    y, truth = (rng.permutation(np.repeat(["a", "b"], 20)) for _ in range(2))
    space = MaxMarginScoreSpace(DiscreteHMM(3, random_state=0), per_class=True).fit(X, y)
    assert space.score(new, truth) < 0.8
    tables = [space.transform_labelled(*half) for half in ((X, y), (new, truth))]
    fitted = SVC(kernel="linear", C=10.0).fit(tables[0], y)
    assert fitted.score(tables[1], truth) > space.score(new, truth) + 0.15
    sides = (y == "b").astype(int)
    samples = SideBySide([statistics_of(model, X) for model in space.models_], sides)
    tilted = tilt_exactly(samples, 2.0 * sides - 1.0, space.coef_[0], space.intercept_[0], A, C, 1.0)
    np.testing.assert_allclose(tables[0], tilted.table, atol=1e-9)
    with pytest.raises(ValueError, match=r"y must hold labels of \['a', 'b'\], but \['c'\] came"):
        space.transform_labelled(X[:2], ["c", "c"])
    with pytest.raises(ValueError, match='needs inference="exact"'):
        space.set_params(inference="sampler").transform_labelled(X, y)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_features_tilted_by_labels_of_three_classes(scheme):
    rng = np.random.default_rng(1)
    X, y = list(rng.integers(0, 3, size=(30, 12))), np.repeat([0, 1, 2], 10)
    space = MaxMarginScoreSpace(DiscreteHMM(2, random_state=0), multi_class=scheme, max_iter=2).fit(X, y)
    found, plain = space.transform_labelled(X, y), space.transform(X)
    assert found.shape == plain.shape and not np.allclose(found, plain)
    if scheme == "ovo":  # the first machine has classes 0 and 1 only
        np.testing.assert_allclose(found[20:, :10], plain[20:, :10])
    np.testing.assert_allclose(space.transform_labelled(X[25:], y[25:]), found[25:], atol=1e-9)
