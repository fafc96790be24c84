"""Factorization by rows, for factors with little or some fill: nearly all programs below a second.

All columns are single ones for at most ten operations for each entry of L.  Four at a time give 2.1 times on the
learning programs, 1.7 on the generated ones, 1.15, 1.39 and 1.45 on Maros-Meszaros, netlib and CBLIB.  Static columns
give 1.09, 1.11, 1.01, 0.99 and 1.00 there (lasso and group_lasso of 500: 2.0, PRIMAL4 2.1).
"""
