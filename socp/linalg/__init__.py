"""Linear algebra that knows of no program: vectors, sparse matrices, factorizations, refinement."""
