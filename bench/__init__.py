"""bench: problem sets, reference solvers, verification; `python -m bench`."""
