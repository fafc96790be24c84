"""Left-looking factorization by dense panels, for about 4e8 operations and more.

Panels are then faster than rows: 2.9 times on CVXQP1_L, 3.5 on CVXQP3_L, 2.1 on dfl001, 1.4 on pds_10, 2.4 on qap12.
With fewer operations rows are faster: 1.2 times on pilot87, 1.3 to 1.4 on the learning programs of 3.5e8 operations.
"""
