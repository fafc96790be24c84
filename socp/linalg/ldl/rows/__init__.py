"""Factorization by rows, for factors with little or some fill: nearly all programs below a second.

`uplooking` is the method with scalar operations, for at most ten operations for each entry of L: 1.02 times on the
generated programs and on Maros-Meszaros, 1.07 on the large ones.  Four columns at a time give 1.45 times on the
learning programs, 1.51 on the generated ones, 1.27, 1.19 and 1.15 on Maros-Meszaros, netlib and CBLIB.  Static columns
give 1.05, 1.10, 1.02, 1.00 and 1.00 there (lasso and group_lasso of 500: 2.15, PRIMAL4 1.9).
"""
