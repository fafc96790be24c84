"""Discriminative learning with generative models: score spaces, Fisher kernels, maximum entropy, large margins."""
