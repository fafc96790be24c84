"""What estimators of every kind share: the protocol, checks, several classes, starting points, a minimizer."""
