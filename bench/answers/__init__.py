"""Answers of solvers, and their verification."""
