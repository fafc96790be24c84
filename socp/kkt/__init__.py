"""The KKT system of a Newton step, assembled and solved in one of three ways."""
