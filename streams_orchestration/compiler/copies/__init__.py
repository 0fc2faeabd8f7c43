"""Copies: where the tuples of a stream are handed on, and where they have to be copied."""
