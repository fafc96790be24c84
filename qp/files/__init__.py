"""Quadratic programs in files."""
