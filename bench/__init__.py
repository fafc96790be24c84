"""bench: problem sets, reference solvers, verification; `python -m bench`."""

from socp.version import __version__ as __version__
