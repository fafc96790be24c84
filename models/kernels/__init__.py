"""Kernels between samples, and matrices of samples."""
