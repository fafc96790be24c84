"""Cone programs in files."""
