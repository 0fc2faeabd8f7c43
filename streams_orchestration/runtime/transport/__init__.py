"""Streams between PEs and applications: segments, who reads them, who may see them, and when they go."""
