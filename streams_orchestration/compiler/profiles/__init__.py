"""Measured rates, loads and traffic of a physical graph, from a profile."""
