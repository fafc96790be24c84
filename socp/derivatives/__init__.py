"""Derivatives of answers by their data: optimality conditions of rows between two sides and of cones, linearized."""
