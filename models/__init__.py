"""models: published learning problems written as cone programs."""
