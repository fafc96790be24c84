"""Fill-reducing orders of elimination.

Minimum degree serves all programs.  A sparse part around a dense block, as in least squares and support vector
machines, is recognized by counts (1.2 times on the learning and on the generated programs, up to 2.4).  Nested
dissection serves meshes and large programs without structure (CVXQP1_L and CVXQP3_L 3 and 3.7 times), and is looked for
where a factorization takes very long.
"""
