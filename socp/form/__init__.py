"""The standard form that the method works on: rows sorted by cone, data equilibrated, P in the caller's storage."""
