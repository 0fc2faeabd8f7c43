"""Attempts to reach other systems: pauses, back-off and HTTP requests."""
