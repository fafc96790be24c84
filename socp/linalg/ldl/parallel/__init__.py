"""Panels by several threads, for factorizations of more than 5e7 operations when more than one thread is allowed."""
