"""The interior-point method: starting points, search directions, the loop, and small programs in one piece."""
