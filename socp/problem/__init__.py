"""What a caller gives and gets: programs and settings, checked, and solutions with the tests that they pass."""
