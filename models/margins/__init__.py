"""Largest margins: the programs of two-class machines solved, one or many, and the estimators that keep them."""
