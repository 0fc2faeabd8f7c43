"""Lineage of an application: the graph of what comes from what."""
