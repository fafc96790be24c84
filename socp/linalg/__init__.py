"""Linear algebra, independent of programs: vectors, sparse matrices, factorizations, refinement."""
