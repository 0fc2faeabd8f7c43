"""The data that travel between the catalog, the planner and the tasks of a PE."""
