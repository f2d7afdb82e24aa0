"""Indexing by masks and integer arrays."""
