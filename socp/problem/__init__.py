"""Input and output: checked programs and settings, and solutions with the tests that they pass."""
