"""Which method solves a quadratic program."""
