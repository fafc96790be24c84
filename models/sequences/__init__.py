"""Sequences and their hidden Markov models."""
