"""Transfer through WordNet: its parts on made-up posts, and in short on the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments.bilevel.nouns import NounPosts, prepare
from bench.experiments.bilevel.transfer import best_accuracy, split, variants
from bench.programs.sets import DataError

pytestmark = pytest.mark.full  # whole experiments, some on real data


class FewNouns:
    """Ontology in which some words are nouns; distance is the difference of the lengths of word and label."""

    def is_noun(self, word):
        return word.startswith("n")

    def distances(self, words, label):
        return np.array([abs(len(word) - len(label)) for word in words])


def made_up(posts=90, words=40, seed=0):
    """Return posts of three labels in which words near the label are frequent."""
    rng = np.random.default_rng(seed)
    label = np.repeat(["atheism", "guns", "mideast"], posts // 3)
    distances = {name: rng.integers(0, 4, words) for name in ("atheism", "guns", "mideast")}
    X = np.vstack([rng.random(words) < 0.4 / (1 + distances[name]) ** 2 for name in label]).astype(float)
    X[:, 0] = 1.0
    return NounPosts(sp.csr_array(X), label, np.array([f"n{j}" for j in range(words)]), distances)


def test_posts_become_sets_of_their_nouns():
    words = np.array(["nab", "nabcdef", "verb", "nunused"])
    counts = sp.csr_array(np.array([[2, 0, 1, 0], [0, 0, 3, 0], [1, 1, 0, 0], [0, 0, 0, 4]]))
    label = np.array(["guns", "guns", "mideast", "autos"])
    posts = prepare(counts, label, words, FewNouns(), ("mideast", "guns"))
    assert posts.X.toarray().tolist() == [[1.0, 0.0], [1.0, 1.0]]  # the post without nouns is left out
    assert posts.label.tolist() == ["guns", "mideast"] and posts.nouns.tolist() == ["nab", "nabcdef"]
    assert posts.distances_of(("guns", "mideast")).tolist() == [[1, 3], [4, 0]]
    assert posts.signs(("guns", "mideast"), np.array([0, 1])).tolist() == [-1, 1]
    assert posts.only(np.array([False, True])).X.toarray().tolist() == [[1.0]]


def test_a_split_keeps_the_test_posts_apart_and_both_groups_in_the_sample():
    posts = made_up(300)
    train, test = ("atheism", "guns"), ("guns", "mideast")
    for seed in range(20):
        small, held_out = split(posts, train, test, 2, seed)
        large, again = split(posts, train, test, "all", seed)
        assert np.array_equal(held_out, again) and held_out.size <= 30
        assert not np.isin(large, held_out).any()
        assert set(posts.label[small]) == {"atheism", "guns"} and set(posts.label[held_out]) <= set(test)
        assert np.array_equal(large[:2], small)
        assert 165 <= large.size <= 195


def test_the_best_accuracy_is_that_of_the_best_threshold():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, signs = rng.integers(0, 6, 12).astype(float), rng.choice([-1, 1], 12)
        tried = [np.mean((values > t) == (signs > 0)) for t in (-1.0, *np.unique(values))]
        assert best_accuracy(values, signs) == max(tried)


def test_the_variants_differ_as_they_say():
    posts = made_up()
    found = variants(posts, posts)
    assert "n0" not in found["no common words"].nouns  # it is in every post
    lengths = np.asarray(found["unit length"].X.power(2).sum(axis=1)).ravel()
    assert np.allclose(lengths, 1.0)
    assert np.array_equal(found["unit length"].X.indices, posts.X.indices)


def test_without_wordnet_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    import nltk.data

    from bench.experiments.bilevel.nouns import find_wordnet

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(DataError, match=r"nltk\.downloader wordnet.*nltk_data is also looked for in the data folder"):
        find_wordnet(str(tmp_path))
