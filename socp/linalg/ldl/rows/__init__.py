"""Factorization by rows, for factors with little or some fill: nearly all programs below a second.

`uplooking` is the method with scalar operations, which small programs and tree-like ones use.  Four columns at a time
save 43 % on the learning programs, 50 % on the generated ones, 28 and 21 % on Maros-Meszaros and netlib.  Static
columns save 6, 11, 2 and 0 % there (lasso and group_lasso of 500: 2.1 times, PRIMAL4 1.9).
"""
