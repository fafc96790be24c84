"""models: published learning problems written as cone programs."""

__all__: list[str] = []
