"""Factorization by rows, for factors with little or some fill: nearly all programs below a second.

With at most ten operations per entry of L all columns are single.  The speed-up (see `linalg.ldl`) of four columns at a
time is 2.1 on the learning programs, 1.7 on the generated ones, and 1.15, 1.39 and 1.45 on Maros-Meszaros, netlib and
CBLIB.  The speed-up of static columns on these sets is 1.09, 1.11, 1.01, 0.99 and 1.00 (lasso and group_lasso of 500:
2.0, PRIMAL4: 2.1).
"""
