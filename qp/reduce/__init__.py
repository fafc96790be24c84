"""A quadratic program made smaller and brought into the form of a cone program, and the way back."""
