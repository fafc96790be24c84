"""Panels by several threads, where more than one is allowed: CONT-201 1.36 and CVXQP3_L 1.16 times by two."""
