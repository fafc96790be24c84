"""Experiments of Epshteyn and DeJong 2006."""
