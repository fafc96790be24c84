"""What a caller gives and gets: quadratic programs, solutions, and the tests that these pass."""
