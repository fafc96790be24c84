"""How an experiment is stated, its runs kept, checked and written to pages."""
