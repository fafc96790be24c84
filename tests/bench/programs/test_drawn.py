"""Programs of classes drawn by a seed: a name that a report or an issue tells is the same program tomorrow.

`python -m tests.bench.programs.test_drawn` writes the file anew where other programs are wanted.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from bench.programs import generate, large, learning, many, repeated, small, tiny

KEPT = Path(__file__).with_name("drawn.tsv")
CLASSES = {"generated": generate.CLASSES, "learning": learning.CLASSES, "large": large.CLASSES, "many": many.CLASSES}
CLASSES |= {"small": small.FUNCTIONS, "tiny": tiny.CLASSES}
SIZES = {"large": (40, 130), "small": (3, 10, 33, 77)}


DERIVED = {"P_eps", "P_places", "are_crossed", "maximize"}  # attributes that follow from how the data came


def said(name, value):
    """Describe a vector or matrix: shape, number of entries, weighted sums of signs and of values to five digits."""
    if value is None or isinstance(value, (str, bool, float, int, tuple)):
        return f"{name}={value:.5g}" if isinstance(value, float) else f"{name}={value}"
    if isinstance(value, socp.LowRank):
        return said(f"{name}.F", value.F) + said(f"{name}.d", value.d)
    if sp.issparse(value):
        entries = sp.coo_array(value)
        flat, place, shape = entries.data, 1.0 + (5 * entries.row + entries.col) % 7, f"{value.shape}{value.nnz}"
    else:
        flat, shape = np.asarray(value, dtype=float).ravel(), np.shape(value)
        place = 1.0 + np.arange(flat.size) % 7
    finite, size = np.isfinite(flat), np.abs(np.where(np.isfinite(flat), flat, 0.0)).max(initial=0.0)
    signs = np.sign(flat * (np.abs(flat) > 1e-6 * size)) if size else np.sign(flat)
    total = float(np.where(finite, np.abs(flat), 0.0) @ place)
    return f"{name}{shape} {signs @ place:.0f} {(flat[~finite] > 0).sum()} {total:.5g}"


def program_said(program):
    data = {name: value for name, value in vars(program).items() if name[0] != "_" and name not in DERIVED}
    return " ".join(said(name, value) for name, value in data.items())


def drawn():
    """Yield (name, descriptions of its programs) for each class."""
    for group, classes in CLASSES.items():
        for name, made in classes.items():
            yield f"{group}/{name}", [program_said(made(size, 3)) for size in SIZES.get(group, (10, 33, 77))]
    for name, drawn_from in (("objectives", repeated._objectives), ("states", repeated._first_states)):
        changes = drawn_from(small.control(33, 3))
        yield f"repeated/{name}", [said(*one) for change in changes for one in change.items()]


def digits(words):
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def test_every_program_comes_again():
    kept = dict(line.split("\t") for line in KEPT.read_text("utf-8").splitlines())
    found = {name: digits(words) for name, words in drawn()}
    assert found.keys() == kept.keys()
    assert [name for name in found if found[name] != kept[name]] == []


@pytest.mark.parametrize("change", [1e-4, -1e-4, np.nan])
def test_what_moves_is_said(change):
    program = generate.lasso(4, 0)
    before = program_said(program)
    program.q[2] += change * (1.0 + abs(program.q[2]))
    assert program_said(program) != before


if __name__ == "__main__":
    KEPT.write_text("".join(f"{name}\t{digits(words)}\n" for name, words in drawn()), encoding="utf-8")
