"""The command line, `centralpath` or `python -m bench`; `commands` runs its commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .commandline import COMMANDS, parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] not in COMMANDS:
        parser()[0].parse_args(words)  # exits: with the help, the version, or 2 for a command that does not exist
    from . import commands

    return commands.main(words)


if __name__ == "__main__":
    sys.exit(main())
