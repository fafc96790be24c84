"""What was learned of words, carried to other labels by distances in an ontology."""
