"""The names of the commands and what they do: all that help and version need, without the import of the packages."""

from __future__ import annotations

import argparse

from socp.version import __version__

PROGRAM = "centralpath"
COMMANDS = {
    "qp": "solve a quadratic program from a file, with any setting as an option",
    "socp": "solve a cone program from a file, with any setting as an option",
    "warmup": "compile all kernels ahead of their first use",
    "config": "print what a report of a bug should hold",
    "models": "the former name of compare kernels",
    "anatomy": "where the time of a solve goes: of a file, or of one program a kind",
    "solve": "solve one file (.cbf, .mat, .qps, .mps, and these with .gz; .json of sol.report, with its settings)",
    "suite": "solve a set of files and verify every answer",
    "compare": "solve a set with every solver that is installed, and verify",
    "counts": "compare iterations, refinements and plans with those that are kept",
    "fuzz": "solve random programs with known answers, and judge every answer",
    "experiment": "an experiment of a paper on its real data",
    "report": "one page over the experiments in a folder",
    "figures": "write the tables of the documentation from the reports",
}
"""What each command does, in the order of the help."""


def parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command line, and the parsers of the commands by name, still without their options."""
    made = argparse.ArgumentParser(prog=PROGRAM, description="With no command: a short tour on generated programs.")
    made.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = made.add_subparsers(dest="command")
    return made, {name: commands.add_parser(name, help=words) for name, words in COMMANDS.items()}
