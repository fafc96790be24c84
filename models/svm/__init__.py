"""Support vector machines, their kernels, and the linear classifiers by descent beside them."""
