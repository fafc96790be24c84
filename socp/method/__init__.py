"""The interior-point method: starting points, search directions, the loop, and a run of it."""
