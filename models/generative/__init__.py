"""Classifiers and regression through densities of the samples."""
