"""The plot of a trace, which needs matplotlib."""

from __future__ import annotations

import base64
import io
from typing import Any

from .checks import ProgramError

SIZES = {"primal_residual": "primal residual", "dual_residual": "dual residual", "gap": "gap", "mu": "mu"}
STEPS = {"alpha_affine": "affine step", "alpha": "step", "sigma": "sigma"}


def empty_figure() -> Any:
    """Return an empty matplotlib figure; raise ImportError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a plot needs matplotlib: pip install matplotlib") from error
    return Figure(layout="constrained")


def plot(solution: Any) -> Any:
    """Return a matplotlib figure of a trace: residuals, gap and mu above, steps and sigma below, by iteration.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    ProgramError
        The trace of the answer has less than two records.
    """
    trace = solution.trace
    if len(trace) < 2:
        raise ProgramError(f"a plot needs a trace of two iterations or more, but {len(trace)} came ({solution.plan})")
    figure = empty_figure()
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for marker, (name, label) in zip("ovs.", SIZES.items()):
        above.semilogy(trace["iteration"], trace[name], marker=marker, markersize=4, label=label)
    for marker, (name, label) in zip("v^o", STEPS.items()):
        below.plot(trace["iteration"], trace[name], marker=marker, markersize=4, label=label)
    above.set(title=f"{solution.status}, {solution.iterations} iterations", ylabel="relative to the data")
    below.set(xlabel="iteration", ylabel="share", ylim=(-0.05, 1.05))
    below.xaxis.get_major_locator().set_params(integer=True)
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


def image(solution: Any) -> str:
    """Return the plot of a solution as HTML, or "" if there is no matplotlib or no trace."""
    stream = io.BytesIO()
    try:
        plot(solution).savefig(stream, format="png", dpi=100)
    except (ImportError, ProgramError):
        return ""
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return f"<img alt='convergence' src='data:image/png;base64,{data}'/>"
