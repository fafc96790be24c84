"""Reading and writing .mat, MPS and QPS: each rule of the format on a small file, every error with its line."""

import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import qp.files.mat
from qp import LowRank, QuadraticProgram
from qp.files import matlab
from qp.files.qps import _QpsFile
from socp import ProgramError
from tests.support.data import data_folder
from tests.support.sparse_matrices import random_sparse

inf = np.inf

SMALL = """* a comment
NAME          SMALL
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
 N  OTHER
COLUMNS
    X         COST               1.0   LIM1               1.0
    X         LIM2               1.0   OTHER              9.0
    Y         COST               2.0   LIM1               1.0

    Y         MYEQN             -1.0
    Z         COST              -1.5   MYEQN           1.0D+0
RHS
    RHS       COST              10.0   LIM1               4.0
    RHS       LIM2               1.0   MYEQN              7.0
    RHS       OTHER              5.0
RANGES
    RNG       LIM1               2.5   LIM2               3.0
BOUNDS
 UP BND       X                  4.0
 LO BND       Y                 -1.0
 UP BND       Y                  1.0
QUADOBJ
    X         X                  2.0
    X         Y                  0.5
    Y         Y                  4.0
ENDATA
"""


def written(tmp_path, text, name="p.qps"):
    path = tmp_path / name
    path.write_text(text)
    return path


def assert_parts(program, **expected):
    """Compare the named parts of a program, to the last bit."""
    for name, value in expected.items():
        found, told = (v.toarray() if hasattr(v, "toarray") else v for v in (getattr(program, name), value))
        np.testing.assert_array_equal(found, told, err_msg=name)


def assert_small(program, sign=1.0):
    assert_parts(
        program, P=sign * np.array([[2, 0.5, 0], [0.5, 4, 0], [0, 0, 0]]), q=sign * np.array([1.0, 2.0, -1.5]),
        A=[[1, 1, 0], [1, 0, 0], [0, -1, 1]], l=[1.5, 1.0, 7.0], u=[4.0, 4.0, 7.0], lb=[0.0, -1.0, 0.0],
        ub=[4.0, 1.0, inf], offset=-10.0 * sign,
    )  # fmt: skip


SPACED = SMALL.replace("LIM1 ", "LI 1 ").replace("X    ", "X  1 ").replace(" LIM1\n", " LI 1\n")
LOWER = "    Y         X                  0.5\n    Y         Y                  4.0"
# SMALL in other words, and the formats that it is read in
SAME = {
    "as it stands": (SMALL, (None, True, False)), "names with blanks are found by their columns": (SPACED, (None,)),
    "minimization may be said": (SMALL.replace("ROWS\n", "OBJSENSE\n    MIN\nROWS\n", 1), (None,)),
    "names of the vectors may be left out": (
        SMALL.replace("    RHS   ", "          ").replace("    RNG   ", "          ").replace(" BND ", "     "), (None,)
    ),
    "QMATRIX lists both triangles": (
        SMALL.replace("QUADOBJ", "QMATRIX").replace("    Y         Y                  4.0", LOWER), (True, False)
    ),
    "other line ends": (SMALL.replace("\n", "\r\n"), (None, True, False)),
    "QSECTION names the objective": (SMALL.replace("QUADOBJ", "QSECTION      COST"), (None,)),
    "a line of QUADOBJ may have two entries": (SMALL.replace(
        "    X         X                  2.0\n    X         Y                  0.5\n",
        "    X         X                  2.0   Y                  0.5\n"
    ), (None, True, False)),
    "the sense may stand in the first column": (SMALL.replace("ROWS\n", "OBJSENSE\nMIN\nROWS\n", 1), (None, True)),
    "OBJNAME names the objective": (SMALL.replace(" N  COST\n", " N  FIRST\n N  COST\n").replace(
        "ROWS\n", "OBJNAME\n    COST\nROWS\n", 1), (None, True)),
    "OBJNAME may stand in the first column": (SMALL.replace(" N  COST\n", " N  FIRST\n N  COST\n").replace(
        "ROWS\n", "OBJSENSE\nMIN\nOBJNAME\nCOST\nROWS\n", 1), (None, True)),
    "OBJNAME may take one line": (SMALL.replace("ROWS\n", "OBJNAME COST\nROWS\n", 1), (None, True)),
    "other N rows may have ranges": (
        SMALL.replace("BOUNDS\n", "    RNG       OTHER              5.0\nBOUNDS\n"), (None, True)
    ),
    "comments follow a $": (SMALL.replace("COST               1.0   LIM1               1.0\n    X         LIM2     ",
        "COST               1.0   $LIM1              9.0\n    X         LIM1               1.0   $ one\n    X         "
        "LIM2     ").replace(" L  LIM1", " L  LIM1      $ a limit").replace("BOUNDS", "BOUNDS $ of x"), (None, True)),
    "names may begin with a $": (SMALL.replace("LIM1 ", "$IM1 ").replace("LIM1\n", "$IM1\n").replace(
        " RHS  ", " $HS  ").replace(" BND ", " $ND "), (None, True)),
    "no column is between the markers": (SMALL.replace("    Z         COST ", "    M1        'MARKER'                 "
        "'INTORG'\n    M2        'MARKER'                 'INTEND'\n    Z         COST "), (None, True)),
    "a row may be called MARKER": (SMALL.replace("LIM1  ", "MARKER").replace("LIM1\n", "MARKER\n"), (None,)),
}  # fmt: skip


@pytest.mark.parametrize("words", SAME)
def test_a_program_in_other_words_is_the_same(tmp_path, words):
    text, formats = SAME[words]
    for fixed in formats:
        assert_small(qp.files.mat.read_qps(written(tmp_path, text), fixed=fixed))


def test_what_one_of_the_formats_cannot_read_is_refused_by_it(tmp_path):
    with pytest.raises(ProgramError, match="line 5: N, L, G or E and a row were expected, but 'L LI 1' came"):
        qp.files.mat.read_qps(written(tmp_path, SPACED), fixed=False)
    shifted = SMALL.replace("    X         COST               1.0", "    X         COST      123456.789012345")
    with pytest.raises(ProgramError, match="line 10: something stands outside the columns of the fixed format"):
        qp.files.mat.read_qps(written(tmp_path, shifted), fixed=True)
    assert qp.files.mat.read_qps(written(tmp_path, shifted)).q[0] == 123456.789012345


@pytest.mark.parametrize("sense", ["OBJSENSE\n    MAX\n", "OBJSENSE MAXIMIZE\n", "OBJSENSE\n  Maximise\n"])
def test_maximization_is_minimization_of_the_negative(tmp_path, sense):
    program = qp.files.mat.read(written(tmp_path, SMALL.replace("ROWS\n", sense + "ROWS\n", 1)))
    assert_small(program, sign=-1.0)
    assert program.maximize and not qp.files.mat.read(written(tmp_path, SMALL)).maximize
    qp.files.mat.write(program, tmp_path / "again.qps")
    again = qp.files.mat.read(tmp_path / "again.qps")
    assert_small(again, sign=-1.0)
    assert again.maximize and "OBJSENSE\n MAX\n" in (tmp_path / "again.qps").read_text()


def test_the_crossed_bounds_of_a_file_are_for_the_program_to_judge(tmp_path):
    file = _QpsFile(written(tmp_path, BOUND.format(bounds=" LO B X 3\n UP B X 1\n")), False, 1000)
    assert np.concatenate(file._bounds()).tolist() == [3.0, 1.0]


def test_crossed_sides_are_written_as_they_are(tmp_path):
    data = {"A": sp.csc_array([[1.0], [2.0]]), "l": np.array([3.0, 0.0]), "u": np.array([1.0, 1.0])}
    data |= {"lb": np.zeros(1), "ub": -np.ones(1), "P": None, "q": np.ones(1), "offset": 0.0}
    qp.files.mat.write(QuadraticProgram.of_checked(**data), tmp_path / "p.qps")
    file = _QpsFile(tmp_path / "p.qps", False, 1000)
    assert np.concatenate(file._bounds()).tolist() == [0.0, -1.0]
    assert [side.tolist() for side in file._row_sides()] == [[3.0, 0.0, -inf], [inf, 1.0, 1.0]]
    assert file.matrix == {(0, 0): 1.0, (1, 0): 2.0, (2, 0): 1.0}


ROW = "NAME\nROWS\n N C\n {kind} R\nCOLUMNS\n X C 1\n X R 1\nRHS\n RHS R {rhs}\n{range}ENDATA\n"


@pytest.mark.parametrize(
    ("kind", "rhs", "R", "l", "u"),
    [
        ("L", 5.0, None, -inf, 5.0), ("G", 5.0, None, 5.0, inf), ("E", 5.0, None, 5.0, 5.0),
        ("L", 5.0, 2.0, 3.0, 5.0), ("L", 5.0, -2.0, 3.0, 5.0), ("G", 5.0, 2.0, 5.0, 7.0),
        ("G", 5.0, -2.0, 5.0, 7.0), ("E", 5.0, 2.0, 5.0, 7.0), ("E", 5.0, -2.0, 3.0, 5.0),
        ("E", 5.0, 0.0, 5.0, 5.0), ("L", 5.0, 0.0, 5.0, 5.0), ("L", 1e30, None, -inf, inf),
        ("G", -1e20, None, -inf, inf),
    ],
)  # fmt: skip
def test_sides_of_a_row(tmp_path, kind, rhs, R, l, u):
    text = ROW.format(kind=kind, rhs=rhs, range="" if R is None else f"RANGES\n RNG R {R}\n")
    program = qp.files.mat.read(written(tmp_path, text))
    assert (program.l[0], program.u[0]) == (l, u)


BOUND = "NAME\nROWS\n N C\n G R\nCOLUMNS\n X C 1\n X R 1\nRHS\nBOUNDS\n{bounds}ENDATA\n"


@pytest.mark.parametrize(
    ("bounds", "lb", "ub"),
    [
        ("", 0.0, inf), ("UP B X 3", 0.0, 3.0), ("UP B X 0", 0.0, 0.0), ("UP B X -3", -inf, -3.0),
        ("LO B X -5;UP B X -3", -5.0, -3.0), ("UP B X -3;LO B X -5", -5.0, -3.0), ("LO B X 2", 2.0, inf),
        ("FX B X 2", 2.0, 2.0), ("FR B X", -inf, inf), ("FR X", -inf, inf), ("FR B X 0", -inf, inf),
        ("MI B X", -inf, inf), ("MI B X;UP B X 3", -inf, 3.0), ("PL B X", 0.0, inf), ("LO B X 1;PL B X", 1.0, inf),
        ("UP B X 1e20", 0.0, inf), ("UP B X Infinity", 0.0, inf), ("LO B X -1e+30", -inf, inf),
        ("UP X 3", 0.0, 3.0),
    ],
)  # fmt: skip
def test_bounds(tmp_path, bounds, lb, ub):
    lines = "".join(f" {line}\n" for line in bounds.split(";") if line)
    program = qp.files.mat.read(written(tmp_path, BOUND.format(bounds=lines)))
    assert (program.lb[0], program.ub[0], program.P, program.offset) == (lb, ub, None, 0.0)


def change(old, new):
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


ERRORS = {
    "a column alone": (change("    Y         MYEQN             -1.0", "    Y"),
                       "line 14: COLUMNS: a column, a row and a value were expected, but 'Y' came"),
    "integers": (change("    Z         COST ", "    M1        'MARKER'                 'INTORG'\n    Z         COST "),
                 "line 15: a MARKER of integer variables is not supported; 'Z' is one"),
    "marker of another kind": (change("    Z         COST ", "    M1        'MARKER'  'SOSORG'\n    Z         COST "),
                               "line 15: a MARKER 'SOSORG' is not supported; INTORG and INTEND are"),
    "second quadratic objective": (change("ENDATA", "QMATRIX\n    Z         Z                  1.0\nENDATA"),
                                   "line 30: section QMATRIX states the quadratic objective, as section QUADOBJ did"),
    "quadratic objective twice": (SMALL.replace("QUADOBJ", "QSECTION COST").replace("ENDATA", "QSECTION COST\nENDATA"),
                                  "line 30: section QSECTION comes a second time"),
    "empty sense": (change("ROWS\n", "OBJSENSE\nROWS\n"), "line 4: section OBJSENSE is empty"),
    "sense twice": (change("ROWS\n", "OBJSENSE MAX\n    MIN\nROWS\n"), "line 4: OBJSENSE is given twice"),
    "two names of the objective": (change("ROWS\n", "OBJNAME\n    COST OTHER\nROWS\n"),
                                   "line 4: OBJNAME: one row was expected, before ROWS, but 'COST OTHER' came"),
    "late name of the objective": (change("RHS\n", "OBJNAME\n    OTHER\nRHS\n"), "line 17: OBJNAME: one row was"),
    "objective is no row": (change("ROWS\n", "OBJNAME LIM1\nROWS\n"), "p.qps: OBJNAME: 'LIM1' is no N row of ROWS"),
    "integer by a comment": (change("    Z         COST ", "    M1        MARKER    INTORG $\n    Z         COST "),
                             "line 15: a MARKER of integer variables is not supported; 'Z' is one"),
    "binary": (change(" UP BND       X ", " BV BND       X "), r"line 23: BOUNDS: BV \(integer or semi-continuous"),
    "integer bound": (change(" UP BND       X ", " LI BND       X "),
                      r"line 23: BOUNDS: LI \(integer or semi-continuous"),
    "unknown bound": (change(" UP BND       X ", " UB BND       X "),
                      "line 23: BOUNDS: LO, UP, FX, FR, MI or PL was expected, but 'UB'"),
    "bound without value": (change(" UP BND       X                  4.0", " UP X"),
                            "line 23: BOUNDS: 'UP X' does not fit"),
    "bound with two values": (change(" UP BND       X                  4.0", " FR BND X 4.0 5.0"),
                              "line 23: BOUNDS: 'FR BND X 4.0 5.0' does not fit"),
    "bound twice": (change(" LO BND       Y ", " UP BND       X "), "line 24: an upper bound is given twice"),
    "bound of nothing": (change(" UP BND       X ", " UP BND       W "),
                         "line 23: BOUNDS: column 'W' is not declared in COLUMNS"),
    "second vector": (change(" LO BND       Y ", " LO BN2       Y "),
                      "line 24: BOUNDS: a second vector 'BN2' beside 'BND'"),
    "second rhs": (change("    RHS       LIM2", "    RH2       LIM2"),
                   "line 18: RHS: a second vector 'RH2' beside 'RHS'"),
    "rhs twice": (change("    RHS       LIM2               1.0", "    RHS       LIM1               1.0"),
                  "line 18: a right-hand side is given twice"),
    "rhs of nothing": (change("    RHS       LIM2 ", "    RHS       LIM9 "),
                       "line 18: RHS: row 'LIM9' is not declared in ROWS"),
    "rhs alone": (change("    RHS       OTHER              5.0", "    RHS"),
                  "line 19: RHS: a row and a value were expected, but 'RHS'"),
    "range of the objective": (change("    RNG       LIM1", "    RNG       COST"),
                               "line 21: RANGES: the objective has no range"),
    "range twice": (change("   LIM2               3.0", "   LIM1               3.0"),
                    "line 21: a range is given twice"),
    "row kind": (change(" G  LIM2", " K  LIM2"), "line 6: N, L, G or E and a row were expected, but 'K LIM2' came"),
    "row twice": (change(" G  LIM2", " G  LIM1"), "line 6: row 'LIM1' is declared twice"),
    "entry of nothing": (change("    Y         MYEQN ", "    Y         MYEQ2 "),
                         "line 14: COLUMNS: row 'MYEQ2' is not declared in ROWS"),
    "entry twice": (change("    Y         MYEQN ", "    Y         LIM1  "), "line 14: an entry is given twice"),
    "cost twice": (change("    Y         MYEQN ", "    Y         COST  "),
                   "line 14: an entry of the objective is given twice"),
    "half an entry": (change("    Y         MYEQN             -1.0", "    Y         MYEQN"),
                      "line 14: COLUMNS: .* but 'Y MYEQN' came"),
    "word for a number": (change("-1.5   MYEQN", "-1.x   MYEQN"), "line 15: a number was expected, but '-1.x' came"),
    "underscore": (change("-1.5   MYEQN", "-1_5   MYEQN"), "line 15: a number was expected, but '-1_5' came"),
    "NaN": (change("-1.5   MYEQN", " nan   MYEQN"), "line 15: a number was expected, but 'nan' came"),
    "infinite entry": (change("-1.5   MYEQN", " inf   MYEQN"), r"p.qps: q must be finite, but q\[2\] is inf"),
    "pair twice": (change("    Y         Y                  4.0", "    Y         X                  0.5"),
                   "line 29: an entry of the quadratic objective is given twice"),
    "triangles that differ": (change("QUADOBJ", "QMATRIX"),
                              r"p.qps: P must be symmetric, but P\[\d, \d\] and .* differ by 0.5"),
    "section of a row": (change("QUADOBJ", "QSECTION      LIM1"),
                         r"line 26: section QSECTION LIM1 \(quadratic constraints\)"),
    "hessian of nothing": (change("    X         Y                  0.5", "    X         W                  0.5"),
                           "line 28: the quadratic objective: column 'W' is not declared"),
    "hessian short": (change("    X         Y                  0.5", "    X         0.5"),
                      "line 28: two columns and a value were expected"),
    "quadratic constraint": (change("ENDATA", "QCMATRIX LIM1"), r"line 30: section QCMATRIX \(quadratic constraints\)"),
    "ordered sets": (change("ENDATA", "SOS"), r"line 30: section SOS \(special ordered sets\) is not supported"),
    "unknown section": (change("QUADOBJ", "QUADRATIC"), "line 26: section 'QUADRATIC' is unknown"),
    "section twice": (change("QUADOBJ", "RANGES"), "line 26: section RANGES comes a second time"),
    "truncated": (change("ENDATA\n", ""), "line 29: section ENDATA was expected, but the file ends here"),
    "sense": (change("ROWS\n", "OBJSENSE\n    UP\nROWS\n"), "line 4: OBJSENSE must be MIN or MAX, but 'UP' came"),
    "line before a section": (" X Y\n" + SMALL, "line 1: a section was expected, but 'X Y' came"),
    "line after the name": (change("ROWS\n", " X Y\nROWS\n"), "line 3: a section was expected, but 'X Y' came"),
    "no rows": ("NAME\nENDATA\n", "line 2: section ROWS is missing"),
    "no columns": ("NAME\nROWS\n N C\nENDATA\n", "line 4: section COLUMNS is missing"),
    "empty file": ("", "line 0: section ENDATA was expected, but the file ends here"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_the_line(tmp_path, case):
    text, message = ERRORS[case]
    path = written(tmp_path, text)
    with pytest.raises(ProgramError, match=message) as raised:
        qp.files.mat.read(path)
    assert str(path) in str(raised.value)


def some_program(P, seed=3):
    rng = np.random.default_rng(seed)
    l = np.array([-inf, 1.25, -2.0, 0.1, -inf, 0.0])
    u = np.array([1 / 3, inf, 0.75, 0.1, 0.0, inf])
    lb = np.array([0.0, -inf, -inf, 1.5, -2.0, 1 / 7, -0.5, 0.0])
    ub = np.array([inf, inf, 2.0, 1.5, 2 / 3, inf, -0.25, 0.0])
    A = random_sparse((6, 8), density=0.4, rng=rng)
    return QuadraticProgram(P, rng.normal(size=8) * [1, 0, 1, 1, 0, 1, 1, 0], A, l, u, lb, ub, offset=1 / 9)


def assert_same_program(one, two):
    assert_parts(one, **{name: getattr(two, name) for name in ("P", "q", "A", "l", "u", "lb", "ub", "offset")})


B = np.random.default_rng(4).normal(size=(8, 3))


@pytest.mark.parametrize(
    "P", [None, B @ B.T, sp.diags_array([0, 1, 0, 2.0, 0, 0, 1 / 3, 0]), LowRank(B, 0.5)],
    ids=["none", "dense", "sparse", "low rank is multiplied out"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["p.qps", "p.mps.gz"])
def test_what_is_written_is_read_back(tmp_path, P, name):
    program = some_program(P)
    qp.files.mat.write(program, tmp_path / name)
    assert name.endswith("gz") or "inf" not in (tmp_path / name).read_text()  # some readers do not know "inf"
    assert_same_program(qp.files.mat.read(tmp_path / name), program)


def test_rows_without_sides_are_left_out_and_there_may_be_none(tmp_path):
    program = QuadraticProgram(None, [1.0, 2.0], [[1, 2], [3, 4], [5, 6]], l=[-inf, -inf, 0], u=[1, inf, inf])
    qp.files.mat.write(program, tmp_path / "p.qps")
    assert_parts(qp.files.mat.read(tmp_path / "p.qps"), A=[[1, 2], [5, 6]], l=[-inf, 0], u=[1, inf])
    qp.files.mat.write(QuadraticProgram([[2.0]], [-4.0], lb=0.0, ub=1.0), tmp_path / "p.qps")
    assert_parts(qp.files.mat.read(tmp_path / "p.qps"), n=1, m=0, ub=[1.0], q=[-4.0])


def test_other_endings_and_missing_files(tmp_path):
    with pytest.raises(
        ProgramError, match=r"path must end in .mat, .npz, .qps, .mps, .qps.gz or .mps.gz, but 'p.lp' came"
    ):
        qp.files.mat.read("p.lp")
    with pytest.raises(ProgramError, match=r"path must end in .qps, .mps, .qps.gz or .mps.gz, but 'p.mat' came"):
        qp.files.mat.write(QuadraticProgram(None, [1.0]), "p.mat")
    for name in ("missing.mat", "missing.qps"):
        with pytest.raises(FileNotFoundError):
            qp.files.mat.read(tmp_path / name)


def maros(**changes):
    A = np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]])
    fields = {
        "P": sp.csc_matrix([[2.0, 0.0], [0.0, 0.0]]), "q": np.array([[-3], [4]], dtype=np.int16),
        "A": sp.csc_matrix(A), "l": np.array([[-1e20], [0.0], [-9.999999999999998e19]]),
        "u": np.array([[5.0], [1.0], [1e20]]), "r": 7.5,
    }  # fmt: skip
    return {name: value for name, value in (fields | changes).items() if value is not None}


def saved(tmp_path, fields):
    scipy.io.savemat(tmp_path / "p.mat", fields)
    return tmp_path / "p.mat"


def test_mat_with_rows_and_bounds_and_without_bounds(tmp_path):
    assert_parts(
        qp.files.mat.read(saved(tmp_path, maros())), A=[[1.0, 2.0]], l=[-inf], u=[5.0], lb=[0.0, -inf], ub=[1.0, inf],
        q=[-3.0, 4.0], P=[[2.0, 0.0], [0.0, 0.0]], offset=7.5,
    )  # fmt: skip
    A = sp.csc_matrix([[1.0, 2.0], [1.0, 0.0], [0.0, 2.0]])
    program = qp.files.mat.read(saved(tmp_path, maros(A=A, r=None)))
    assert_parts(program, A=A.toarray(), u=[5.0, 1.0, inf], lb=[-inf, -inf], offset=0.0)


def element(order, kind, content):
    """Return an element of a .mat file; `content` of up to four bytes is packed into an eight-byte element."""
    if len(content) <= 4:
        return struct.pack(order + "I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack(order + "2I", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def variable(order, name, sort, shape, *parts):
    """Return a variable of a .mat file; `parts` are pairs of an element's kind and content."""
    flags, shape = struct.pack(order + "2I", sort, 1), struct.pack(f"{order}{len(shape)}i", *shape)
    content = element(order, 6, flags) + element(order, 5, shape) + element(order, 1, name.encode())
    return element(order, 14, content + b"".join(element(order, kind, part) for kind, part in parts))


def mat_file(order, *variables):
    mark = {"<": b"IM", ">": b"MI"}[order]
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(order + "H", 0x0100) + mark + b"".join(variables)


@pytest.mark.parametrize("order", "<>")
def test_mat_in_both_orders_of_bytes(tmp_path, order):
    numbers = {"q": [-3, 4], "l": [-1, 0, 0], "u": [5, 1, 2]}
    vectors = [
        variable(order, name, 6, (len(values), 1), (3, struct.pack(f"{order}{len(values)}h", *values)))
        for name, values in numbers.items()
    ]
    places = (5, struct.pack(order + "5i", 0, 1, 0, 2, 7)), (5, struct.pack(order + "3i", 0, 2, 4))  # one is spare
    A = variable(order, "A", 5, (3, 2), *places, (9, struct.pack(order + "5d", 1.0, 1.0, 2.0, 1.0, 7.0)))
    P = variable(order, "P", 6, (2, 2), (9, struct.pack(order + "4d", 2.0, 0.0, 0.0, 3.0)))
    (tmp_path / "p.mat").write_bytes(mat_file(order, *vectors, A, P))
    assert_parts(
        qp.files.mat.read(tmp_path / "p.mat"), A=[[1.0, 2.0]], P=[[2.0, 0.0], [0.0, 3.0]], q=[-3.0, 4.0], l=[-1.0],
        u=[5.0], lb=[0.0, 0.0], ub=[1.0, 2.0],
    )  # fmt: skip


def assert_read_alike(ours, scipys, where):
    """Check that our reader and scipy return equal values; text and cells are compared by kind only."""
    if isinstance(ours, dict):
        assert set(ours) == set(scipys.dtype.names), where
        for name, value in ours.items():
            assert_read_alike(value, scipys.flat[0][name], f"{where}.{name}")
    elif isinstance(ours, str):
        assert scipys.ndim != 2 or scipys.dtype.kind in "UOcV", where
    else:
        assert sp.issparse(ours) == sp.issparse(scipys), where
        assert (ours.shape, ours.dtype) == (scipys.shape, scipys.dtype.newbyteorder("=")), where
        for part in ("data", "indices", "indptr") if sp.issparse(ours) else ("real",):
            np.testing.assert_array_equal(getattr(ours, part), getattr(scipys, part), err_msg=where)


def all_read_alike(path):
    """Return the variables of a file, after checking that scipy reads equal values."""
    ours, scipys = matlab.read(path, 2**29), scipy.io.loadmat(path)
    assert set(ours) == {name for name in scipys if not name.startswith("__")}
    for name, value in ours.items():
        assert_read_alike(value, scipys[name], f"{path.name}: {name}")
    return ours


KINDS_OF_ARRAYS = {
    **{kind: np.arange(6).reshape(2, 3).astype(kind) for kind in ("u1", "i2", "i8", "u8", "f4", "f8", "c16", "?")},
    "one": 2.5, "text": "some text", "texts": np.array(["ab", "cd"]), "empty": np.zeros((0, 0)),
    "thin": np.ones((0, 3)), "cells": np.array([1.0, "b"], dtype=object), "three": np.ones((2, 2, 2)),
    "columns": np.asfortranarray(np.eye(3)),
    "sparse": sp.csc_matrix([[0.0, 1.5], [2.5, 0.0], [0.0, 3.5]]), "logical": sp.csc_matrix(np.eye(2, dtype=bool)),
    "none": sp.csc_matrix((3, 4)), "complex": sp.csc_matrix([[1j]]), "nan": np.array([[np.nan, np.inf]]),
    "struct": {"a": 1.0, "name": "x", "inner": {"b": sp.csc_matrix(np.eye(3)), "deep": {"c": 1.0}}},
    "structs": np.array([(1,), (2,)], dtype=[("a", object)]),
}  # fmt: skip


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.filterwarnings("ignore:.*spmatrix")
def test_mat_is_read_as_by_scipy(tmp_path, compressed):
    fields = {name if name.isalpha() else f"kind_{name.strip('?')}": value for name, value in KINDS_OF_ARRAYS.items()}
    scipy.io.savemat(tmp_path / "p.mat", fields, do_compression=compressed)
    ours = all_read_alike(tmp_path / "p.mat")
    assert set(ours) == set(fields)
    assert {name for name, value in ours.items() if isinstance(value, str)} == {
        "kind_c16", "text", "texts", "cells", "three", "complex", "structs",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["maros_meszaros", "netlib", "netlib_infeasible"])
@pytest.mark.filterwarnings("ignore:.*spmatrix")
def test_mat_of_the_sets_is_read_as_by_scipy(name):
    for path in sorted(data_folder(name).glob("*.mat")):
        all_read_alike(path)


@pytest.mark.parametrize("in_aux", [True, False])
def test_mat_of_netlib(tmp_path, in_aux):
    objective = {
        "c": np.array([[1], [200]], dtype=np.uint8), "lo": np.array([[0], [-3]]), "hi": np.array([[np.inf], [4]]),
        "z0": 0.5,
    }  # fmt: skip
    problem = {"A": sp.csc_matrix([[1.0, -1.0]]), "b": np.array([[2]], dtype=np.uint8)}
    problem |= {"aux": objective} if in_aux else objective
    assert_parts(
        qp.files.mat.read(saved(tmp_path, {"Problem": problem})), A=[[1.0, -1.0]], l=[2.0], u=[2.0], P=None, offset=0.5,
        q=[1.0, 200.0], lb=[0.0, -3.0], ub=[inf, 4.0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (maros(q=None), "q is missing, there is only A, P, l, r, u"),
        (maros(l=np.zeros(2)), r"l must have 3 entries \(the rows of A\), but 2 came"),
        (maros(A=np.eye(3)), r"A must have shape \(any, 2\) \(2 variables in q\), but \(3, 3\) came"),
        (maros(P=np.eye(3)), r"P must have shape \(2, 2\)"),
        (maros(q="text"), "q must be an array of numbers, but 'a char array' came"),
        (maros(u=np.array([1.0, 1j, 0])), "u must be an array of numbers, but 'a complex array' came"),
        (maros(q=np.array([1.0, np.nan])), r"q must be finite, but q\[1\] is nan"),
        ({"Problem": {"A": np.eye(2), "b": np.ones(2)}}, "c is missing, there is only A, b"),
        ({"A": np.eye(2), "b": np.ones(2), "c": np.ones(2)}, "lo is missing, there is only A, b, c"),
        ({"Problem": np.eye(2)}, "Problem must be a struct"),
        ({"x": np.eye(2)}, "P is missing, there is only x"),
    ],
)
def test_mat_errors_name_the_field(tmp_path, fields, message):
    with pytest.raises(ProgramError, match=f"p.mat: {message}"):
        qp.files.mat.read(saved(tmp_path, fields))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "it is none, or one of version 4"),
        (b"no MATLAB file at all " * 20, "it is none, or one of version 4"), (None, "it is none, or one of version 4"),
        (b"MATLAB 7.3 MAT-file" + b" " * 105 + b"\x00\x02IM" + b"\x00" * 400, "7.3, which is HDF5: .* option -v7"),
    ],
)  # fmt: skip
def test_mat_of_another_kind(tmp_path, content, message):
    if content is None:
        scipy.io.savemat(tmp_path / "p.mat", {"q": np.ones(3)}, format="4")
    else:
        (tmp_path / "p.mat").write_bytes(content)
    with pytest.raises(ProgramError, match=rf"p.mat cannot be read as .* of versions 5 to 7.2: .*{message}"):
        qp.files.mat.read(tmp_path / "p.mat")


def highs_solved(path):
    highs = pytest.importorskip("highspy").Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)  # as the other tests: HiGHS has one scheduler a process, for one number of them
    highs.readModel(str(path))
    highs.run()
    return highs.modelStatusToString(highs.getModelStatus()), highs.getInfo().objective_function_value


# the optimal values of Maros and Meszaros's own table
OPTIMA = {
    "HS118": 6.64820452e2, "HS35MOD": 2.5e-1, "HS52": 5.32664756, "HS76": -4.68181818, "TAME": 0.0, "ZECEVIC2": -4.125,
    "DUAL4": 7.46090842e-1, "DUALC2": 3.55130769e3, "QADLITTL": 4.80318859e5,
    "QPCBLEND": -7.84254307e-3, "CVXQP1_S": 1.15907181e4, "QSCAGR25": 2.01737938e8, "QRECIPE": -2.66616000e2,
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMA)
def test_maros_meszaros_has_the_published_value(tmp_path, name):
    program = qp.files.mat.read(data_folder("maros_meszaros") / f"{name}.mat")
    qp.files.mat.write(program, tmp_path / "p.mps")
    assert highs_solved(tmp_path / "p.mps") == ("Optimal", pytest.approx(OPTIMA[name], rel=1e-5, abs=1e-6))


def test_netlib_infeasible_is_infeasible(tmp_path):
    paths = sorted(data_folder("netlib_infeasible").glob("*.mat"))
    assert len(paths) == 10
    for path in paths:
        program = qp.files.mat.read(path)
        qp.files.mat.write(program, tmp_path / "p.mps")
        assert highs_solved(tmp_path / "p.mps")[0] == "Infeasible", path


def test_the_small_side_of_a_range_survives_a_huge_one(tmp_path):
    program = qp.QuadraticProgram(None, [1.0, 1.0], np.eye(2), l=[-1e17, 3.3], u=[3.3, 1e17])
    qp.files.mat.write(program, tmp_path / "huge.mps")
    again = qp.files.mat.read(tmp_path / "huge.mps")
    np.testing.assert_array_equal([again.u[0], again.l[1]], [3.3, 3.3])
    np.testing.assert_allclose([again.l[0], again.u[1]], [-1e17, 1e17], rtol=1e-15)
