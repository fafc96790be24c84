"""The bilevel classifier under what is known of the classes: its prior, its programs, its bounds."""
