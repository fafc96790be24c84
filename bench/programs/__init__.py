"""What is solved: generated programs, those of learning, sets of files."""
