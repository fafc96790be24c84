"""Machines that learn from examples and their explanations."""
