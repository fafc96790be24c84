"""Logistic regression, and its hybrid with naive Bayes."""
