"""Equality and hashing of keys, flat and nested."""
