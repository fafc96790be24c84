"""The version of all four packages, which are one distribution."""

__version__ = "0.3.0"
