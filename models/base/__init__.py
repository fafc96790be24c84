"""Bases of all estimators: scikit-learn's protocol, checks, several classes, starting points."""
