"""How a program is solved: decided from counts of its data, before memory is taken, and told in words."""
