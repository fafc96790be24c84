"""Programs to be solved: generated programs, programs of machine learning, and sets of files."""
