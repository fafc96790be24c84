"""Presolve of quadratic programs, their form as cone programs, the way back, and the stopping test of points."""
