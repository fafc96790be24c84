"""Symbolic analysis of L from the pattern alone: elimination tree, counts, siblings, and the tree of dense panels.

All programs need the tree and the counts.  Moving siblings next to each other gives 1.08 times on the
learning programs (svm_primal_2000: 1.6), 1.02 on the generated ones and 1.03 on CBLIB (nb 1.3).
"""
