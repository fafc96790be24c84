"""Pictures of fill-in: the patterns of K and of its factor, the elimination column by column, the elimination tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp.form.standard import StandardForm
from socp.kkt.assembly import KKTMatrix
from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.symbolic.analysis import analyze

from .pictures import BLUE, GREY, ORANGE, Picture


def kkt_pattern(program: socp.ConeProgram) -> sp.csc_array:
    """Return the pattern of the upper triangle of the KKT matrix that the sparse engine factors for a program."""
    matrix = KKTMatrix(StandardForm(program))
    shape = (matrix.size, matrix.size)
    return sp.csc_array((np.ones(matrix.indices.size), matrix.indices, matrix.indptr), shape=shape)


def factor_pattern(upper: sp.csc_array, ordering: Any) -> tuple[np.ndarray, sp.csc_array]:
    """Return (elimination order, pattern of L with its diagonal); `ordering` is "natural", "amd" or a permutation."""
    n = upper.shape[0]
    arrays = upper.indptr.astype(np.int64), upper.indices.astype(np.int64)
    ldl = LDL(*arrays, np.ones(n, np.int64), ordering=ordering, method="scalar")
    factors: Any = ldl.factors
    L = sp.csc_array((np.ones(factors.rows.size), factors.rows, factors.start // 2), shape=(n, n))
    return ldl.perm, sp.csc_array(L + sp.eye_array(n))


def sparsity(upper: sp.csc_array, orderings: Mapping[str, Any]) -> Picture:
    """Draw K above L for each named ordering; `upper` is the upper triangle of K, its diagonal included."""
    picture = Picture(2.6 * len(orderings), 5.4)
    axes = picture.subplots(2, len(orderings), squeeze=False)
    full = sp.csc_array(upper + sp.triu(upper, 1).T)
    for k, (name, ordering) in enumerate(orderings.items()):
        perm, L = factor_pattern(upper, ordering)
        size = max(0.3, min(4.0, 130.0 / full.shape[0]))
        axes[0, k].spy(full[perm][:, perm], markersize=size, color=BLUE)
        axes[1, k].spy(L, markersize=size, color=ORANGE)
        axes[0, k].set_title(f"{name}\nK: {full.nnz} entries", fontsize=9)
        axes[1, k].set_title(f"L: {L.nnz} entries", fontsize=9)
        for one in axes[:, k]:
            one.set(xticks=[], yticks=[])
    return picture


class Fill:
    """Animation of the elimination of a matrix: one step per column, in which the column's fill-in appears.

    Parameters
    ----------
    upper : csc_array
        The upper triangle of K, its diagonal included.
    ordering : "natural", "amd" or a permutation
    seconds : float
        Duration of a step.
    """

    SIDE = 12  # side of an entry's square, in units of the drawing

    def __init__(self, upper: sp.csc_array, ordering: Any, seconds: float = 0.4) -> None:
        perm, L = factor_pattern(upper, ordering)
        full = sp.csc_array(upper + sp.triu(upper, 1).T)[perm][:, perm]
        self.n, self.seconds = full.shape[0], seconds
        given = set(zip(*(index.tolist() for index in full.nonzero())))
        entries = zip(*(index.tolist() for index in L.nonzero()))
        # Fill-in (i, j) appears with the elimination of the first column whose rows contain both i and j.
        rows = [set(L.indices[L.indptr[j] : L.indptr[j + 1]].tolist()) for j in range(self.n)]
        self.entries = {
            (i, j): None if (i, j) in given else next(k for k in range(self.n) if k < j and {i, j} <= rows[k])
            for i, j in entries
        }

    def _repr_svg_(self) -> str:
        parts, size, length = [], self.SIDE * self.n, self.seconds * (self.n + 4)
        for (i, j), column in sorted(self.entries.items()):
            box = f'x="{j * self.SIDE + 1}" y="{i * self.SIDE + 1}" width="{self.SIDE - 2}" height="{self.SIDE - 2}"'
            if column is None:
                parts.append(f'<rect {box} fill="#1f77b4"/>')
            else:  # a viewer without animation shows it from the start
                times = f'keyTimes="0;{(column + 1) * self.seconds / length:.4f};1" values="0;1;1"'
                parts.append(
                    f'<rect {box} fill="#ff7f0e"><animate attributeName="opacity" calcMode="discrete" {times}'
                    f' dur="{length:g}s" repeatCount="indefinite"/></rect>'
                )
        places = ";".join(str(min(k, self.n - 1) * self.SIDE) for k in range(self.n + 4))
        parts.append(
            f'<rect x="0" y="0" width="{self.SIDE}" height="{size}" fill="none" stroke="#2ca02c">'
            f'<animate attributeName="x" calcMode="discrete" values="{places}" dur="{length:g}s"'
            ' repeatCount="indefinite"/></rect>'
        )
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {size + 2} {size + 2}" width="{size + 2}">'
        return f"{head}{''.join(parts)}</svg>"


def elimination_tree(upper: sp.csc_array, ordering: Any) -> Picture:
    """Draw the elimination tree of K, the root on top; nodes are labeled by their column's place in the ordering."""
    perm, _ = factor_pattern(upper, ordering)
    arrays = upper.indptr.astype(np.int64), upper.indices.astype(np.int64)
    parent = analyze(upper.shape[0], *arrays, perm).parent
    height, place = _layout(parent)
    picture = Picture(6.4, 3.8)
    axes = picture.subplots()
    for k in np.flatnonzero(parent >= 0):
        axes.plot(place[[k, parent[k]]], height[[k, parent[k]]], color=GREY, lw=0.8, zorder=1)
    axes.scatter(place, height, s=18, color=BLUE, zorder=2, label="nodes")
    if parent.size <= 60:
        for j in range(parent.size):
            axes.annotate(str(j), (place[j], height[j]), xytext=(3, 3), textcoords="offset points", fontsize=6)
    axes.set_axis_off()
    return picture


def _layout(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (height above the leaves, horizontal place) of every node of a postordered forest."""
    n = len(parent)
    height, place, children = np.zeros(n), np.zeros(n), np.zeros(n)
    leaves = 0.0
    for j in range(n):  # children come first
        if children[j] == 0.0:
            place[j], leaves = leaves, leaves + 1.0
        else:
            place[j] /= children[j]
        if parent[j] >= 0:
            children[parent[j]] += 1.0
            place[parent[j]] += place[j]
            height[parent[j]] = max(height[parent[j]], height[j] + 1.0)
    return height, place
