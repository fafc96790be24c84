"""Whether a point is a solution or a certificate, measured on the caller's own data: the engine's only test."""
