"""How solvers are measured, one in a process, and how it is told."""
