"""The commands ``python -m socp`` and ``python -m qp``: solve a file, show the configuration, warm up kernels."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .compiled.build import prepare
from .compiled.kernels import INTERPRETED
from .kernel_groups import any_second_order, members, prepare_packages, ready_for_large, show_config
from .problem.checks import ProgramError
from .problem.hessian import GLANCE
from .problem.printing import MAXIMIZED, facts
from .problem.settings import WAYS, Settings, explained
from .problem.status import Status
from .version import __version__

NOT_HERE = ("callback",)  # settings that a command line cannot state


def parser(prog: str, description: str, files: str, left_out: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of a command, with an option for each setting that is not in `left_out`."""
    made = argparse.ArgumentParser(prog=prog, description=description)
    words = f"a file ({files}) to solve; or config, to print what is installed; or warmup, to compile all kernels"
    made.add_argument("what", metavar="FILE | config | warmup", help=words)
    made.add_argument("--version", action="version", version=f"centralpath {__version__}")
    texts = explained()
    for setting in dataclasses.fields(Settings):
        name = setting.name
        if name in (*NOT_HERE, *left_out):
            continue
        kind: dict[str, Any] = {"type": int} if setting.type == "int" else {"type": float}
        if setting.type == "bool":
            kind = {"action": argparse.BooleanOptionalAction}
        elif name == "kkt":
            kind = {"choices": WAYS}
        text = " ".join(texts.get(name, "").partition("\n")[2].split())
        if setting.default is not None:
            text = f"{text} (default {setting.default})"
        made.add_argument(f"--{name.replace('_', '-')}", default=setting.default, help=text.replace("%", "%%"), **kind)
    return made


def answer(
    made: argparse.ArgumentParser, arguments: Sequence[str] | None, read: Callable[[str], Any], solver: Any
) -> int:
    """Run the command that the arguments state; return the exit code.

    `read` returns the program in a file by its name; `solver` is `socp.Solver` or `qp.Solver`.  The exit code is 0 for
    an optimal point or a certificate, 1 for other answers, 2 for bad input.
    """
    options = vars(made.parse_args(arguments))
    what = options.pop("what")
    if what == "warmup":
        return warmup()
    if what == "config":
        show_config()
        return 0
    try:
        settings = Settings(**options)
        program = read(what)
        print(f"{'program':<14} {program!r}{f', {MAXIMIZED}' * program.maximize}")
        _load_kernels(program)  # before the set-up, whose reported time excludes it
        solution = solver.of_checked(program, settings).solve()
    except (ProgramError, OSError) as error:
        print(f"{made.prog}: {told(error)}", file=sys.stderr)
        return 2
    for name, value in facts(solution, program.maximize).items():
        print(f"{name:<14} {value}")
    return 0 if solution.status is Status.OPTIMAL or solution.status.is_infeasible else 1


def told(error: Exception) -> str:
    """Return the message of an error; for one of the system, the file and the reason, without the number.

    Examples
    --------
    >>> told(FileNotFoundError(2, "No such file or directory", "portfolio.qps"))
    'portfolio.qps: no such file or directory'
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    reason = error.strerror[:1].lower() + error.strerror[1:]
    return reason if error.filename is None else f"{error.filename}: {reason}"


def warmup() -> int:
    """Compile or load the kernels of all packages that are imported, print the seconds, and return 0."""
    print(f"the kernels are ready after {prepare_packages():.1f} s")
    return 0


def _load_kernels(program: Any) -> None:
    """Load or compile the kernels that the program is likely to need."""
    if not INTERPRETED:
        prepare(members("first", "every", "dense"))
        if program.n > GLANCE:
            ready_for_large(any_second_order(getattr(program, "cones", ())))
