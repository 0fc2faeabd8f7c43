"""The data that are passed between the catalog, the planner and the tasks of a PE."""
