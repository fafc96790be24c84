"""The course without Sphinx: its cells run, what it includes is there, its chapters are complete."""

import ast
import importlib.util
import inspect
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import models
import qp
import socp
from bench import commands as bench_command
from tests import release

DOCS = Path(__file__).resolve().parents[1] / "docs"
CHAPTERS = sorted((DOCS / "course").glob("*.md"))
SEMESTER = re.search(
    r"^:caption: \"Learn: a semester\".*?```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)
CORE = re.findall(r"^course/(\w+)$", SEMESTER[0], re.MULTILINE)
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "results"} & set(path.relative_to(DOCS).parts))


def directives(text, name):
    """Return (argument, options, body) of every directive `name`."""
    found = []
    for argument, content in re.findall(rf"^```{{{name}}} *(.*?)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        options = dict(re.findall(r"^:([\w-]+): *\"?(.*?)\"?$", content, re.MULTILINE))
        body = re.sub(r"\A(:[\w-]+:.*\n)+\n?", "", content)
        found.append((argument.strip(), options, body))
    return found


def objects(path):
    """Return the names of functions, classes and methods of a Python file, in the form of `pyobject`."""
    names = set()

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                names.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return names


@pytest.mark.full
@pytest.mark.parametrize(
    "chapter", [*CHAPTERS, DOCS / "quickstart.md", DOCS / "programs.md"], ids=lambda path: path.stem
)
def test_the_cells_of_a_chapter_run(chapter, monkeypatch):
    monkeypatch.chdir(chapter.parent)
    text = chapter.read_text(encoding="utf-8")
    cells = directives(text, "code-cell")
    assert len(cells) >= 3
    namespace = {"__name__": chapter.stem}
    for _, _, code in cells:
        above = text[: text.index(code)].count("\n")  # so that an error shows its line
        exec(compile("\n" * above + code, str(chapter), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_lines_are_at_most_120_long(page):
    assert max(map(len, page.read_text(encoding="utf-8").splitlines())) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_a_page_includes_is_there(page):
    text = page.read_text(encoding="utf-8")
    for argument, options, _ in [*directives(text, "literalinclude"), *directives(text, "include")]:
        path = (page.parent / argument).resolve()
        assert path.is_file(), argument
        source = path.read_text(encoding="utf-8")
        if "pyobject" in options:
            assert options["pyobject"] in objects(path), (argument, options)
        at = 0
        for key in ("start-at", "start-after", "end-at", "end-before"):
            if key in options:
                assert options[key] in source[at:], (argument, options)
                at = source.index(options[key], at) + len(options[key])


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_mathematics_code_a_picture_and_exercises_with_solutions(chapter):
    text = chapter.read_text(encoding="utf-8")
    assert "$" in text and directives(text, "literalinclude") and re.search(r"(pictures|elimination)\.", text)
    main, _, rest = text.partition("\n## Exercises\n")
    exercises, _, solutions = rest.partition("\n## Solutions\n")
    count = len(re.findall(r"^\*\*\d\.\*\*", exercises, re.MULTILINE))
    if chapter.stem in CORE:
        assert main and count == 5 and exercises.count("(By pencil.)") >= 2
    assert main and 2 <= count <= 5
    assert len(re.findall(r"^\*\*\d\.\*\*", solutions, re.MULTILINE)) == count


def test_a_chapter_of_the_semester_needs_only_what_came_before():
    assert len(CORE) == 12
    for k, name in enumerate(CORE):
        text = " ".join((DOCS / "course" / f"{name}.md").read_text(encoding="utf-8").split())
        needed = re.search(r"You need (.*?)\. ", text)[1]
        assert set(re.findall(r"\]\((\w+)\.md\)", needed)) <= set(CORE[:k]), name


DEFINED = {  # words: the chapter of the semester that defines them, in bold or italics
    "dual cone": "cones", "automorphism": "newton", "centering parameter": "central_path", "predictor": "central_path",
    "corrector": "central_path", "second-order term": "central_path", "embedding": "central_path",
    "stopping test": "central_path", "step length": "central_path", "analytic center": "central_path",
    "self-concordant": "bound", "quasi-definite": "newton", "certificate": "embedding", "decrement": "bound",
}  # fmt: skip


def test_a_chapter_uses_only_words_and_letters_that_are_defined():
    texts = {name: (DOCS / "course" / f"{name}.md").read_text("utf-8") for name in CORE}
    used = {name: re.sub(r"```.*?```", "", text.partition("\n## ")[2], flags=re.DOTALL) for name, text in texts.items()}
    for word, chapter in DEFINED.items():
        found = re.search(rf"\*[^*\n]*\b{word}[^*\n]*\*", texts[chapter])
        assert found, f"{word} is not defined in {chapter}"
        for name in CORE[: CORE.index(chapter)]:
            assert not re.search(rf"\b{word}", used[name]), f"{name} uses {word}, which {chapter} defines"
        if chapter in used:
            assert texts[chapter].partition("\n## ")[2].index(word) <= found.end()
    rows = re.findall(r"^\| (.*?) \| .* \| \[(\w+)\] \|$", (DOCS / "notation.md").read_text("utf-8"), re.MULTILINE)
    pages = dict(re.findall(r"^\[(\w+)\]: course/(\w+)\.md$", (DOCS / "notation.md").read_text("utf-8"), re.MULTILINE))
    for symbols, page in rows:
        for letter in re.findall(r"(?<!_)\\(?:sigma|mu|tau|kappa|eta|delta|lambda|circ|alpha|omega)\b", symbols):
            for name in CORE[: CORE.index(pages[page])] if pages.get(page) in CORE else ():
                assert not re.search(re.escape(letter) + r"\b", used[name]), f"{name} uses {letter} of {page}"


def test_the_notation_names_chapters_and_attributes_that_there_are():
    text = (DOCS / "notation.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*?) \| (.*?) \| .* \| \[(\w+)\] \|$", text, re.MULTILINE)
    pages = dict(re.findall(r"^\[(\w+)\]: (\S+)$", text, re.MULTILINE))
    assert len(rows) > 20 and len(rows) == text.count("\n| ") - 1 and {row[2] for row in rows} == set(pages)
    source = "".join(path.read_text("utf-8") for path in (DOCS.parent / "socp").rglob("*.py"))
    for _, code, page in rows:
        assert (DOCS / pages[page]).is_file(), page
        for name in re.findall(r"`([A-Za-z_]+)", code):
            assert re.search(rf"\b{name}\b", source), name


def test_the_tables_of_estimators_and_settings_name_what_there_is():
    import models
    from socp import Settings

    table, _, settings = (DOCS / "choices.md").read_text(encoding="utf-8").partition("## Settings")
    estimators = [
        name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    ]
    assert len(estimators) > 20 and set(estimators) <= set(models.__all__)
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", settings, re.MULTILINE)
    assert len(rows) >= 15
    for name, default in rows:
        assert str(getattr(Settings(), name)) == default, name


def test_the_version_is_that_of_the_changelog_and_the_citation():
    import socp

    root = DOCS.parent
    headings = re.findall(r"^## (.*)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if headings[0] == "Unreleased":
        del headings[0]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(20\d\d-\d\d-\d\d\)", heading) for heading in headings)
    assert headings[0].split()[0] == socp.__version__
    assert f"\nversion: {socp.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")


def test_every_page_is_in_the_table_of_contents():
    listed = {line for _, _, body in directives((DOCS / "index.md").read_text(), "toctree") for line in body.split()}
    assert listed == {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES} - {"index"}


def test_what_is_cited_stands_in_the_bibliography():
    cited = re.compile(r"\b([A-Z]\w+(?:-[A-Z]\w+)?)(?: et al\.)?,? \(?((?:19|20)\d\d)\b")
    sources = [path for name in ("socp", "qp", "models", "bench") for path in (DOCS.parent / name).rglob("*.py")]

    def text(path):  # in one line, without accents
        letters = unicodedata.normalize("NFKD", path.read_text(encoding="utf-8"))
        return " ".join("".join(c for c in letters if not unicodedata.combining(c)).split())

    entries = text(DOCS / "bibliography.md").split(" - ")
    found = {(path.name, *work) for path in [*sources, *PAGES] for work in cited.findall(text(path))}
    assert len(found) > 50
    missing = [work for work in found if not any(work[1] in entry and work[2] in entry for entry in entries)]
    assert not missing


def test_the_reference_documents_modules_that_are_there():
    for page in sorted((DOCS / "reference").glob("*.md")):
        modules = re.findall(r"^\.\. automodule:: (\S+)\n   :members:$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert modules and modules[0] == page.stem
        for name in modules:
            importlib.import_module(name)
    assert {page.stem for page in (DOCS / "reference").glob("*.md")} == {"socp", "qp", "models", "bench"}


def test_the_architecture_names_files_and_functions_that_are_there():
    root, text = DOCS.parent, (DOCS / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:socp|qp|models|bench)/[\w/]+\.py)`", text)
    assert len(set(paths)) > 25
    for path in paths:
        assert (root / path).is_file(), path
    table = text[text.index("## Where to find what") : text.index("## How kernels are compiled")]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for idea, files, functions in rows:
        there = set().union(*(objects(root / path) for path in re.findall(r"`([^`]+)`", files)))
        named = re.findall(r"`([^`]+)`", functions)
        assert named and set(named) <= there, (idea, set(named) - there)


def test_the_list_of_files_has_a_line_for_every_file_and_every_folder():
    listing, root = module_of_the_docs("listing"), DOCS.parent
    assert listing.PLACE in (DOCS / "files.md").read_text(encoding="utf-8")
    sections = re.split(r"^## `(.*)/`$", listing.markdown(), flags=re.MULTILINE)
    listed = {f"{folder}/" for folder in sections[1::2]}
    for folder, text in zip(sections[1::2], sections[2::2]):
        assert text.strip().splitlines()[0][-1] in ".`", folder  # a sentence
        rows = re.findall(r"^\| `([^`]+)` \| (.{10,}) \|$", text, re.MULTILINE)
        assert text.count("\n| `") == len(rows), folder
        listed |= {f"{folder}/{name}" for name, _ in rows}
    files = [path.relative_to(root) for package in listing.PACKAGES for path in (root / package).rglob("*.py")]
    expected = {f"{path.parent}/" if path.name == "__init__.py" else str(path) for path in files}
    assert listed == {path.replace("\\", "/") for path in expected}


def test_what_the_list_of_files_takes_from_docstrings_is_escaped():
    listing = module_of_the_docs("listing")
    assert listing.escape("R^l_+ x |y| of `a_b|c` and ``*``") == r"R^l\_+ x \|y\| of `a_b|c` and ``*``"


@pytest.mark.parametrize("command", [name for name in bench_command.COMMANDS if name])
def test_the_command_line_of_the_docs_is_the_one_there_is(command, capsys):
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    (options,) = re.findall(rf"^    centralpath {command} (.*(?:\n {{20,}}.*)*)$", text, re.MULTILINE)
    with pytest.raises(SystemExit):
        bench_command.main([command, "--help"])
    usage = capsys.readouterr().out.split("\n\n")[0]
    assert set(re.findall(r"--[a-z-]+", options)) == set(re.findall(r"--[a-z-]+", usage))


# ---- docstrings as reStructuredText


def module_of_the_docs(name):
    """Import the module docs/`name`.py and return it."""
    path = DOCS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def as_text(docstring):
    module = module_of_the_docs("docstrings")
    lines = inspect.cleandoc(docstring).splitlines()
    module.plain_text(None, "function", "f", None, None, lines)
    return lines


def test_text_is_escaped_and_mathematics_code_and_doctests_are_not():
    lines = as_text(
        """The norm |x| of `x`, a * b, ``|code|`` and coef_ of :math:`|y|*`.

        .. math::
            |x| * y_

            z_

        Examples
        --------
        A |text|:

        >>> print("|x|", 2 * 3)
        |x| 6
        """
    )
    assert lines[0] == "The norm \\|x\\| of ``x``, a \\* b, ``|code|`` and coef\\_ of :math:`|y|*`."
    assert lines[3:6] == ["    |x| * y_", "", "    z_"]
    assert "A \\|text\\|:" in lines
    assert lines[-2:] == ['>>> print("|x|", 2 * 3)', "|x| 6"]


def test_an_indented_formula_becomes_a_literal_block():
    lines = as_text(
        """Solves

            K u = |r|      * as it stands

        and returns |u|.

        Parameters
        ----------
        coef_, x : (n,) array
            With a formula

                |x| = 1

            in it.
        """
    )
    assert lines[2:5] == ["::", "", "    K u = |r|      * as it stands"]
    assert "and returns \\|u\\|." in lines
    assert "coef_, x : (n,) array" in lines  # napoleon escapes the names
    k = lines.index("        |x| = 1")
    assert lines[k - 2 : k] == ["    ::", ""] and lines[k + 2] == "    in it."


def test_attributes_of_one_item_have_each_its_type_and_together_a_description():
    lines = as_text(
        """A point.

        Attributes
        ----------
        x, y : arrays, shapes (n,), (m,)
            The |best| found.
        gap_ : float

        Examples
        --------
        >>> 1
        1
        """
    )
    text = "\n".join(line for line in lines if line)
    expected = """A point.
.. rubric:: Attributes
.. attribute:: x
    .. type: array, shape (n,)
    .. described with the next
.. attribute:: y
    .. type: array, shape (m,)
    The \\|best\\| found.
.. attribute:: gap_
    .. type: float
Examples
--------"""
    assert text.startswith(expected)


@pytest.mark.parametrize(("kind", "names", "expected"), [
    ("float", 2, ["float", "float"]),
    ("arrays", 2, ["array", "array"]),
    ("arrays, shape (n,)", 2, ["array, shape (n,)"] * 2),
    ("ndarray, shape (1, n) and (1,)", 2, ["ndarray, shape (1, n)", "ndarray, shape (1,)"]),
    ("array, shape (n,), and float", 2, ["array, shape (n,)", "float"]),
    ("qp.QuadraticProgram, qp.Solution", 2, ["qp.QuadraticProgram", "qp.Solution"]),
    ("array, shape (1,) or (classes,)", 1, ["array, shape (1,) or (classes,)"]),
    ("", 2, ["", ""]),
])  # fmt: skip
def test_a_type_says_something_of_each_name(kind, names, expected):
    assert module_of_the_docs("docstrings").kinds(kind, names) == expected


def test_a_backslash_that_divides_stays_and_a_list_ends_with_an_empty_line():
    assert as_text(r"u = lam \ d") == [r"u = lam \\ d"]
    assert as_text("A\n\n- one\n  and more\n- two\nNext.")[2:] == ["- one", "  and more", "- two", "", "Next."]


@pytest.mark.parametrize("package", [qp, socp], ids=["qp", "socp"])
def test_a_reference_begins_with_what_is_used_first_and_documents_each_name_once(package):
    name = package.__name__
    page = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
    own = re.findall(rf"auto(?:function|class):: {name}\.(\w+)\n", page)
    assert own == ["solve", "Solver", "Solution"] and page.index("Solution") < page.index(f"automodule:: {name}\n")
    pattern = rf"automodule:: {name}\n   :members:\n   :exclude-members: (.*)\n"
    excluded = re.search(pattern, page).group(1).split(", ")
    above = [one for one in package.__all__ if not getattr(package, one).__module__.startswith(f"{name}.")]
    assert excluded == sorted({*own, *above}, key=[*package.__all__].index)


def test_a_formula_that_cannot_become_mathml_stays():
    pytest.importorskip("latex2mathml", reason="needs the docs extra")
    mathml = module_of_the_docs("mathml")
    unknown = r'<div class="math">\[\nosuchcommand x\]</div>'
    assert mathml.FORMULA.sub(mathml.to_mathml, unknown) == unknown


def test_the_terminal_of_the_first_run_is_drawn_as_a_terminal_shows_it():
    terminal = module_of_the_docs("images/terminal")
    written = [(0.0, "$ a\r\n"), (1.0, "\r\x1b[K1 of 3"), (2.0, "\r\x1b[K2 of 3"), (3.0, "\r\x1b[Kdone\r\n<b>\r\n")]
    assert terminal.screen("".join(text for _, text in written)) == ["$ a", "done", "<b>", ""]
    shown = terminal.moments(written)
    assert [lines[-1] for _, lines in shown] == ["1 of 3", "2 of 3", ""]
    assert "&lt;b&gt;" in terminal.svg("$ a", shown)
    picture = terminal.PICTURE.read_text(encoding="utf-8")
    assert "compiling kernels" in picture and not re.search(r"/(tmp|home|root|work)/", picture)


# ---- pages for those who come from elsewhere


def sections(page):
    """Return the text before the first heading, and [(heading, blocks that need a peer, blocks that are run)]."""
    text = (DOCS / page).read_text(encoding="utf-8")
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return head, [(part.splitlines()[0], fenced(part, "py"), fenced(part, "python")) for part in parts]


def fenced(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def ran(code, begin):
    names = dict(begin)
    exec(code, names)
    return names


PEERS = [section for section in sections("coming_from.md")[1] if section[2]]


@pytest.mark.parametrize(("heading", "theirs", "ours"), PEERS, ids=[section[0] for section in PEERS])
def test_a_call_here_finds_what_the_other_solver_finds(heading, theirs, ours):
    (data,) = fenced(sections("coming_from.md")[0], "python")
    begin, (their_code,), (our_code,) = ran(data, {}), theirs, ours
    for name in ("cvxpy", "qpsolvers"):
        if heading == name:
            pytest.importorskip(name)
    x = np.ravel(ran(our_code, begin)["x"])
    if heading in ("OSQP", "quadprog", "CVXOPT", "cvxpy", "qpsolvers"):
        assert x == pytest.approx([0.3, 0.7], abs=1e-6)
    try:
        other = ran(their_code, begin)["x"]
    except ImportError:
        return  # the peer is not installed: the answer was compared with the numbers above alone
    assert x == pytest.approx(np.ravel(other), abs=1e-5)


def test_the_peers_are_those_that_a_visitor_comes_from():
    assert {section[0] for section in PEERS} >= {"OSQP", "quadprog", "CVXOPT", "ECOS", "scikit-learn"}


def test_the_page_on_control_runs():
    _, parts = sections("mpc.md")
    blocks = [block for part in parts for block in part[2]]
    assert len(blocks) == 4 and "solve_many" in blocks[-1]
    ran("\n".join(blocks), {})


def test_a_release_changes_the_three_files_that_tell_the_version(tmp_path):
    files = ("socp/version.py", "CITATION.cff", "CHANGELOG.md")
    (tmp_path / "socp").mkdir()
    for name in files:
        (tmp_path / name).write_bytes((DOCS.parent / name).read_bytes())
    for version in ("9.8.0", "9.8.1"):  # the second one finds the date of the first
        found = release.released(tmp_path, version, "2031-02-03")
        for path, text in found.items():
            path.write_text(text, encoding="utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in found] == list(files)
    assert found[tmp_path / "socp/version.py"].endswith('__version__ = "9.8.1"\n')
    assert "\nversion: 9.8.1\ndate-released: 2031-02-03\nlicense" in found[tmp_path / "CITATION.cff"]
    assert re.findall(r"^## (.*)$", found[tmp_path / "CHANGELOG.md"], re.MULTILINE)[:3] == [
        "Unreleased", "9.8.1 (2031-02-03)", "9.8.0 (2031-02-03)"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="three numbers"):
        release.released(tmp_path, "v9.9", "2031-02-03")


RESULTS = ("Iterate", "Solution", "Solutions", "Status", "ProgramError", "Relaxation", "SeriesSolutions", "Round")


@pytest.mark.parametrize("package", [socp, qp, models], ids=["socp", "qp", "models"])
def test_what_can_be_called_says_what_it_returns_and_raises(package):
    """Results, which the packages make, and functions without arguments raise nothing that a caller could avoid."""
    missing = []
    for name in package.__all__:
        thing = getattr(package, name)
        told = set(re.findall(r"^ *(Returns|Yields|Raises)\n *-{3,}$", thing.__doc__ or "", re.MULTILINE))
        if inspect.isfunction(thing):
            shown = inspect.signature(thing)
            if shown.return_annotation not in (None, "None") and not told & {"Returns", "Yields"}:
                missing.append(f"{name}: Returns")
            if shown.parameters and "Raises" not in told:
                missing.append(f"{name}: Raises")
        elif name not in RESULTS and (hasattr(thing, "fit") or package is not models) and "Raises" not in told:
            missing.append(f"{name}: Raises")
    assert not missing
