"""Reading and writing CBF: every cone in both places against matrices by hand, every error with its line."""

import gzip

import numpy as np
import pytest

import socp
import socp.files.cbf
from socp import ConeProgram, NonNeg, ProgramError, SecondOrder
from socp.files import textfile
from socp.files.textfile import is_integer
from tests.support.data import data_folder
from tests.support.sparse_matrices import random_sparse

r = np.sqrt(0.5)

EVERY_CONE = """# one of each
VER
3

OBJSENSE
MAX

# the variables' cones
VAR
12 6
F 1
L+ 1
  L-   1
L=\t1
Q 3
QR 5

CON
11 6
L= 2
L+ 1
L- 1
F 1
Q 2
QR 4

OBJACOORD
2
0 1.5
11 -2

OBJBCOORD
-7.25

ACOORD
14
0 0 1
1 11 2e0
2 1 3
# a comment between the entries

3 2 4
4 3 99
5 4 5
6 5 6
7 6 7
8 7 8
9 8 9
10 9 10
10 10 11
0 1 0.5
0 1 0.25

BCOORD
6
1 -1
2 -2
3 -3
5 -5
7 -7
8 -8
"""


def written(tmp_path, text, name="p.cbf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_every_cone_against_matrices_written_by_hand(tmp_path):
    program = socp.files.cbf.read(written(tmp_path, EVERY_CONE))

    # variables: x0 free, x1 >= 0, x2 <= 0, x3 = 0, (x4, x5, x6) in Q, (x7, ..., x11) in QR
    A = np.zeros((3, 12))
    A[0, 3] = 1.0
    A[1, 0], A[1, 1] = 1.0, 0.75  # an entry that is given twice is added up
    A[2, 11] = 2.0
    b = [0.0, 0.0, 1.0]
    S = np.zeros((18, 12))  # s = S x + h
    h = np.zeros(18)
    S[0, 1] = 1.0
    S[1, 2] = -1.0
    S[2, 1], h[2] = 3.0, -2.0
    S[3, 2], h[3] = -4.0, 3.0
    S[[4, 5, 6], [4, 5, 6]] = 1.0
    S[7, [7, 8]] = r, r
    S[8, [7, 8]] = r, -r
    S[[9, 10, 11], [9, 10, 11]] = 1.0
    S[12, 4], h[12] = 5.0, -5.0
    S[13, 5] = 6.0
    S[14, [6, 7]], h[14] = (7 * r, 8 * r), -15 * r
    S[15, [6, 7]], h[15] = (7 * r, -8 * r), r
    S[16, 8] = 9.0
    S[17, [9, 10]] = 10.0, 11.0

    assert program.cones == (NonNeg(4), SecondOrder(3), SecondOrder(5), SecondOrder(2), SecondOrder(4))
    np.testing.assert_array_equal(program.A.toarray(), A)
    np.testing.assert_array_equal(program.b, b)
    np.testing.assert_allclose(program.G.toarray(), -S, atol=1e-15)
    np.testing.assert_allclose(program.h, h, atol=1e-14)
    np.testing.assert_array_equal(program.c, [-1.5] + [0.0] * 10 + [2.0])
    assert program.offset == 7.25
    assert program.P is None and program.maximize
    socp.files.cbf.write(program, tmp_path / "again.cbf")
    again = socp.files.cbf.read(tmp_path / "again.cbf")
    assert again.maximize and (again.offset, *again.c) == (7.25, *program.c)
    assert "MAX" in (tmp_path / "again.cbf").read_text()


def test_rotated_cone_holds_the_points_of_its_definition(tmp_path):
    text = "VER\n1\nOBJSENSE\nMIN\nVAR\n4 1\nQR 4\n"
    program = socp.files.cbf.read_cbf(written(tmp_path, text))
    rng = np.random.default_rng(0)
    inside = 0
    for x in rng.normal(loc=[1.0, 1.0, 0.0, 0.0], size=(2000, 4)):
        s = program.h - program.G @ x
        expected = 2 * x[0] * x[1] >= x[2] ** 2 + x[3] ** 2 and x[0] >= 0 and x[1] >= 0
        assert (s[0] >= np.linalg.norm(s[1:])) == expected
        inside += expected
    assert 100 < inside < 1900


@pytest.mark.parametrize(
    "encode", [gzip.compress, lambda text: text.replace(b"\n", b"\r\n"), lambda t: b"\xef\xbb\xbf" + t]
)
def test_gzip_and_other_line_ends_and_marks_are_the_same_program(tmp_path, encode):
    plain = socp.files.cbf.read(written(tmp_path, EVERY_CONE))
    path = tmp_path / "coded.cbf"
    path.write_bytes(encode(EVERY_CONE.encode()))
    assert_same_program(socp.files.cbf.read(path), plain)


def assert_same_program(one, two):
    assert one.cones == two.cones
    assert one.offset == two.offset
    for name in ("c", "b", "h"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("A", "G"):
        np.testing.assert_array_equal(getattr(one, name).toarray(), getattr(two, name).toarray())


def some_program(cones, p=3, n=7, seed=1):
    rng = np.random.default_rng(seed)
    m = sum(cone.dim for cone in cones)
    return ConeProgram(
        c=rng.normal(size=n),
        G=random_sparse((m, n), density=0.4, rng=rng),
        h=rng.normal(size=m),
        cones=cones,
        A=random_sparse((p, n), density=0.4, rng=rng),
        b=rng.normal(size=p),
        offset=rng.normal(),
    )


@pytest.mark.parametrize("name", ["p.cbf", "p.cbf.gz", "P.CBF"])
def test_what_is_written_is_read_back_to_the_last_digit(tmp_path, name):
    program = some_program([NonNeg(4), SecondOrder(3), SecondOrder(1), SecondOrder(6)])
    socp.files.cbf.write(program, tmp_path / name)
    assert_same_program(socp.files.cbf.read(tmp_path / name), program)


def test_written_twice_gives_the_same_bytes(tmp_path):
    program = some_program([NonNeg(4), SecondOrder(3)])
    paths = [tmp_path / "one.cbf.gz", tmp_path / "two.cbf.gz"]
    for path in paths:
        socp.files.cbf.write(program, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_orthants_between_second_order_cones_are_gathered_in_front(tmp_path):
    program = some_program([SecondOrder(2), NonNeg(2), SecondOrder(3), NonNeg(1)])
    socp.files.cbf.write_cbf(program, tmp_path / "p.cbf")
    back = socp.files.cbf.read_cbf(tmp_path / "p.cbf")
    order = [2, 3, 7, 0, 1, 4, 5, 6]
    assert back.cones == (NonNeg(3), SecondOrder(2), SecondOrder(3))
    np.testing.assert_array_equal(back.G.toarray(), program.G.toarray()[order])
    np.testing.assert_array_equal(back.h, program.h[order])


def test_rows_that_always_hold_and_empty_cones_are_left_out(tmp_path):
    G = np.arange(8.0).reshape(4, 2)
    program = ConeProgram(
        [1.0, 2.0], G, [np.inf, 1.0, 2.0, 3.0], [NonNeg(2), NonNeg(0), SecondOrder(2), SecondOrder(0)]
    )
    socp.files.cbf.write(program, tmp_path / "p.cbf")
    back = socp.files.cbf.read(tmp_path / "p.cbf")
    assert back.cones == (NonNeg(1), SecondOrder(2))
    np.testing.assert_array_equal(back.G.toarray(), G[1:])
    np.testing.assert_array_equal(back.h, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("n", [0, 3])
def test_no_rows_at_all(tmp_path, n):
    program = ConeProgram(np.ones(n), offset=2.0)
    socp.files.cbf.write(program, tmp_path / "p.cbf")
    back = socp.files.cbf.read(tmp_path / "p.cbf")
    assert (back.n, back.p, back.m, back.offset) == (n, 0, 0, 2.0)
    np.testing.assert_array_equal(back.c, np.ones(n))


def test_a_quadratic_objective_is_not_written(tmp_path):
    program = ConeProgram([1.0], P=[[2.0]])
    with pytest.raises(ProgramError, match="P cannot be written: the objective of CBF is linear"):
        socp.files.cbf.write(program, tmp_path / "p.cbf")
    assert not (tmp_path / "p.cbf").exists()


HEAD = "VER\n3\nOBJSENSE\nMIN\nVAR\n2 1\nF 2\n"  # 7 lines


def test_sections_of_what_a_program_lacks_may_be_empty(tmp_path):
    empty = "INT\n0\nPSDVAR\n0\nPSDCON\n0\nPOWCONES\n0 0\nOBJFCOORD\n0\nFCOORD\n0\nHCOORD\n0\nDCOORD\n0\n"
    program = socp.files.cbf.read(written(tmp_path, HEAD + empty + "OBJACOORD\n1\n1 3\n"))
    assert program.c.tolist() == [0.0, 3.0] and not program.maximize


ERRORS = {
    "empty integers twice": (HEAD + "INT\n0\nINT\n0\n", "line 10: section INT comes a second time"),
    "no count of integers": (HEAD + "INT\n", r"line 8: section INT \(integer variables\) is not supported"),
    "integers": (HEAD + "INT\n1\n0\n", r"line 8: section INT \(integer variables\) is not supported"),
    "matrix variables": (HEAD + "\nPSDVAR\n1\n3\n", r"line 9: section PSDVAR \(semidefinite variables\)"),
    "matrix constraints": (HEAD + "PSDCON\n1\n3\n", r"line 8: section PSDCON \(semidefinite constraints\)"),
    "power cones": ("VER\n3\nPOWCONES\n1 1\n", r"line 3: section POWCONES \(power cones\)"),
    "several programs": (HEAD + "CHANGE\n", r"line 8: section CHANGE \(a sequence of programs\)"),
    "unknown section": (HEAD + "CONE\n", "line 8: section 'CONE' is unknown"),
    "exponential cone": (HEAD + "CON\n3 1\nEXP 3\n", "line 10: cone 'EXP' of section CON is not supported"),
    "power cone": (HEAD + "CON\n3 1\n@0:POW 3\n", "line 10: cone '@0:POW' of section CON is not supported"),
    "version 4": ("VER\n4\n", "line 2: version 4 of the format is not supported; 1, 2 and 3 are"),
    "version one": ("VER\none\n", "line 2: the version of the format was expected, but 'one' came"),
    "no version": ("# a comment\nOBJSENSE\nMIN\n", "line 2: a CBF file begins with section VER, but 'OBJSENSE' came"),
    "no file of this kind": ("<html>\n", "line 1: a CBF file begins with section VER, but '<html>' came"),
    "empty": ("", "section VER is missing"),
    "no variables": ("VER\n1\nOBJSENSE\nMIN\n", "section VAR is missing"),
    "no sense": ("VER\n1\nVAR\n1 1\nF 1\n", "section OBJSENSE is missing"),
    "bad sense": ("VER\n1\nOBJSENSE\nLOW\n", "line 4: OBJSENSE must be MIN or MAX, but 'LOW' came"),
    "twice": (HEAD + "VAR\n1 1\nF 1\n", "line 8: section VAR comes a second time"),
    "sizes do not add up": (HEAD + "CON\n5 2\nQ 3\nL+ 1\n", "line 9: CON: size 5 was declared, .* add up to 4"),
    "too few cones": (HEAD + "CON\n5 2\nQ 3\n", "line 10: CON: cone 2 of 2 was expected, but the file ends here"),
    "no dimension": (HEAD + "CON\n5 1\nQ\n", "line 10: CON: a cone and its dimension were expected, but 'Q' came"),
    "negative dimension": (HEAD + "CON\n5 1\nQ -5\n", "line 10: CON: a cone and its dimension were expected"),
    "two numbers": (HEAD + "CON\n5 1\nQ 5 5\n", "line 10: CON: a cone and its dimension were expected"),
    "small rotated cone": (HEAD + "CON\n1 1\nQR 1\n", "line 10: CON: a cone QR has at least dimension 2, but 1 came"),
    "header": (HEAD + "CON\n5\nQ 5\n", "line 9: CON: the size and the number of cones was expected, but '5' came"),
    "order": ("VER\n1\nOBJACOORD\n1\n0 1\n", "line 3: section OBJACOORD comes before section VAR"),
    "order of rows": (HEAD + "ACOORD\n1\n0 0 1\n", "line 8: section ACOORD comes before section CON"),
    "index too high": (HEAD + "OBJACOORD\n2\n0 1\n# \n2 1\n", "line 12: OBJACOORD: variable 2 is not one of the 2"),
    "negative index": (HEAD + "OBJACOORD\n1\n-1 1\n", "line 10: OBJACOORD: variable -1 is not one of the 2 declared"),
    "fraction": (HEAD + "OBJACOORD\n1\n0.5 1\n", "line 10: OBJACOORD: variable 0.5 is not one of the 2 declared"),
    "row too high": (HEAD + "CON\n1 1\nL= 1\nACOORD\n1\n1 0 1\n", "line 13: ACOORD: row 1 is not one of the 1"),
    "words": (HEAD + "OBJACOORD\n2\n0 1\n1 x\n", "line 11: OBJACOORD: variable and value was expected, but '1 x' came"),
    "NaN": (HEAD + "OBJACOORD\n2\n0 1\n1 nan\n", "line 11: OBJACOORD: variable and value was .* '1 nan' came"),
    "infinite": (HEAD + "OBJACOORD\n1\n1 1e999\n", "line 10: OBJACOORD: variable and value was expected"),
    "short line": (HEAD + "OBJACOORD\n2\n0 1\n1\n", "line 11: OBJACOORD: variable and value was .* '1' came"),
    "all lines long": (HEAD + "OBJACOORD\n2\n0 1 1\n0 1 1\n", "line 10: OBJACOORD: variable and value was expected"),
    "too few entries": (HEAD + "OBJACOORD\n3\n0 1\n1 1\n", "line 11: 3 lines of OBJACOORD: .* only 2 follow"),
    "too many entries": (HEAD + "OBJACOORD\n1\n0 1\n1 1\n", "line 11: section '1 1' is unknown"),
    "hardly any": (HEAD.replace("2", "99999999999"), "99999999999 variables .* the file has only 7 lines"),
    "no constant": (HEAD + "OBJBCOORD\n1 1\n", "line 9: the constant of the objective was expected, but '1 1' came"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_the_line(tmp_path, case):
    text, message = ERRORS[case]
    path = written(tmp_path, text)
    with pytest.raises(ProgramError, match=message) as raised:
        socp.files.cbf.read(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("size", [10, 16, 64, 10**6])
def test_lines_are_counted_over_blocks_of_any_size(tmp_path, monkeypatch, size):
    monkeypatch.setattr(textfile, "BLOCK", size)
    path = written(tmp_path, "VER\n3\n" + 40 * "  \n" + 40 * "\r\n" + "OBJSENSE\n" + 50 * " \n" + "LOW\n")
    with pytest.raises(ProgramError, match="line 134: OBJSENSE must be MIN or MAX, but 'LOW' came"):
        socp.files.cbf.read(path)


def test_integers_have_up_to_18_digits():
    for text, expected in (("0", True), ("9" * 18, True), ("9" * 19, False), ("-1", False), ("", False), ("²", False)):
        assert is_integer(text) is expected, text


def test_other_endings_and_damaged_files(tmp_path):
    with pytest.raises(ProgramError, match=r"path must end in .cbf or .cbf.gz, but 'p.mps' came"):
        socp.files.cbf.read("p.mps")
    with pytest.raises(ProgramError, match=r"path must end in .cbf or .cbf.gz, but 'p.txt' came"):
        socp.files.cbf.write(ConeProgram([1.0]), "p.txt")
    with pytest.raises(FileNotFoundError):
        socp.files.cbf.read(tmp_path / "missing.cbf")
    path = tmp_path / "cut.cbf.gz"
    path.write_bytes(gzip.compress(EVERY_CONE.encode())[:-20])
    with pytest.raises(ProgramError, match="the gzip file is damaged"):
        socp.files.cbf.read(path)


@pytest.mark.full
def test_library_files_have_the_sizes_that_they_declare():
    # n, p, m, cones: counted in the files' own headers
    sizes = {
        "chainsing_10000_1": (129976, 89982, 99982, 29995), "chainsing_1000_1": (12976, 8982, 9982, 2995),
        "chainsing_1000_2": (9985, 6988, 7988, 1998), "chainsing_1000_3": (6991, 4992, 5992, 1000),
        "db_shear_wall": (43339, 28812, 49122, 4776), "nb": (2383, 123, 2383, 794), "nb_L1": (3176, 915, 3176, 794),
        "nql30": (4501, 3680, 2700, 900), "nql90": (40501, 32640, 24300, 8100), "qssp30": (7565, 3691, 7564, 1891),
        "sambal": (31, 11, 52, 14), "sched_100_100_orig": (18240, 8338, 18240, 3),
        "sched_100_50_scaled": (9744, 4843, 9744, 2), "sched_50_50_orig": (4979, 2527, 4979, 3),
        "strictmin_2D_43_primal": (61356, 51275, 50400, 10080),
    }  # fmt: skip
    folder = data_folder("cblib")
    for path in sorted(folder.glob("*.cbf.gz")):
        program, name = socp.files.cbf.read(path), path.name.removesuffix(".cbf.gz")
        found = (program.n, program.p, program.m, len(program.cones))
        assert found == sizes.pop(name, found), name  # the folder may hold others, too
    assert not sizes


# the optimal values that the DIMACS challenge publishes
@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "value"), [("nb", -0.05070309), ("nb_L1", -13.01227), ("nql30", -0.9460285), ("qssp30", -6.496675)]
)
def test_library_files_have_the_optimal_value_that_is_published(name, value):
    program = socp.files.cbf.read(data_folder("cblib") / f"{name}.cbf.gz")
    solution = socp.solve(program)
    assert solution.status == "optimal" and solution.objective == pytest.approx(value, rel=1e-5)


def test_versions_that_are_read(tmp_path):
    path = tmp_path / "version.cbf"
    for version in (1, 2, 3):
        path.write_text(f"VER\n{version}\nOBJSENSE\nMIN\nVAR\n1 1\nL+ 1\nOBJACOORD\n1\n0 2.5\n")
        assert socp.files.cbf.read(path).c.tolist() == [2.5]
