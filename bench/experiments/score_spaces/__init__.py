"""Experiments of Li, Wang, Lee 2013."""
