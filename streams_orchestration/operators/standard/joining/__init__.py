"""Operators that combine tuples of several streams, or of a stream and a table."""
