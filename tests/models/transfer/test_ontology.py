"""Semantic distances in any graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import socp
from models import UNREACHABLE, Graph, semantic_distances
from models.transfer.ontology import links_from, undirected_links


@pytest.mark.parametrize("seed", range(5))
def test_breadth_first_search_finds_the_shortest_paths(seed):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 200, (180, 2))  # too few links to reach all nodes
    links = undirected_links(200, ends)
    sources = rng.choice(200, 3)
    plain = sp.csr_matrix(links.toarray(), dtype=float)  # with the indices of 32 bits that scipy below 1.13 wants
    shortest = dijkstra(plain, unweighted=True, indices=sources).min(axis=0)
    found = links_from(links, sources)
    assert np.array_equal(np.where(np.isinf(shortest), UNREACHABLE, shortest), found)
    assert (found == UNREACHABLE).any() and (found > 3).any()


class Adjacency:
    """Graph with the interface of networkx: iteration over nodes, and a mapping of neighbours for each node."""

    def __init__(self, edges):
        self.edges = edges

    def __iter__(self):
        return iter(sorted({node for edge in self.edges for node in edge}))

    def __getitem__(self, node):
        return {other: {} for edge in self.edges for other in edge if node in edge and other != node}


def test_mappings_of_all_kinds_are_one_graph():
    edges = [("gun", "weapon"), ("bomb", "weapon"), ("weapon", "thing"), ("car", "thing"), ("god", "deity")]
    forms = [
        Adjacency(edges),
        {"weapon": ["gun", "bomb", "thing"], "thing": {"car"}, "deity": ("god",)},
        {"gun": {"weapon": {"weight": 3}}, "bomb": {"weapon": {}}, "car": {"thing": {}}, "thing": {"weapon": {}},
         "god": {"deity": {}}},
    ]  # fmt: skip
    words = ["car", "gun", "bomb", "deity", "never"]
    for form in forms:
        found = semantic_distances(form, words, ["gun", ("car", "god")])
        assert found.tolist() == [[3, 0, 2, UNREACHABLE, UNREACHABLE], [0, 3, 3, 1, UNREACHABLE]]
        assert found.dtype == np.int64


def test_of_several_words_of_a_label_the_unknown_ones_are_left_out():
    assert Graph({"a": ["b"], "b": ["c"]}).distances(["c"], ["a", "nowhere"]).tolist() == [2]


def test_no_words_have_no_distances():
    assert semantic_distances({"a": ["b"]}, [], ["a", "b"]).shape == (2, 0)


@pytest.mark.parametrize(("ontology", "words", "labels", "message"), [
    ({"a": ["b"]}, ["a"], ["c"], "label 'c' is not in the ontology"),
    ({"a": ["b"]}, "a b", ["a"], "sequences of words, but one text came"),
    ({"a": ["b"]}, ["a"], "a", "sequences of words, but one text came"),
    (5, ["a"], ["a"], "graph must map each node to its neighbours, but 5 came"),
])  # fmt: skip
def test_what_does_not_fit_is_named(ontology, words, labels, message):
    with pytest.raises(socp.ProgramError, match=message):
        semantic_distances(ontology, words, labels)
