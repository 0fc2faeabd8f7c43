"""Savepoints: where an application stood, with its state, in directories of their own."""
