"""The standard form that the method works on: rows in order, data equilibrated, P as it comes."""
