"""Tests whether a point is a solution or a certificate, on the caller's own data: the engine's only test."""
