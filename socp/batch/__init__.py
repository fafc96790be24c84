"""Many small programs of one shape, solved side by side in the lanes of vector registers."""
