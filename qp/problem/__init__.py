"""Quadratic programs, their solutions, and derivatives of solutions."""
