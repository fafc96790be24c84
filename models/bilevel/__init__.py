"""The bilevel classifier with prior knowledge of the classes: its prior, its programs, its bounds."""
