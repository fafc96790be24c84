"""Put faults into the code, one at a time, and tell which of them the tests see.

    python -m tests.mutate --faults 300 --seed 7 --processes 2 [--rooms socp/batch qp ...] [--least 0.9]

A fault is one change of the syntax tree that people make: a sign, a term, a comparison, a branch, a tolerance by ten,
a statement that is forgotten, one of two names that look alike.  Each room (a folder of the packages) gives as many,
drawn by the seed.  A fault is tried in a copy of the project on the tests of its room, then on those of its package,
then on all: it is caught by the first test that fails or does not end.  What survives is printed with file and line: it
is a hole in the tests, or a change that changes nothing, which only a reader can tell.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
FAILED, NOTHING_RUN = 1, 5  # exit codes of pytest


class Fault(NamedTuple):
    """Text of a file that is replaced by other text."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def room(self) -> str:
        """The folder that it is in."""
        return str(Path(self.file).parent)

    def applied(self, code: str) -> str:
        """The code with the fault."""
        return code[: self.start] + self.after + code[self.end :]


class Finder(ast.NodeVisitor):
    """Find the places of a file where a fault can be put."""

    def __init__(self, file: str, code: str) -> None:
        self.file, self.code, self.found, self.depth = file, code, [], 0
        self.lines, self.starts = code.split("\n"), [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.visit(ast.parse(code))

    def place(self, line: int, column: int) -> int:
        """The place in the text of what the tree tells in bytes."""
        text = self.lines[line - 1]
        return self.starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def add(self, node: ast.AST, start: int, end: int, after: str) -> None:
        """Note a fault, if it is in a function."""
        if self.depth:
            self.found.append(Fault(self.file, node.lineno, start, end, self.code[start:end], after))

    def add_between(self, node: ast.AST, left: ast.AST, right: ast.AST, before: str, after: str) -> None:
        """Note another operator between two nodes."""
        start = self.code.find(before, self.span(left)[1], self.span(right)[0])
        if start >= 0:
            self.add(node, start, start + len(before), after)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at the body: not at its docstring, nor at annotations and decorators."""
        self.depth += 1
        for statement in node.body[1 if ast.get_docstring(node) else 0 :]:
            self.visit(statement)
        self.depth -= 1

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Look at the value alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another sign, or a term that is forgotten."""
        other = SIGNS.get(type(node.op))
        if other is not None:
            self.add_between(node, node.left, node.right, WRITTEN[type(node.op)], other)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            self.add(node, self.span(node.left)[1], self.span(node)[1], "" if self.is_whole(node) else ")")
        self.generic_visit(node)

    def is_whole(self, node: ast.BinOp) -> bool:
        """Whether the left operand closes as many brackets as it opens, to the beginning of the node."""
        text = self.code[self.span(node)[0] : self.span(node.left)[1]]
        return text.count("(") == text.count(")")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """A minus or a not that is forgotten."""
        if isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
            self.add(node, self.span(node)[0], self.span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """An edge on the other side, or another direction."""
        written = COMPARISONS.get(type(node.ops[0]))
        for other in written[1:] if written else ():
            self.add_between(node, node.left, node.comparators[0], written[0], other)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """`and` for `or`, or a condition that is forgotten."""
        before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self.add_between(node, node.values[0], node.values[1], before, after)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """The wrong branch."""
        start, end = self.span(node.test)
        self.add(node, start, end, f"not ({self.code[start:end]})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number off by ten, or by one."""
        value = node.value
        if isinstance(value, bool):
            self.add(node, *self.span(node), str(not value))
        elif isinstance(value, float):
            self.add(node, *self.span(node), repr(10.0 * value if value not in (0.0, 1.0) else 1.0 - value))
        elif isinstance(value, int):
            self.add(node, *self.span(node), repr(value + 1 if value < 2 else value - 1))

    def visit_Name(self, node: ast.Name) -> None:
        """A name that looks like it."""
        if node.id in TWINS and isinstance(node.ctx, ast.Load):
            self.add(node, *self.span(node), TWINS[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute that looks like it."""
        if node.attr in TWINS and isinstance(node.ctx, ast.Load):
            end = self.span(node)[1]
            self.add(node, end - len(node.attr), end, TWINS[node.attr])
        self.generic_visit(node)

    def forgotten(self, node: ast.stmt) -> None:
        """A statement that is forgotten."""
        self.add(node, *self.span(node), "pass")
        self.generic_visit(node)

    visit_AugAssign = visit_Break = visit_Continue = forgotten

    def visit_Assign(self, node: ast.Assign) -> None:
        """State that is not brought up to date; a name that is not set would be seen by anybody."""
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            self.forgotten(node)
        else:
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call for what it does."""
        if isinstance(node.value, ast.Call):
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
    """Return `count` faults, as many of each room as of another."""
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
    """Whether Python can read the file with the fault."""
    try:
        ast.parse(fault.applied((ROOT / fault.file).read_text(encoding="utf-8")))
    except SyntaxError:
        return False
    return True


def tests_of(room: str) -> Iterator[str]:
    """The tests of a room, of its package, and all."""
    for folder in (room, room.split("/")[0]):
        if (ROOT / "tests" / folder).is_dir():
            yield f"tests/{folder}"
    yield "tests"


def outcome(copy: Path, tests: str, limit: float) -> str:
    """How tests end in a copy of the project: the one that failed, "no end" or "passed"."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header", tests]
    caches = {"NUMBA_CACHE_DIR": str(copy / "kernels"), "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=os.environ | caches, timeout=limit, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if ran.returncode in (0, NOTHING_RUN):
        return "passed"
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else "the tests could not be run"


def verdict(copy: Path, fault: Fault, limit: float, near: bool) -> str:
    """By what a fault is caught, or "survived"."""
    path = copy / fault.file
    code = path.read_text(encoding="utf-8")
    path.write_text(fault.applied(code), encoding="utf-8")
    try:
        for tests in dict.fromkeys(tests_of(fault.room)) if not near else [next(tests_of(fault.room))]:
            found = outcome(copy, tests, limit)
            if found != "passed":
                return found
        return "survived"
    finally:
        path.write_text(code, encoding="utf-8")


def copies(count: int, work: Path) -> queue.Queue[Path]:
    """Return copies of the project, each for one fault at a time."""
    made: queue.Queue[Path] = queue.Queue()
    for k in range(count):
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "build", ".*_cache")
        made.put(Path(shutil.copytree(ROOT, work / f"copy{k}", ignore=ignored)))
    return made


def main(words: list[str] | None = None) -> int:
    """Draw faults, try them, and print what became of each and the share of each room."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__.split("\n")[0])
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rooms", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=600.0, help="that tests may take before they count as endless")
    parser.add_argument("--near", action="store_true", help="the tests of the room alone")
    parser.add_argument("--least", type=float, default=0.0, help="share that is to be caught")
    asked = parser.parse_args(words)
    drawn = draw(ROOT, asked.rooms, asked.faults, asked.seed)
    caught: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as work, ThreadPoolExecutor(asked.processes) as pool:
        free = copies(asked.processes, Path(work))

        def tried(fault: Fault) -> tuple[Fault, str, float]:
            copy, begun = free.get(), time.perf_counter()
            try:
                return fault, verdict(copy, fault, asked.seconds, asked.near), time.perf_counter() - begun
            finally:
                free.put(copy)

        for fault, by, seconds in pool.map(tried, drawn):
            caught.setdefault(fault.room, []).append(by != "survived")
            print(f"{fault.file}:{fault.line}\t{fault.before!r} -> {fault.after!r}\t{by}\t{seconds:.0f} s", flush=True)
    for room, seen in caught.items():
        print(f"{room:<24}{sum(seen):4d} of {len(seen)}")
    share = sum(map(sum, caught.values())) / max(len(drawn), 1)
    print(f"caught {share:.0%} of {len(drawn)} faults, seed {asked.seed}")
    return 0 if share >= asked.least else 1


if __name__ == "__main__":
    sys.exit(main())
