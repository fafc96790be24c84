"""The papers' learning problems as cone programs, one file a source: data and constants in, a program out.

No estimator and no solver is imported here.  Each function states its program once, in the paper's letters.
"""
