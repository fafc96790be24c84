"""Symbolic analysis of L from the pattern alone: elimination tree, counts, siblings, and the tree of dense panels.

All programs need the tree and the counts.  The speed-up (see `linalg.ldl`) of moving siblings next to each
other is 1.08 on the learning programs (svm_primal_2000: 1.6), 1.02 on the generated ones and 1.03 on CBLIB (nb: 1.3).
"""
