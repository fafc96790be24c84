"""The papers' learning problems as cone programs, one file for each source: functions of data and constants.

No estimator and no solver is imported here.  Each function states its program once, in the paper's letters.
"""
