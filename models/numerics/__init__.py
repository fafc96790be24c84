"""Compiled recursions of hidden Markov models, inference in topic models, first-order methods; no estimators."""
