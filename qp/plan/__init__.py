"""Choice of the method that solves a quadratic program."""
