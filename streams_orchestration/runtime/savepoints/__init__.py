"""Savepoints: the positions and states of an application at a cut, each in a directory of its own."""
