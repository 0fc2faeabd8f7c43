"""Consistent regions: what belongs together when the application takes a cut."""
