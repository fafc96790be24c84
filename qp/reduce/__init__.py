"""Presolve of quadratic programs, their form as cone programs, and the way back."""
