"""The documentation, and in `docs.teaching` what its chapters import and show."""
