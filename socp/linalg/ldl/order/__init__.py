"""Fill-reducing orders of elimination.

Minimum degree serves all programs.  A sparse part around a dense block, as in least squares and support vector
machines, is recognized by counts.  The speed-up (see `linalg.ldl`) is 1.26 on the learning programs, 1.25 on the
generated ones, 1.12 on CBLIB and 2.4 on svm_primal_2000.
"""
