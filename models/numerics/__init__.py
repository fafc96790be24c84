"""Numerical methods without estimators: hidden Markov models, topic models, logistic losses, minimizers."""
