"""Sparse LDL' factorization of symmetric quasi-definite matrices, room by room.

    order/               a permutation with little fill: minimum degree, dense blocks
    symbolic/            the elimination tree, the entries of L, and which columns go together
    rows/                row by row: single columns, four at a time, and columns that stay as they were
    panels/              dense panels by BLAS, for factors with much fill
    factorization.py     which of them serves a matrix

The figures at the head of a room are geometric means of ordering, analysis and twelve iterations of one factorization
and four solves, without the part beside with it, over the KKT matrices of a set (docs/performance.md has them all).
"""
