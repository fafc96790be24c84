"""bench: problem sets, reference solvers, verification; `python -m bench`."""

from socp.origin import require
from socp.version import __version__ as __version__

require("qp", "models")
