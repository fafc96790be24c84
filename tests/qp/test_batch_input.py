"""A batch refuses, by name, all input that `solve` refuses: each argument, shared or with a leading axis."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from models import KernelMatrix
from qp import LowRank, ProgramError

pytestmark = pytest.mark.filterwarnings("ignore:Warning. converting a masked:UserWarning")

N, M, K = 3, 2, 4


def quadratic():
    return {
        "P": 2.0 * np.eye(N), "q": np.ones(N), "A": np.ones((M, N)), "l": -np.ones(M), "u": np.ones(M),
        "lb": -np.ones(N), "ub": np.ones(N),
    }  # fmt: skip


def conic():
    return {"P": 2.0 * np.eye(N), "c": np.ones(N), "A": np.eye(M, N), "b": np.ones(M), "G": -np.eye(N), "h": np.ones(N)}


PACKAGES = {
    "qp": (quadratic, qp.solve, qp.solve_many, {}, "q"),
    "socp": (conic, socp.solve, socp.solve_many, {"cones": [socp.NonNeg(N)]}, "c"),
}


def damaged(form, part, *values):
    """Return what makes a sparse matrix with a part that does not fit the others, as scipy takes it."""

    def made(shape):
        matrix = form(np.eye(*shape))
        old = getattr(matrix, part)
        new = np.ma.masked_array(old, old == 1.0) if not values else np.array([*values, *old.tolist()][: old.size])
        setattr(matrix, part, new)
        return matrix

    return made


def pandas(make):
    def made(shape):
        return make(pytest.importorskip("pandas"), shape)

    return made


def filled(value, kind=None):
    return lambda shape: np.full(shape, value, kind)


def entry(value):
    """Return good numbers with one that is not."""

    def made(shape):
        array = np.ones(shape)
        array[(-1,) * len(shape)] = value
        return array

    return made


def masked(shape):
    return np.ma.masked_array(np.ones(shape), np.arange(np.prod(shape)).reshape(shape) == 1)


ANY = {
    "masked": masked, "list of masked": lambda shape: list(masked(shape)),
    "complex": filled(1.0 + 0.0j), "text": filled("1"), "list of text": lambda shape: np.full(shape, "1").tolist(),
    "bytes": filled(b"1"), "dates": filled("2020-01-01", "datetime64[D]"), "durations": filled(1, "timedelta64[s]"),
    "objects": filled(None, object), "text as objects": filled("1", object), "complex objects": filled(1j, object),
    "a word": lambda shape: "none", "a dict": lambda shape: {0: 1.0}, "records": filled(1.0, [("value", float)]),
    "ragged": lambda shape: [1.0, [1.0, 2.0]], "huge integers": filled(10**400, object), "NaN": entry(np.nan),
    "a generator": lambda shape: (1.0 for _ in range(shape[0])), "five axes": lambda shape: np.ones((2, 2, 2, 2, 2)),
    "too long": lambda shape: np.ones((*shape[:-1], shape[-1] + 1)),
    "strings of pandas": pandas(lambda pd, shape: pd.DataFrame(np.full((*shape, 1)[:2], "1"))),
    "dates of pandas": pandas(lambda pd, shape: pd.DataFrame(np.full((*shape, 1)[:2], "2020-01-01", "datetime64[s]"))),
    "missing in pandas": pandas(lambda pd, shape: pd.DataFrame(np.full((*shape, 1)[:2], pd.NA))),
}  # fmt: skip
SPARSE = {
    "an index beyond the end": damaged(sp.csc_array, "indices", 5 * 10**7),
    "an indptr that does not begin at 0": damaged(sp.csr_array, "indptr", -1),
    "complex entries": damaged(sp.csc_array, "data", 1j), "text for entries": damaged(sp.csr_array, "data", "1"),
    "NaN": damaged(sp.csr_array, "data", np.nan), "masked entries": damaged(sp.csc_array, "data"),
    "coordinates beyond the end": damaged(sp.coo_array, "col", 5 * 10**7),
    "another shape": lambda shape: sp.csc_array(np.ones((shape[0], shape[1] + 1))),
}  # fmt: skip
MATRICES = ("P", "A", "G")
ARGUMENTS = [(package, name) for package, (make, *_) in PACKAGES.items() for name in make()]


def check_refused(package, name, bad):
    """Hold a batch against `solve`: both refuse the value, and the batch refuses it for one of its programs, too."""
    make, solve, solve_many, rest, objective = PACKAGES[package]
    given = make()
    with pytest.raises(ProgramError, match=rf"\b{name}\b"):
        solve(**{**given, name: bad()}, **rest)
    leading = {**given, objective: np.ones((K, N))}
    own = [given[name] if i != 2 else bad() for i in range(K)]
    for value, others in ((bad(), leading), (own, leading), (own, given), ([bad()] * K, given)):
        with pytest.raises(ProgramError, match=rf"\b{name}\b"):
            solve_many(**{**others, name: value}, **rest)


@pytest.mark.parametrize("what", ANY)
@pytest.mark.parametrize(("package", "name"), ARGUMENTS)
def test_what_is_no_array_of_numbers(package, name, what):
    shape = np.shape(PACKAGES[package][0]()[name])
    check_refused(package, name, lambda: ANY[what](shape))


@pytest.mark.parametrize("what", SPARSE)
@pytest.mark.parametrize(("package", "name"), [pair for pair in ARGUMENTS if pair[1] in MATRICES])
def test_sparse_matrices_that_do_not_fit(package, name, what):
    shape = np.shape(PACKAGES[package][0]()[name])
    check_refused(package, name, lambda: SPARSE[what](shape))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(("package", "name"), ARGUMENTS)
def test_infinity_where_it_means_nothing(package, name, value):
    good = {"l": -np.inf, "lb": -np.inf, "u": np.inf, "ub": np.inf, "h": np.inf}
    if good.get(name) != value:
        check_refused(package, name, lambda: entry(value)(np.shape(PACKAGES[package][0]()[name])))


@pytest.mark.parametrize("value", [1.0, [[1.0]], np.ones((2, 3)), LowRank(np.ones((N, 1))), object()])
@pytest.mark.parametrize(("package", "name"), [pair for pair in ARGUMENTS if pair[1] in MATRICES])
def test_other_shapes_and_forms(package, name, value):
    if name == "P" and isinstance(value, LowRank):
        value = LowRank(np.ones((N + 1, 1)))
    if name != "P" and isinstance(value, np.ndarray):
        value = value[:, :2]
    check_refused(package, name, lambda: value)


def test_what_solve_takes_a_batch_takes():
    pd, good = pytest.importorskip("pandas"), quadratic()
    expected = qp.solve(**good).objective
    q, own = np.ones((K, N)), [good["A"]] * K
    for change in (
        {"P": [[2, 0, 0], [0, 2, 0], [0, 0, 2]]}, {"P": LowRank(np.zeros((N, 1)), 2.0)}, {"q": pd.DataFrame(q)},
        {"P": KernelMatrix(np.sqrt(2.0) * np.eye(N), "linear")}, {"A": pd.DataFrame(good["A"])}, {"lb": -1, "ub": 1},
        {"P": [LowRank(np.zeros((N, 1)), 2.0), good["P"], sp.csc_array(good["P"]), sp.coo_array(good["P"])]},
        {"P": [KernelMatrix(np.sqrt(2.0) * np.eye(N), "linear")] * K}, {"A": [sp.csr_array(part) for part in own]},
        {"A": [sp.dok_array(own[0]), *own[1:]]}, {"A": sp.bsr_array(good["A"])}, {"q": q.astype(bool)},
        {"q": sp.csr_array(q)}, {"q": q.astype(object)}, {"q": np.asfortranarray(q)}, {"q": q.astype(np.float32)},
        {"l": np.ma.masked_array(-np.ones(M))}, {"lb": np.full((K, N), -1, np.int8)}, {"A": sp.coo_array(good["A"])},
    ):  # fmt: skip
        many = qp.solve_many(**{**good, "q": q, **change})
        np.testing.assert_allclose(many.objective, np.full(K, expected), rtol=1e-7)


@pytest.mark.parametrize("package", PACKAGES)
def test_batches_without_programs_or_without_variables(package):
    make, _, solve_many, rest, objective = PACKAGES[package]
    for name, value in make().items():
        with pytest.raises(ProgramError, match=rf"{name} must have an entry for each program, but its leading axis"):
            solve_many(**{**make(), name: np.ones((0, *np.shape(value)))}, **rest)
    none = solve_many(**{"P": None, objective: np.ones((2, 0))})
    assert list(none.status) == ["optimal"] * 2 and none.x.shape == (2, 0)


def test_solvers_refuse_vectors_as_solve_many_does():
    for package, Solver in (("qp", qp.Solver), ("socp", socp.Solver)):
        make, _, _, rest, objective = PACKAGES[package]
        solver = Solver(**make(), **rest)
        for name in make():
            if name in MATRICES:
                continue
            for what in ("masked", "complex", "text", "dates", "ragged", "NaN", "too long", "objects"):
                bad = ANY[what](np.shape(make()[name]))
                with pytest.raises(ProgramError, match=rf"\b{name}\b"):
                    solver.solve_many(**{objective: np.ones((K, N)), name: bad})
                with pytest.raises(ProgramError, match=rf"\b{name}\b"):
                    solver.solve_many(**{name: [make()[name], bad]})


@pytest.mark.parametrize("what", ["masked", "complex", "text", "dates", "ragged", "too long", "objects"])
@pytest.mark.parametrize("name", ["x", "y", "z_bounds"])
def test_a_warm_start_is_looked_at_too(name, what):
    given = {**quadratic(), "q": np.ones((K, N))}
    many = qp.solve_many(**given)
    if what == "objects":
        setattr(many, name, object())
    else:
        setattr(many, name, ANY[what]((K, M if name == "y" else N)))
    with pytest.raises(ProgramError, match="warm_start"):
        qp.solve_many(**given, warm_start=many)


@pytest.mark.parametrize("what", ["masked", "complex", "text", "NaN", "ragged"])
def test_derivatives_of_batches_refuse_it_too(what):
    many = socp.solve_many(**{**conic(), "c": np.ones((K, N))}, cones=[socp.NonNeg(N)])
    for call, name, shape in ((many.vjp, "dx", (K, N)), (many.jvp, "dc", (N,)), (many.jvp, "dG", (N, N))):
        with pytest.raises(ProgramError, match=name):
            call(**{name: ANY[what](shape)})
    with pytest.raises(ProgramError, match="dA must be a valid sparse matrix"):
        many.jvp(dA=SPARSE["an index beyond the end"]((M, N)))
