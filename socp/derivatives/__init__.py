"""Derivatives of answers: their optimality conditions, linearized; quadratic programs come as rows between two sides."""
