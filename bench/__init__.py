"""bench: problem sets, reference solvers, verification; `python -m bench`."""

from socp.version import __version__

__all__ = ["__version__"]
