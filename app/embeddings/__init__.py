"""Texts to vectors: embedders, the spaces that their vectors live in, and the service that runs them."""
