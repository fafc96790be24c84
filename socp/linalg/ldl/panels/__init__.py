"""Factorization by dense panels, left-looking, for factors with much fill.

Programs with more than some 1e8 operations use it; below that, factorization by rows is as quick.
"""
