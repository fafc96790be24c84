"""The sparse LDL' factorization: its order, its analysis, and two ways to compute it."""
