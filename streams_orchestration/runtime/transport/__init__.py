"""Streams between PEs and applications: segments, their readers, their visibility, and their removal."""
