"""Derivatives of answers with respect to the data: linearized optimality conditions of rows with sides and of cones."""
