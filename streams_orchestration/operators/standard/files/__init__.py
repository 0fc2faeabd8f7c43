"""Operators that read and write files, and scan directories."""
