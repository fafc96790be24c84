"""Put faults into the code, one at a time, and tell which of them the tests see.

    python -m tests.mutate --faults 300 --seed 7 --processes 2 [--rooms socp/batch qp ...] [--least 0.9]
    python -m tests.mutate --again printed.tsv      the survivors of an earlier run, in the current code

A fault is one change of the syntax tree of a kind that people make: another sign, comparison or branch, a dropped term,
a tolerance off by ten, a forgotten statement, one of two similar names.  Every room (a folder of the packages) gets
equally many faults, drawn by the seed.  A fault is tried in a copy of the project, on the tests of its file, then of
its room and its package (--reach all: on all tests).  The first test that fails or does not end catches it.  Survivors
are printed with file and line: each is a hole in the tests or an equivalent change, which only a reader can tell.

A process that has imported numba, scikit-learn and the like forks for each fault; kernels that no fault changes are
compiled once.  First all these tests run without a fault, and failing ones are left out.  At the end the tests that
caught something run without a fault again, in another order; failing ones are left out, and their faults tried again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import itertools
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = "socp", "qp", "models", "bench"
NOT_MUTATED = "socp/interop", "qp/interop", "bench/experiments", "bench/data"  # texts and tables, mostly
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.MatMult: None}
WRITTEN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {
    ast.Lt: ("<", "<=", ">"), ast.LtE: ("<=", "<", ">="), ast.Gt: (">", ">=", "<"), ast.GtE: (">=", ">", "<="),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip
TWINS = {"l": "u", "u": "l", "lb": "ub", "ub": "lb", "lower": "upper", "upper": "lower", "min": "max", "max": "min"}
TWINS |= {"minimum": "maximum", "maximum": "minimum", "y": "z", "z": "y", "any": "all", "all": "any"}
PASSED, FAILED, NOTHING_RUN = 0, 1, 5  # exit codes of pytest
REACHES = "room", "package", "all"
SPOKEN = "logger", "warnings", "print"  # messages for users
HEAVY = "numpy", "scipy.sparse.linalg", "scipy.stats", "numba", "pytest", "hypothesis", "xdist"  # imported once
HEAVY += "sklearn.utils.estimator_checks", "sklearn.svm", "sklearn.linear_model", "cvxpy", "nltk", "matplotlib"


class Fault(NamedTuple):
    """Piece of a file's text and its replacement."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def room(self) -> str:
        """Folder of the file."""
        return str(Path(self.file).parent)

    def applied(self, code: str) -> str:
        """Return the code with the fault."""
        return code[: self.start] + self.after + code[self.end :]


class Finder(ast.NodeVisitor):
    """Visitor that finds the places of a file where a fault can be put."""

    def __init__(self, file: str, code: str) -> None:
        self.file, self.code, self.found, self.depth = file, code, [], 0
        self.lines, self.starts = code.split("\n"), [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.visit(ast.parse(code))

    def place(self, line: int, column: int) -> int:
        """Return the index in the text of a line and a column in bytes, as the tree counts."""
        text = self.lines[line - 1]
        return self.starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the indices in the text where a node begins and ends."""
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def add(self, node: ast.AST, start: int, end: int, after: str) -> None:
        """Record a fault if it is in a function."""
        if self.depth:
            self.found.append(Fault(self.file, node.lineno, start, end, self.code[start:end], after))

    def add_between(self, node: ast.AST, left: ast.AST, right: ast.AST, before: str, after: str) -> None:
        """Record the fault of another operator between two nodes."""
        start = self.code.find(before, self.span(left)[1], self.span(right)[0])
        if start >= 0:
            self.add(node, start, start + len(before), after)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit the body without the docstring; skip annotations and decorators."""
        self.depth += 1
        for statement in node.body[1 if ast.get_docstring(node) else 0 :]:
            self.visit(statement)
        self.depth -= 1

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip messages."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip texts."""

    def visit_Call(self, node: ast.Call) -> None:
        """Skip calls that log, warn or print."""
        if not self.code[slice(*self.span(node.func))].startswith(SPOKEN):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit only the value."""
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Record another sign, and a forgotten term."""
        other = SIGNS.get(type(node.op))
        if other is not None:
            self.add_between(node, node.left, node.right, WRITTEN[type(node.op)], other)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            self.add(node, self.span(node.left)[1], self.span(node)[1], "" if self.is_whole(node) else ")")
        self.generic_visit(node)

    def is_whole(self, node: ast.BinOp) -> bool:
        """Return True if the brackets from the beginning of the node to the end of its left operand are balanced."""
        text = self.code[self.span(node)[0] : self.span(node.left)[1]]
        return text.count("(") == text.count(")")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Record a forgotten minus or not."""
        if isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
            self.add(node, self.span(node)[0], self.span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Record a comparison that includes or excludes equality, and one in the other direction."""
        written = COMPARISONS.get(type(node.ops[0]))
        for other in written[1:] if written else ():
            self.add_between(node, node.left, node.comparators[0], written[0], other)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Record `and` for `or`, and `or` for `and`."""
        before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self.add_between(node, node.values[0], node.values[1], before, after)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Record the negated condition."""
        start, end = self.span(node.test)
        self.add(node, start, end, f"not ({self.code[start:end]})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Record a float off by a factor of ten, an integer off by one, or the other truth value."""
        value = node.value
        if isinstance(value, bool):
            self.add(node, *self.span(node), str(not value))
        elif isinstance(value, float):
            self.add(node, *self.span(node), repr(10.0 * value if value not in (0.0, 1.0) else 1.0 - value))
        elif isinstance(value, int):
            self.add(node, *self.span(node), repr(value + 1 if value < 2 else value - 1))

    def visit_Name(self, node: ast.Name) -> None:
        """Record a similar name."""
        if node.id in TWINS and isinstance(node.ctx, ast.Load):
            self.add(node, *self.span(node), TWINS[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Record a similar attribute."""
        if node.attr in TWINS and isinstance(node.ctx, ast.Load):
            end = self.span(node)[1]
            self.add(node, end - len(node.attr), end, TWINS[node.attr])
        self.generic_visit(node)

    def forgotten(self, node: ast.stmt) -> None:
        """Record the forgotten statement."""
        self.add(node, *self.span(node), "pass")
        self.generic_visit(node)

    visit_AugAssign = visit_Break = visit_Continue = forgotten

    def visit_Assign(self, node: ast.Assign) -> None:
        """Record a forgotten assignment to an attribute or an entry; an unset name would be noticed at once."""
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            self.forgotten(node)
        else:
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Record a forgotten call whose value is not used."""
        if isinstance(node.value, ast.Call) and not self.code[self.span(node)[0] :].startswith(SPOKEN):
            self.forgotten(node)


def faults_of(file: str, code: str) -> list[Fault]:
    """Return all faults that can be put into a file."""
    return Finder(file, code).found


def rooms(root: Path, chosen: list[str]) -> dict[str, list[Path]]:
    """Return the files of each room."""
    found: dict[str, list[Path]] = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            room = path.parent.relative_to(root).as_posix()
            wanted = not chosen or any(room == name or room.startswith(f"{name}/") for name in chosen)
            if wanted and not any(room.startswith(name) for name in NOT_MUTATED):
                found.setdefault(room, []).append(path)
    return found


def draw(root: Path, chosen: list[str], count: int, seed: int) -> list[Fault]:
    """Return `count` random faults, equally many in each room."""
    drawn: list[Fault] = []
    found = rooms(root, chosen)
    assert found, f"no room of {PACKAGES} is in {chosen}"
    for i, (room, files) in enumerate(found.items()):
        candidates = []
        for path in files:
            code = path.read_text(encoding="utf-8")
            candidates += faults_of(path.relative_to(root).as_posix(), code)
        share = count // len(found) + (i < count % len(found))
        random.Random(f"{seed} {room}").shuffle(candidates)
        drawn += itertools.islice(filter(is_code, candidates), share)
    return drawn


def is_code(fault: Fault) -> bool:
    """Return True if Python can parse the file with the fault."""
    try:
        ast.parse(fault.applied((ROOT / fault.file).read_text(encoding="utf-8")))
    except SyntaxError:
        return False
    return True


def tests_of(fault: Fault, copy: Path, reach: str) -> list[list[str]]:
    """Return the tests in stages, the likeliest to see the fault first: of its file and room, its package, and all."""
    room, name, tests = Path(fault.room), Path(fault.file).stem, copy / "tests"
    stages = [sorted((tests / room).glob("test_*.py"), key=lambda path: not path.stem.startswith(f"test_{name}"))]
    package = (tests / room.parts[0]).rglob("test_*.py")
    stages += [sorted(package, key=lambda path: -len(os.path.commonpath([path, tests / room])))]  # the nearest first
    stages += [sorted(tests.rglob("test_*.py"))]
    known: set[Path] = set()
    found = []
    for paths in stages:
        found.append([path.relative_to(copy).as_posix() for path in paths if path not in known])
        known.update(paths)
    found = [names for names in found[: REACHES.index(reach) + 1] if names]
    return found or tests_of(fault, copy, "package")


def run_tests(copy: Path, stages: list[list[str]], output: Path, left_out: Iterable[str], first: bool = True) -> None:
    """Run tests in this child process until some fail, and exit with pytest's exit code."""
    os.setsid()
    sys.stdout = sys.stderr = file = output.open("w")
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
    os.chdir(copy)
    stages = [[*tests, *(f"--deselect={name}" for name in left_out)] for tests in stages]
    os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it
    for name in [name for name in sys.modules if name.split(".")[0] in (*PACKAGES, "tests")]:
        del sys.modules[name]
    sys.path[:] = [str(copy), *(path for path in sys.path if path not in ("", str(ROOT)))]
    sys.dont_write_bytecode, code = True, FAILED
    try:
        words = ["-q", *["-x"] * first, "-n0", "-pno:cacheprovider", "--no-header", "--timeout=120", "--tb=line"]
        for tests in stages:
            code = int(sys.modules["pytest"].main([*words, *tests]))
            if code not in (PASSED, NOTHING_RUN):
                break
    except BaseException as error:
        print(f"ERROR {error!r}", flush=True)
    finally:
        sys.stdout.flush()
        os._exit(code)


class Trial:
    """Run of the tests of one fault, in its own process on a copy of the project."""

    def __init__(self, copy: Path, fault: Fault, limit: float, reach: str, left_out: Iterable[str] = ()) -> None:
        self.copy, self.fault, self.begun, self.limit = copy, fault, time.monotonic(), limit
        self.path, self.output = copy / fault.file, copy / "output.txt"
        self.code = self.path.read_text(encoding="utf-8")
        self.path.write_text(fault.applied(self.code), encoding="utf-8")
        self.process = os.fork()
        if not self.process:
            run_tests(copy, tests_of(fault, copy, reach), self.output, left_out)

    def verdict(self) -> str:
        """Return what caught the fault, "survived", or "" while the tests run."""
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if not ended and time.monotonic() - self.begun < self.limit:
            return ""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        if not ended:
            os.waitpid(self.process, 0)
        self.path.write_text(self.code, encoding="utf-8")
        if not ended:
            return "no end"
        code = os.waitstatus_to_exitcode(status)
        if code in (PASSED, NOTHING_RUN):
            return "survived"
        said = self.output.read_text(errors="replace").splitlines()
        if any(line.strip("+ ") == "Timeout" for line in said):  # as pytest-timeout says before it ends the process
            return "no end"
        failed = failures(said)
        return failed[0] if failed else f"the tests could not be run ({code})"


def failures(said: list[str]) -> list[str]:
    """Return pytest's summary lines of failures; lines of a log have more blanks after "ERROR"."""
    return [line.split(" - ")[0] for line in said if re.match(r"(FAILED|ERROR) \S", line)]


def tried(
    drawn: list[Fault], copies: list[Path], limit: float, reach: str, left_out: Iterable[str] = ()
) -> Iterator[tuple[Fault, str, float]]:
    """Try faults in parallel, one in each copy; yield each with its verdict and seconds."""
    waiting, free, running = list(reversed(drawn)), list(copies), []
    while waiting or running:
        while waiting and free:
            running.append(Trial(free.pop(), waiting.pop(), limit, reach, left_out))
        time.sleep(0.05)
        for trial in running[:]:
            if verdict := trial.verdict():
                running.remove(trial)
                free.append(trial.copy)
                yield trial.fault, verdict, time.monotonic() - trial.begun


def failing(copy: Path, tests: list[str]) -> set[str]:
    """Run `tests` without a fault; print and return those that fail."""
    process = os.fork()
    if not process:
        run_tests(copy, [tests], copy / "output.txt", (), first=False)
    os.waitpid(process, 0)
    said = (copy / "output.txt").read_text(errors="replace").splitlines()
    found = {line.split(" ", 1)[1] for line in failures(said)}
    for name in sorted(found):
        print(f"without a fault, too: {name}", flush=True)
    return found


def made_copies(count: int, work: Path) -> list[Path]:
    """Return copies of the project, each for one fault at a time, and import the packages that no fault changes."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "build", ".*_cache")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    kernels = Path(os.environ.get("NUMBA_CACHE_DIR", Path.home() / ".cache")) / "centralpath"
    if kernels.is_dir():
        shutil.copytree(kernels, work / "kernels" / "centralpath", dirs_exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(work / "kernels")
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return [Path(shutil.copytree(ROOT, work / f"copy{k}", ignore=ignored)) for k in range(count)]


def survivors(printed: Path) -> list[Fault]:
    """Return the faults that survived according to the printed lines of an earlier run, if the code still has them."""
    found = []
    for line in printed.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(.*?):(\d+)\t('.*'|\".*\") -> ('.*'|\".*\")\tsurvived\t.*", line):
            file, number, change = match[1], int(match[2]), tuple(map(ast.literal_eval, match.groups()[2:]))
            faults = faults_of(file, (ROOT / file).read_text(encoding="utf-8")) if (ROOT / file).is_file() else []
            near = [fault for fault in faults if (fault.before, fault.after) == change and is_code(fault)]
            found += sorted(near, key=lambda fault: abs(fault.line - number))[:1]
    return found


def told(verdicts: list[str]) -> str:
    """Return as text how many faults were caught, and how many of them because tests did not end in time."""
    endless, caught = verdicts.count("no end"), len(verdicts) - verdicts.count("survived")
    return f"{caught:4d} of {len(verdicts)}" + (f", {endless} by no end" if endless else "")


def main(words: list[str] | None = None) -> int:
    """Draw faults, try them, and print each verdict and the share of caught faults in each room."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__.split("\n")[0])
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rooms", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=900.0, help="that tests may take before they count as endless")
    parser.add_argument(
        "--reach", choices=REACHES, default="package", help="the furthest tests that a fault is tried on"
    )
    parser.add_argument("--again", type=Path, help="lines of an earlier run, whose survivors are tried")
    parser.add_argument("--least", type=float, default=0.0, help="share that is to be caught")
    asked = parser.parse_args(words)
    drawn = survivors(asked.again) if asked.again else draw(ROOT, asked.rooms, asked.faults, asked.seed)
    found: dict[Fault, str] = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as work:
        copies = made_copies(asked.processes, Path(work))
        stages = itertools.chain(*(tests_of(fault, copies[0], asked.reach) for fault in drawn))
        waiting, wrong = drawn, failing(copies[0], list(dict.fromkeys(itertools.chain(*stages))))
        while waiting:
            for fault, by, seconds in tried(waiting, copies, asked.seconds, asked.reach, wrong):
                found[fault] = by
                change = f"{fault.before!r} -> {fault.after!r}"
                print(f"{fault.file}:{fault.line}\t{change}\t{by}\t{seconds:.0f} s", flush=True)
            tests = {by.split(" ", 1)[1] for by in found.values() if by.startswith(("FAILED", "ERROR tests"))}
            fails = failing(copies[0], sorted(tests)) if tests else set()
            waiting = [fault for fault, by in found.items() if by.split(" ", 1)[-1] in fails]
            wrong |= fails
    for room in dict.fromkeys(fault.room for fault in drawn):
        print(f"{room:<24}{told([by for fault, by in found.items() if fault.room == room])}")
    share = sum(by != "survived" for by in found.values()) / max(len(found), 1)
    print(f"caught {share:.0%}: {told(list(found.values()))} faults, seed {asked.seed}")
    return 0 if share >= asked.least else 1


if __name__ == "__main__":
    sys.exit(main())
