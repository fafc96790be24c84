"""Experiments of Sun and DeJong 2005."""
