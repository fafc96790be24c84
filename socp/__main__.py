"""``python -m socp``: all kernels compiled ahead of their first use, and what a report of a bug should hold."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from .warmup import prepare_packages, show_config

ABOVE = ("qp", "models")  # packages with kernels of their own, where they are installed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    return int(COMMANDS[options.command]())


def warmup() -> int:
    """Compile what this version has not compiled before, load the rest, and say how long that took."""
    found = ["socp", *(name for name in ABOVE if _is_importable(name))]
    seconds = prepare_packages(*(f"{name}." for name in found))
    print(f"the kernels of {', '.join(found)} are ready after {seconds:.1f} s")
    return 0


def config() -> int:
    """Print the versions, BLAS, the compiler, and where kernels are kept."""
    show_config()
    return 0


COMMANDS = {"warmup": warmup, "config": config}


def _is_importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m socp", description="Compiled kernels, and what is installed.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("warmup", help="compile all kernels, once for this version, and print the seconds")
    commands.add_parser("config", help="print versions, BLAS, the compiler, and where kernels are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
