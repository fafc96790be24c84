"""What compiled kernels stand on: the decorator, BLAS for them, and how many threads BLAS takes."""
