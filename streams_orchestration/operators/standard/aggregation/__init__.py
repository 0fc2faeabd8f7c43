"""Aggregate, its output functions, and the groups of its windows."""
