"""The language SPL of IBM Streams."""
