"""Quadratic programs whose P is a kernel matrix: rows on demand, one program or a series of them."""
