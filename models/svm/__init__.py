"""Support vector machines, their kernels, and linear machines by coordinate descent."""
