"""Semantic distance: how many links of an ontology lie between words and a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from socp import ProgramError

UNREACHABLE = -1
"""Distance of a word that has no path to the label or is not in the ontology."""


class Graph:
    """An ontology whose nodes are the words.

    Parameters
    ----------
    neighbours : mapping
        Neighbours of each node: a dictionary of lists, sets or dictionaries, or a networkx graph.  A link leads both
        ways, whichever node names the other.

    Examples
    --------
    >>> graph = Graph({"gun": ["weapon"], "bomb": ["weapon"], "god": ["deity"]})
    >>> graph.distances(["gun", "bomb", "weapon", "god", "car"], "gun")
    array([ 0,  2,  1, -1, -1])
    >>> graph.distances(["weapon", "deity"], ["gun", "god"])
    array([1, 1])
    """

    def __init__(self, neighbours: Mapping[Any, Iterable[Any]]) -> None:
        nodes: dict[Any, int] = {}
        ends: list[tuple[int, int]] = []
        try:
            for node in neighbours:
                start = nodes.setdefault(node, len(nodes))
                ends.extend((start, nodes.setdefault(other, len(nodes))) for other in neighbours[node])
        except TypeError as error:
            raise ProgramError(f"graph must map each node to its neighbours, but {neighbours!r} came") from error
        self._nodes = nodes
        self._links = undirected_links(len(nodes), np.array(ends, dtype=np.int64).reshape(-1, 2))

    def distances(self, words: Sequence[Any], label: Any) -> np.ndarray:
        """Return the number of links between each word and the nearest word of the label.

        Parameters
        ----------
        words : sequence of nodes
        label : node, or list of nodes
        """
        sources = [self._nodes[word] for word in label_words(label) if word in self._nodes]
        if not sources:
            raise ProgramError(f"label {label!r} is not in the ontology")
        found = links_from(self._links, np.array(sources))
        return np.array([found[self._nodes[word]] if word in self._nodes else UNREACHABLE for word in words])


def semantic_distances(ontology: Any, words: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    """Return the distance of every word to every label.

    Parameters
    ----------
    ontology : WordNet, mapping or networkx graph
        A mapping or a graph is taken as by `Graph`; anything else must have a method ``distances(words, label)``.
    words : sequence, length n
    labels : sequence
        Each a word, or a list of words whose nearest one counts.

    Returns
    -------
    array of int, shape (labels, n)
        `UNREACHABLE`, which is -1, where there is no path.

    Raises
    ------
    ProgramError
        `words` or `labels` is one text, or the ontology is not one of these.

    Examples
    --------
    >>> graph = {"weapon": ["gun", "bomb"], "vehicle": ["car", "ship"], "thing": ["weapon", "vehicle"]}
    >>> semantic_distances(graph, ["gun", "car", "thing"], labels=["weapon", ["car", "ship"]])
    array([[1, 3, 1],
           [4, 0, 2]])
    """
    if isinstance(words, str) or isinstance(labels, str):
        raise ProgramError("words and labels must be sequences of words, but one text came")
    known = ontology if hasattr(ontology, "distances") else Graph(ontology)
    rows = [known.distances(words, label) for label in labels]
    return np.array(rows, dtype=np.int64).reshape(len(labels), len(words))


def label_words(label: Any) -> list[Any]:
    """Return the list of a label's words."""
    return list(label) if isinstance(label, (list, tuple, set, frozenset, np.ndarray)) else [label]


def undirected_links(nodes: int, ends: np.ndarray) -> sp.csr_array:
    """Return the adjacency matrix of links between pairs of nodes, the rows of `ends`."""
    both = np.vstack([ends, ends[:, ::-1]]).astype(np.int32)  # some versions of scipy's csgraph need int32
    return sp.csr_array((np.ones(len(both), dtype=np.int8), (both[:, 0], both[:, 1])), shape=(nodes, nodes))


def links_from(links: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """Return the number of links between each node and the nearest source, or `UNREACHABLE`."""
    found = dijkstra(links, indices=np.unique(sources), unweighted=True, min_only=True)
    return np.where(np.isfinite(found), found, UNREACHABLE).astype(np.int64)
