"""Sinks and sources of lake tables."""
