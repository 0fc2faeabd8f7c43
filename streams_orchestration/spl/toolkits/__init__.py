"""Toolkits: directories with files of SPL, which are read on demand."""
