"""What a solver answered, and whether it is right."""
