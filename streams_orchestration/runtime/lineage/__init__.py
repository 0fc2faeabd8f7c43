"""Lineage of an application: the graph from its sources to its results, and the events for OpenLineage."""
