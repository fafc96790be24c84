"""Programs by name, and checks of iteration counts."""

import importlib


def made(name):
    """Return the program named ``module.function(size)`` in `bench.programs`."""
    module, _, rest = name.partition(".")
    function, size = rest.rstrip(")").split("(")
    return getattr(importlib.import_module(f"bench.programs.{module}"), function)(int(size))


def check_counts(solution, told, way):
    """Compare a solution with `told`, "method or backend, iterations + steps of refinement"."""
    method, _, counts = told.rpartition(" ")
    iterations, _, steps = counts.partition("+")
    by_path = solution.plan.method == "interior point"
    assert method == (solution.plan.backend if by_path else solution.plan.method), way
    assert abs(solution.iterations - int(iterations)) <= by_path, (way, solution.iterations)
    if by_path:
        assert abs(solution.trace["refinements"].sum() - int(steps or 0)) <= 3, way
