"""Damaged and hostile files: the outcome is a program or a `ProgramError`, in bounded memory."""

import contextlib
import gzip
import re
import struct
import tracemalloc
import zlib
from collections import Counter

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import qp.files.mat
import socp.files.cbf
from socp import ProgramError
from tests.qp.files.test_mat import SMALL, element, maros, mat_file, variable
from tests.socp.files.test_cbf import EVERY_CONE

ROWS = sp.csc_matrix(np.vstack([np.arange(6.0).reshape(2, 3), np.eye(3)]))
NETLIB = {"A": ROWS[:2], "b": np.ones((2, 1)), "aux": {"c": np.ones((3, 1)), "lo": np.zeros(3), "hi": np.ones(3)}}
TOKENS = [
    b"2000000000", b"-1", b"1" * 25, b"9" * 5000, b"1e999", b"nan", b"0", b"1.5", b"\0", b"\xff\xfe", b"\x1c", b"",
]  # fmt: skip
NUMBERS = [0, 1, 2, 8, 127, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1]


@contextlib.contextmanager
def within(megabytes):
    """Fail if so much memory was allocated at once, whatever other tests have allocated before."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


def mat(tmp_path, compressed, fields):
    scipy.io.savemat(tmp_path / "seed.mat", fields, do_compression=compressed)
    return (tmp_path / "seed.mat").read_bytes()


def mutated(content, rng, fixed=0):
    """Flip, replace, remove or double bytes after the first `fixed` ones, or insert hostile numbers."""
    for _ in range(rng.integers(1, 4)):
        k, size, kind = (
            int(rng.integers(fixed, max(len(content), fixed + 1))),
            int(rng.integers(1, 33)),
            rng.integers(6),
        )
        one = content[k : k + 1]
        if kind == 0:
            one = bytes([one[0] ^ 1 << int(rng.integers(8))]) if one else b""
        elif kind == 1:
            one = bytes([rng.integers(256)])
        elif kind == 2:
            one, size = b"", size if rng.random() < 0.9 else len(content)
        elif kind == 3:
            one = 2 * content[k : k + size]
        elif kind == 4:  # a number of four bytes, where such a number may stand
            k, one = k & -4, struct.pack("<I", NUMBERS[rng.integers(len(NUMBERS))])
        else:  # a word
            words = list(re.finditer(rb"\S+", content[fixed:])) or [re.match(b"", b"")]
            word = words[rng.integers(len(words))]
            k, one, size = fixed + word.start(), TOKENS[rng.integers(len(TOKENS))], word.end() - word.start()
        content = content[:k] + one + content[k + (size if kind in (2, 3, 5) else len(one)) :]
    return content


def inside(packed, rng):
    """Mutate the variables of a compressed .mat file before they are compressed."""
    content, k = packed[:128], 128
    while k < len(packed):
        kind, size = struct.unpack("<II", packed[k : k + 8])
        variable = zlib.decompress(packed[k + 8 : k + 8 + size])
        variable = zlib.compress(mutated(variable, rng) if rng.random() < 0.4 else variable)
        content, k = content + struct.pack("<II", kind, len(variable)) + variable, k + 8 + size
    return content


def seeds(tmp_path):
    """Return {format: (ending of the file name, reader, mutation)}."""
    rows, struct_ = {**maros(), "P": sp.eye_array(3).tocsc(), "q": np.ones(3), "A": ROWS}, {"Problem": NETLIB}
    rows |= {
        "l": np.zeros(5),
        "u": np.ones(5, np.uint8),
        "notes": "some text",
        "cells": np.array([1, "b"], dtype=object),
    }
    plain, packed = ([mat(tmp_path, way, fields) for fields in (rows, struct_)] for way in (False, True))
    qps, cbf = SMALL.encode(), EVERY_CONE.encode()
    read_qp, read_cone = qp.files.mat.read, socp.files.cbf.read
    return {
        "mat": (".mat", read_qp, lambda rng: mutated(plain[rng.integers(2)], rng, rng.choice([0, 128, 128, 128]))),
        "mat packed": (".mat", read_qp, lambda rng: mutated(packed[rng.integers(2)], rng, 128)),
        "mat repacked": (".mat", read_qp, lambda rng: inside(packed[rng.integers(2)], rng)),
        "qps": (".qps", read_qp, lambda rng: mutated(qps, rng)),
        "cbf": (".cbf", read_cone, lambda rng: mutated(cbf, rng)),
        "qps repacked": (".mps.gz", read_qp, lambda rng: gzip.compress(mutated(qps, rng), 1)),
        "gzip of qps": (".qps.gz", read_qp, lambda rng: mutated(gzip.compress(qps), rng, 2)),
        "gzip of cbf": (".cbf.gz", read_cone, lambda rng: mutated(gzip.compress(cbf), rng, 2)),
    }


def trial(tmp_path, count, seed=0):
    """Count by format how many of `count` mutated files are read and how many are refused."""
    found = Counter()
    for name, (ending, read, mutate) in seeds(tmp_path).items():
        rng, path = np.random.default_rng([seed, *name.encode()]), tmp_path / f"p{ending}"
        for _ in range(count):
            path.write_bytes(mutate(rng))
            try:
                read(path)
                found[name, "read"] += 1
            except ProgramError as error:
                assert path.name in str(error)
                found[name, "refused"] += 1
    return found


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [60, pytest.param(2500, marks=pytest.mark.full)])
def test_mutations_are_read_or_refused(tmp_path, count):
    with within(100):
        found = trial(tmp_path, count)
    for name in seeds(tmp_path):
        assert found[name, "read"] + found[name, "refused"] == count and found[name, "refused"] > 0
    assert all(
        found[name, "read"] for name in ("mat", "mat repacked", "qps", "cbf")
    )  # mutations are not all refused early


HEAD = "VER\n3\nOBJSENSE\nMIN\nVAR\n"
CBF = {
    "variables": (HEAD + "2000000000 1\nF 2000000000\n", "2000000000 variables and 0 rows were declared"),
    "rows": (HEAD + "1 1\nF 1\nCON\n2000000000 1\nQ 2000000000\n", "1 variables and 2000000000 rows"),
    "cones": (HEAD + "2000000000 2000000000\nF 1\n", "cone 2 of 2000000000 was expected, but the file ends here"),
    "digits": (HEAD + "1 1\nF " + 5000 * "1" + "\n", "a cone and its dimension were expected"),
    "digits of a count": (HEAD + 5000 * "1" + " 1\nF 1\n", "the size and the number of cones was expected"),
    "entries": (HEAD + "1 1\nF 1\nOBJACOORD\n999999999999999999\n0 1\n", "999999999999999999 lines .* only 1 follow"),
}


@pytest.mark.parametrize("case", CBF)
def test_sizes_that_the_file_cannot_hold_are_refused(tmp_path, case):
    text, message = CBF[case]
    (tmp_path / "p.cbf").write_text(text)
    with within(5), pytest.raises(ProgramError, match=message):
        socp.files.cbf.read(tmp_path / "p.cbf")


def test_variables_without_a_word_on_them_are_taken(tmp_path):
    (tmp_path / "p.cbf").write_text(HEAD + "50000 1\nF 50000\nOBJACOORD\n1\n0 1.0\n")
    assert socp.files.cbf.read(tmp_path / "p.cbf").n == 50000


def packed(content):
    """Return `content` as a compressed variable of a .mat file."""
    return struct.pack("<2I", 15, len(zlib.compress(content, 1))) + zlib.compress(content, 1)


def sparse(rows, indices, *indptr):
    """Return a .mat variable that holds a sparse matrix A with one entry."""
    places = (5, indices), (5, struct.pack(f"<{len(indptr)}i", *indptr))
    return variable("<", "A", 5, (rows, len(indptr) - 1), *places, (9, bytes(8)))


MATLAB = {
    "rows of a sparse one": (sparse(2**31 - 1, bytes(4), 0, 1), "too large for the file"),
    "columns of an empty one": (variable("<", "A", 6, (0, 2**31 - 1), (9, b"")), "too large for the file"),
    "a negative shape": (variable("<", "A", 6, (-1, -1), (9, bytes(8))), r"its shape is \(-1, -1\)"),
    "a shape": (variable("<", "A", 6, (2**31 - 1, 2**31 - 1), (9, bytes(8))), "A has 1 entries"),
    "an index": (sparse(1, b"\x07\0\0\0", 0, 1), "A is no valid sparse matrix"),
    "a negative index": (sparse(1, b"\xff" * 4, 0, 1), "A is no valid sparse matrix"),
    "the end of a column": (sparse(1, bytes(4), 0, 2**30), "A is no valid sparse matrix"),
    "a negative end": (sparse(1, bytes(4), 0, -1), "A is no valid sparse matrix"),
    "columns that run back": (sparse(1, bytes(4), 0, 1, 0), "A is no valid sparse matrix"),
    "no columns": (sparse(1, bytes(4)), "A is no valid sparse matrix"),
    "an index that is no integer": (sparse(1, bytes(4), 0, 1).replace(b"\5\0\4\0", b"\7\0\4\0"), "where numbers were"),
    "the size of an element": (struct.pack("<2I", 14, 2**32 - 1), "an element of 4294967295 bytes does not fit"),
    "a small size": (struct.pack("<2I", 5 << 16 | 14, 0) + bytes(8), "an element of 5 bytes does not fit"),
    "a size that is said": (packed(struct.pack("<2I", 14, 2**32 - 1)), "decompresses to more than"),
    "another size": (packed(struct.pack("<2I", 14, 8) + bytes(10**7)), "has not the size that it"),
    "no variable": (element("<", 9, bytes(16)), "an element of kind 9 stands where a variable was expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", MATLAB)
def test_sizes_that_a_matlab_file_cannot_hold_are_refused(tmp_path, case):
    content, message = MATLAB[case]
    (tmp_path / "p.mat").write_bytes(mat_file("<", content))
    with within(5), pytest.raises(ProgramError, match=f"p.mat cannot be read as a MATLAB file .*{message}"):
        qp.files.mat.read(tmp_path / "p.mat")


def test_structs_in_structs_without_end(tmp_path):
    inner = variable("<", "", 6, (1, 1), (9, bytes(8)))
    for _ in range(3000):
        inner = variable("<", "", 2, (1, 1), (5, struct.pack("<i", 1)), (1, b"a"))[8:] + inner
        inner = struct.pack("<2I", 14, len(inner)) + inner
    (tmp_path / "p.mat").write_bytes(mat_file("<", inner))
    with pytest.raises(ProgramError, match="P is missing"):
        qp.files.mat.read(tmp_path / "p.mat")


BOMBS = {
    "spaces.cbf.gz": (10**7, gzip.compress(b"VER\n3\n" + b" " * 2**26, 1)),
    "lines.mps.gz": (10**6, gzip.compress(SMALL.encode() + b"\n" * 2**26, 1)),
    "comments.qps.gz": (10**6, gzip.compress(b"*\n" * 2**25 + SMALL.encode(), 1)),
    "plain.qps": (10**6, b"*\n" * 2**19 + SMALL.encode()),
    "zeros.mat": (10**6, mat_file("<", packed(variable("<", "A", 6, (2**23, 1), (9, bytes(2**26)))))),
    "bytes.mat": (2**21, mat_file("<", packed(variable("<", "A", 6, (2**20, 1), (2, bytes(2**20)))))),  # one by one
    "parts.mat": (2**20, mat_file("<", *(packed(variable("<", v, 6, (2**16, 1), (9, bytes(2**19)))) for v in "PqA"))),
    "plain.mat": (10**6, mat_file("<", variable("<", "A", 6, (2**17, 1), (9, bytes(2**20))))),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_what_decompresses_without_end_is_refused_early(tmp_path, name):
    limit, content = BOMBS[name]
    (tmp_path / name).write_bytes(content)
    read = socp.files.cbf.read if "cbf" in name else qp.files.mat.read
    message = f"more than {limit} bytes; max_bytes=... raises the limit|the line has more than|or for max_bytes"
    with within(10), pytest.raises(ProgramError, match=f"{name}.* ({message})"):
        read(tmp_path / name, max_bytes=limit)


def test_the_limit_can_be_raised_and_must_be_a_number(tmp_path):
    (tmp_path / "p.qps.gz").write_bytes(gzip.compress(SMALL.encode()))
    with pytest.raises(ProgramError, match="more than 100 bytes"):
        qp.files.mat.read(tmp_path / "p.qps.gz", max_bytes=100)
    assert qp.files.mat.read(tmp_path / "p.qps.gz", max_bytes=10**12).n == 3
    for read, name in ((qp.files.mat.read, "p.qps.gz"), (qp.files.mat.read, "p.mat"), (socp.files.cbf.read, "p.cbf")):
        for limit in (0, -1, 1.5, "1", None, True, np.nan):
            with pytest.raises(ProgramError, match=r"max_bytes must be a whole number of at least 1, but .* came"):
                read(tmp_path / name, max_bytes=limit)
