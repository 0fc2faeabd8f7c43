"""Tuples as Arrow batches: their types, the watermarks between them, and encoded columns."""
