"""The base of compiled kernels: decorators, cache, structures, BLAS and its threads."""

from . import build  # noqa: F401  registers the loader of kernels
