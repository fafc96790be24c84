"""Measurement of solvers, each in a process of its own, and reports."""
