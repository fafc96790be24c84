"""Quadratic programs, their solutions, and the stopping test of solutions."""
