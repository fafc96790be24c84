"""Programs of qpsolvers in .npz files: read as they are stated, refused by what is wrong with them."""

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import qp.files.mat
from socp import ProgramError

FULL = dict(
    P=[[2.0, 0.5], [0.5, 1.0]], q=[-1.0, -3.0], G=[[1.0, 1.0], [1.0, -1.0]], h=[1.0, 0.5], A=[[1.0, 2.0]], b=[1.2],
    lb=[-1.0, -1.0], ub=[2.0, np.inf],
)  # fmt: skip


def stated(**fields):
    return {name: np.array(value) for name, value in fields.items()}


def test_what_qpsolvers_saves_is_the_program(tmp_path):
    qpsolvers = pytest.importorskip("qpsolvers")
    for left_out in ((), ("G", "h"), ("A", "b"), ("lb",), ("G", "h", "A", "b", "lb", "ub")):
        data = stated(**FULL) | dict.fromkeys(left_out)
        qpsolvers.Problem(*data.values()).save(str(tmp_path / "a.npz"))
        found = qp.solve(qp.files.mat.read(tmp_path / "a.npz"), tol=1e-10)
        expected = qp.interop.solve_qp(**data, eps_rel=1e-10)
        np.testing.assert_allclose(found.x, expected, atol=1e-9)


def test_fields_that_are_left_out_and_sparse_columns(tmp_path):
    fields = stated(**{name: FULL[name] for name in ("P", "q", "lb")})
    G = sp.csc_array(FULL["G"])
    np.savez(tmp_path / "a.npz", **fields, h=FULL["h"], G_data=G.data, G_indices=G.indices, G_indptr=G.indptr,
             G_shape=G.shape)  # fmt: skip
    program = qp.files.mat.read(tmp_path / "a.npz")
    np.testing.assert_array_equal(program.A.toarray(), FULL["G"])
    np.testing.assert_array_equal(program.u, FULL["h"])
    assert (program.l == -np.inf).all() and (program.ub == np.inf).all()
    np.testing.assert_array_equal(program.lb, FULL["lb"])


@pytest.mark.parametrize("change, words", [
    ({"q": None}, "q is missing"), ({"h": [1.0]}, "h "), ({"b": None}, "A .*b|b .*A"), ({"P": [[1.0]]}, "P "),
    ({"ub": [1.0, 2.0, 3.0]}, "ub "), ({"G": [["x", "y"]], "h": [1.0]}, "G "),
])  # fmt: skip
def test_wrong_fields_are_named_with_the_file(tmp_path, change, words):
    np.savez(tmp_path / "wrong.npz", **stated(**FULL | change))
    with pytest.raises(ProgramError, match=rf"wrong\.npz: .*({words})"):
        qp.files.mat.read(tmp_path / "wrong.npz")


def test_damaged_files_large_ones_and_pickles_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **stated(**FULL))
    content = path.read_bytes()
    with pytest.raises(ProgramError, match=r"a\.npz"):
        qp.files.mat.read(path, max_bytes=100)
    for damaged in (b"", content[:200], content[: len(content) // 2], b"no zip"):
        path.write_bytes(damaged)
        with pytest.raises(ProgramError, match=r"cannot be read as a \.npz file"):
            qp.files.mat.read(path)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("q.npy", b"not an array")
    with pytest.raises(ProgramError, match=r"cannot be read as a \.npz file"):
        qp.files.mat.read(path)
    np.savez(path, **stated(**FULL) | {"h": np.array([1.0, None], dtype=object)})
    with pytest.raises(ProgramError, match=r"cannot be read as a \.npz file"):
        qp.files.mat.read(path)


def test_every_cut_and_flipped_byte_is_read_or_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **stated(**FULL))
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            qp.files.mat.read(path)
        except ProgramError:
            pass
