"""Placement: operators that must or must not share a PE or a host, and contradictions among these demands."""
