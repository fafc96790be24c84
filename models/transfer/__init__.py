"""Transfer of word statistics to other labels by distances in an ontology."""
