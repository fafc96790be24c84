"""Sparse LDL' factorization of symmetric quasi-definite matrices, folder by folder.

    order/               a permutation with little fill: minimum degree, dense blocks
    symbolic/            the elimination tree, the entries of L, and groups of columns
    rows/                row by row: single columns, four at a time, and columns that rarely change
    panels/              dense panels by BLAS, for factors with much fill
    factorization.py     the choice between them for a matrix

The speed-ups in each folder's docstring are the time without a part divided by the time with it.  The time is that of
ordering, analysis and twelve iterations of one factorization and four solves; a speed-up on a set of programs is the
geometric mean over their KKT matrices.
"""
