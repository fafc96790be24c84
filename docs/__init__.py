"""The documentation; `docs.teaching` holds the code that its chapters import and show."""
