"""The clock of the catalog, which machines share, and time limits that grow with the load."""
