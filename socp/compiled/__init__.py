"""What compiled kernels stand on: the decorators, the cache, structures, BLAS and its threads."""
