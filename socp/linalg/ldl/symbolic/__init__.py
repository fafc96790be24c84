"""What is known of L before any number is: the elimination tree, counts, siblings, and the tree of dense panels.

All programs need the tree and the counts.  Siblings that are put side by side give 1.08 times on the
learning programs (svm_primal_2000: 1.6), 1.02 on the generated ones and 1.03 on CBLIB (nb 1.3).
"""
