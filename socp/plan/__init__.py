"""The choice of how to solve a program, by counts of its data, before memory is allocated."""
