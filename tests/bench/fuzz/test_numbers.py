"""A family, a seed and a number define the same program in every version, so that failures can be drawn again."""

import json
import math
import zlib
from pathlib import Path

import numpy as np
import pytest

import socp
from bench.fuzz import batches, catalogue
from bench.fuzz.case import Case

KEPT = json.loads((Path(__file__).parent / "numbers.json").read_text(encoding="utf-8"))
PARTS = ("c", "q", "A", "b", "G", "h", "l", "u", "lb", "ub", "P")


def dense(part):
    if isinstance(part, socp.LowRank):
        part = part.F @ part.F.T + np.diag(part.d)
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=float).ravel()


def size(values):
    """Return a checksum: a weighted sum of sign(v) log(1 + |v|) over finite values, plus pi for each other value."""
    values = dense(values)
    finite = values[np.isfinite(values)]
    weights = 1.0 + np.arange(finite.size) % 7 / 10.0  # the order counts
    return float(weights @ (np.sign(finite) * np.log1p(np.abs(finite)))) + float((values.size - finite.size) * math.pi)


def told(case):
    """Return numbers that change if any draw changes, but not by the rounding of another processor."""
    if not isinstance(case, Case):
        return [zlib.crc32(case.what.encode()) / 2**32]
    program, planted = case.program, case.planted
    found = [program.n, len(str(program)), case.hard + 2 * case.warm_start, len(planted.kind)]
    found += [size(part) for name in PARTS if (part := getattr(program, name, None)) is not None]
    found += [size(part) for part in (planted.x, planted.y, planted.z) if part is not None]
    found += [program.A.nnz, sum(zlib.crc32(str(cone).encode()) % 97 for cone in getattr(program, "cones", ()))]
    found += [math.log1p(abs(v)) if isinstance(v, (int, float)) else len(str(v)) for v in case.settings.values()]
    found += [size(part) for _, part in sorted(case.change.items())] + [len(name) for name in case.settings]
    return found if case.before is None else [*found, *told(case.before)]


def numbers_of(family, count=40):
    """Return a checksum of `count` programs of a family, and one of the states of their generators."""
    if family == "batches":
        drawn = [(np.random.default_rng([3, k]), None) for k in range(count)]
        drawn = [(rng, batches.draw(rng)) for rng, _ in drawn]
        rows = [[len(name), len(shared), *(sum(told(c)) for c in cases)] for _, (name, cases, shared) in drawn]
    else:
        drawn = [np.random.default_rng([3, zlib.crc32(family.encode()), k]) for k in range(count)]
        cases = [catalogue.FAMILIES[family](rng) for rng in drawn]
        rows, drawn = [told(case) for case in cases], [(rng, None) for rng in drawn]
    total = sum(math.fsum((1.0 + i % 5 / 8.0) * v for i, v in enumerate(row)) for row in rows)
    return [total, math.fsum(rng.random() for rng, _ in drawn)]


@pytest.mark.parametrize("family", [*catalogue.FAMILIES, "batches"])
def test_the_programs_are_those_of_the_versions_before(family):
    assert numbers_of(family) == pytest.approx(KEPT[family], rel=1e-7), numbers_of(family)


def test_a_number_is_drawn_from_its_seed_and_family():
    one = np.random.default_rng([5, zlib.crc32(b"qp_tiny"), 9])
    assert told(catalogue.case("qp_tiny", 5, 9)) == told(catalogue.FAMILIES["qp_tiny"](one))
